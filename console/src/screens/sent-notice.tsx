import { Notice } from '../ui/notice.tsx'

/** Says that a record may exist, and that sending it again unchanged creates no second one. */
export function SentNotice({ what }: { readonly what: string }) {
  return (
    <Notice tone="warn">
      {what} was sent, but no answer came back. Sent again unchanged, it is created only once. Before you send
      another one, look in the list whether this one exists.
    </Notice>
  )
}

/** How many entries are shown before the reader asks for all. */
const shownAtOnce = 6

/** Sellers or categories that a mandate allows. */
export function Allowed({
  entries,
  all,
  none,
}: {
  readonly entries: readonly string[]
  /** What is said where `*` allows every one. */
  readonly all: string
  /** What an empty list means. */
  readonly none: string
}) {
  if (entries.length === 0) return none
  if (entries.includes('*')) return all
  const rest = entries.slice(shownAtOnce)
  return (
    <>
      {entries.slice(0, shownAtOnce).join(', ')}
      {rest.length > 0 && (
        <details>
          <summary>{rest.length} more</summary>
          {rest.join(', ')}
        </details>
      )}
    </>
  )
}

import type { IssuedApiKey } from '@purser/client'
import { useEffect, useState } from 'react'

import { useSeen } from '../../api/seen.tsx'
import { forgetKey, useUnsavedKeys } from '../../api/unsaved-keys.ts'
import { Button } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/code.tsx'
import { Dialog, DialogActions } from '../../ui/dialog.tsx'
import { Notice } from '../../ui/notice.tsx'

/** Shows a new key of the account until it is saved, but not to an approver who signs in next. */
export function IssuedKeys() {
  const { session } = useSeen()
  const shown = useUnsavedKeys().find(
    ({ issued }) => issued.account_id === session.account.id && session.role !== 'approver',
  )
  const close = () => shown && forgetKey(shown)
  return (
    <Dialog
      title={shown?.title ?? 'New key'}
      isOpen={shown !== undefined}
      onClose={close}
      // A click outside must not lose a key that is never shown again.
      closesByButtonOnly
    >
      {shown && <IssuedOnce key={shown.issued.id} issued={shown.issued} onClose={close} />}
    </Dialog>
  )
}

/** How long a new key cannot be dismissed. */
const settlingMs = 700

function IssuedOnce({ issued, onClose }: { readonly issued: IssuedApiKey; readonly onClose: () => void }) {
  // Its button appears under the pointer: the second click of a double click must not close it.
  const [isSettled, setSettled] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(true), settlingMs)
    return () => clearTimeout(timer)
  }, [])
  useAskBeforeClosing(true)
  return (
    <div className="stack">
      <Notice tone="good">
        The key is issued. It is shown only once: copy it to your secret manager now.
      </Notice>
      <CodeBlock label="Key" text={issued.key} />
      <DialogActions>
        <Button look="main" disabled={!isSettled} onClick={onClose}>
          I've saved it
        </Button>
      </DialogActions>
    </div>
  )
}

/** Makes the browser ask before the tab is closed or reloaded. */
export function useAskBeforeClosing(isAsked: boolean): void {
  useEffect(() => {
    if (!isAsked) return undefined
    const ask = (event: Event) => event.preventDefault()
    addEventListener('beforeunload', ask)
    return () => removeEventListener('beforeunload', ask)
  }, [isAsked])
}

import { Dialog as BaseDialog } from '@base-ui/react/dialog'
import { useEffect, useRef, useState, type ReactNode } from 'react'

import { explainFailure } from '../api/failures.ts'
import { Button, IconButton } from './button.tsx'
import './dialog.css'
import { isSameWord } from '../text/names.ts'
import { TextField } from './field.tsx'
import { Notice } from './notice.tsx'

/**
 * A window over the screen. The keyboard begins at its first field; Escape and a click beside it close it, and the
 * keyboard goes back where it was.
 */
export function Dialog({
  title,
  isOpen,
  onClose,
  children,
  isWide = false,
  closesByButtonOnly = false,
}: {
  readonly title: string
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly children: ReactNode
  readonly isWide?: boolean
  /** Whether Escape and a click beside it do nothing. */
  readonly closesByButtonOnly?: boolean
}) {
  const popup = useRef<HTMLDivElement>(null)
  const firstField = () => popup.current?.querySelector<HTMLElement>('input, select, textarea') ?? true
  return (
    <BaseDialog.Root
      open={isOpen}
      onOpenChange={(open) => {
        if (!open && !closesByButtonOnly) onClose()
      }}
    >
      <BaseDialog.Portal>
        <BaseDialog.Backdrop className="dialog-veil" />
        <BaseDialog.Popup ref={popup} className={isWide ? 'dialog wide' : 'dialog'} initialFocus={firstField}>
          <header className="dialog-head">
            <BaseDialog.Title className="dialog-title">{title}</BaseDialog.Title>
            <IconButton label="Close" icon="close" onClick={onClose} />
          </header>
          {children}
        </BaseDialog.Popup>
      </BaseDialog.Portal>
    </BaseDialog.Root>
  )
}

/** The form within a dialog: its fields, what went wrong, and the two ways out. */
export function DialogForm({
  action,
  look = 'main',
  isReady = true,
  isWorking,
  failure,
  onClose,
  onSubmit,
  children,
}: {
  /** What the button says. */
  readonly action: string
  readonly look?: 'main' | 'danger'
  /** Whether the button may be pressed. */
  readonly isReady?: boolean
  readonly isWorking: boolean
  /** What went wrong and belongs to no field. */
  readonly failure?: string | undefined
  readonly onClose: () => void
  readonly onSubmit: () => void
  readonly children: ReactNode
}) {
  const form = useRef<HTMLFormElement>(null)
  // After an attempt the keyboard goes to the first field that has to be mended.
  useEffect(() => {
    if (!isWorking) form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus()
  }, [isWorking])
  return (
    <form
      ref={form}
      className="stack"
      onSubmit={(event) => {
        event.preventDefault()
        if (isReady) onSubmit()
      }}
    >
      {children}
      {failure && <Notice tone="bad">{failure}</Notice>}
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button look={look} type="submit" disabled={!isReady || isWorking}>
          {action}
        </Button>
      </DialogActions>
    </form>
  )
}

export function DialogActions({ children }: { readonly children: ReactNode }) {
  return <div className="dialog-actions">{children}</div>
}

interface Confirmation {
  /** What must be typed. */
  readonly word: string
  /** What the button says. */
  readonly action: string
  /** The change that is asked about. */
  readonly change: { readonly isPending: boolean; readonly error: Error | null; readonly reset: () => void }
  readonly onClose: () => void
  readonly onConfirm: () => void
  /** What will happen. */
  readonly children: ReactNode
}

/** Asks before something that stops others: says what it will do, and wants a word typed. */
export function ConfirmByTyping({
  title,
  isOpen,
  onClose,
  ...confirmation
}: Confirmation & { readonly title: string; readonly isOpen: boolean }) {
  function close() {
    confirmation.change.reset()
    onClose()
  }
  return (
    <Dialog title={title} isOpen={isOpen} onClose={close}>
      <ConfirmForm {...confirmation} onClose={close} />
    </Dialog>
  )
}

/** A component of its own, so that what was typed is gone when the dialog opens again. */
function ConfirmForm({ word, action, change, onClose, onConfirm, children }: Confirmation) {
  const [typed, setTyped] = useState('')
  return (
    <DialogForm
      action={action}
      look="danger"
      isReady={isSameWord(typed, word)}
      isWorking={change.isPending}
      failure={change.error ? explainFailure(change.error) : undefined}
      onClose={onClose}
      onSubmit={onConfirm}
    >
      <div className="stack-tight">{children}</div>
      <TextField
        label={`Type “${word}” to confirm`}
        value={typed}
        onChange={setTyped}
        autoComplete="off"
        autoCapitalize="none"
        autoCorrect="off"
        enterKeyHint="done"
        spellCheck={false}
      />
    </DialogForm>
  )
}

import { Dialog as BaseDialog } from '@base-ui/react/dialog'
import { useEffect, useRef, useState, type ReactNode } from 'react'

import { explainChange } from '../api/failures.ts'
import { Button, IconButton } from './button.tsx'
import './dialog.css'
import { isSameWord } from '../text/names.ts'
import { TextField } from './field.tsx'
import { Notice } from './notice.tsx'

/**
 * A modal dialog. Focus starts at its first field; Escape closes it, and so does a click outside until something is
 * typed. Then focus returns to where it was.
 */
export function Dialog({
  title,
  isOpen,
  onClose,
  children,
  isWide = false,
  closesByButtonOnly = false,
  focusAfter,
}: {
  readonly title: string
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly children: ReactNode
  readonly isWide?: boolean
  /** Whether to ignore Escape and clicks outside. */
  readonly closesByButtonOnly?: boolean
  /** Where the focus goes instead; true for where it was. */
  readonly focusAfter?: (() => HTMLElement | true | null) | undefined
}) {
  const popup = useRef<HTMLDivElement>(null)
  const isTyped = useRef(false)
  useEffect(() => {
    isTyped.current = false
  }, [isOpen])
  const firstField = () =>
    popup.current?.querySelector<HTMLElement>('input, select, textarea') ??
    // A key that is still pressed must not press Close.
    (closesByButtonOnly ? popup.current : true)
  return (
    <BaseDialog.Root
      open={isOpen}
      onOpenChange={(open, { reason }) => {
        if (open || closesByButtonOnly || (reason === 'outside-press' && isTyped.current)) return
        onClose()
      }}
    >
      <BaseDialog.Portal>
        <BaseDialog.Backdrop className="dialog-veil" />
        <BaseDialog.Popup
          ref={popup}
          className={isWide ? 'dialog wide' : 'dialog'}
          initialFocus={firstField}
          finalFocus={focusAfter}
          onInput={() => {
            isTyped.current = true
          }}
        >
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

/** The form in a dialog: fields, errors, and the two buttons. */
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
  /** The label of the button. */
  readonly action: string
  readonly look?: 'main' | 'danger'
  /** Whether the button is enabled. */
  readonly isReady?: boolean
  readonly isWorking: boolean
  /** An error that belongs to no field. */
  readonly failure?: string | undefined
  readonly onClose: () => void
  readonly onSubmit: () => void
  readonly children: ReactNode
}) {
  const form = useRef<HTMLFormElement>(null)
  // After a failed submit, focus the first invalid field.
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
  /** The word to type. */
  readonly word: string
  /** The label of the button. */
  readonly action: string
  /** The mutation to confirm. */
  readonly change: { readonly isPending: boolean; readonly error: Error | null; readonly reset: () => void }
  readonly onClose: () => void
  readonly onConfirm: () => void
  /** What will happen. */
  readonly children: ReactNode
}

/** Confirms a destructive action: says what it will do, and asks for a word. */
export function ConfirmByTyping({
  title,
  isOpen,
  onClose,
  endsButton = false,
  ...confirmation
}: Confirmation & {
  readonly title: string
  readonly isOpen: boolean
  /** Whether the button that opens the dialog is gone after the action: then the content gets the focus. */
  readonly endsButton?: boolean
}) {
  const isCancelled = useRef(false)
  useEffect(() => {
    if (isOpen) isCancelled.current = false
  }, [isOpen])
  function close() {
    isCancelled.current = true
    confirmation.change.reset()
    onClose()
  }
  const focusAfter = () => isCancelled.current || document.getElementById('content')
  return (
    <Dialog title={title} isOpen={isOpen} onClose={close} focusAfter={endsButton ? focusAfter : undefined}>
      <ConfirmForm {...confirmation} onClose={close} />
    </Dialog>
  )
}

/** A separate component, so that the input is reset when the dialog opens again. */
function ConfirmForm({ word, action, change, onClose, onConfirm, children }: Confirmation) {
  const [typed, setTyped] = useState('')
  return (
    <DialogForm
      action={action}
      look="danger"
      isReady={isSameWord(typed, word)}
      isWorking={change.isPending}
      failure={change.error ? explainChange(change.error) : undefined}
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

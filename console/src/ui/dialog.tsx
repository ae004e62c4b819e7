import { Dialog as BaseDialog } from '@base-ui/react/dialog'
import { useRef, useState, type ReactNode } from 'react'

import { Button, IconButton } from './button.tsx'
import './dialog.css'
import { TextField } from './field.tsx'

interface DialogProps {
  readonly title: string
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly children: ReactNode
  readonly isWide?: boolean
}

/**
 * A window over the screen. The keyboard begins at its first field; Escape and a click beside it close it, and the
 * keyboard goes back where it was.
 */
export function Dialog({ title, isOpen, onClose, children, isWide = false }: DialogProps) {
  const popup = useRef<HTMLDivElement>(null)
  const firstField = () => popup.current?.querySelector<HTMLElement>('input, select, textarea') ?? true
  return (
    <BaseDialog.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
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

/** Asks before something that cannot be undone: what it will do, and a word to type. */
export function ConfirmByTyping({
  title,
  children,
  word,
  action,
  isOpen,
  isWorking,
  onClose,
  onConfirm,
}: {
  readonly title: string
  /** What will happen. */
  readonly children: ReactNode
  /** What must be typed. */
  readonly word: string
  /** What the button says. */
  readonly action: string
  readonly isOpen: boolean
  readonly isWorking: boolean
  readonly onClose: () => void
  readonly onConfirm: () => void
}) {
  return (
    <Dialog title={title} isOpen={isOpen} onClose={onClose}>
      <ConfirmForm {...{ word, action, isWorking, onClose, onConfirm }}>{children}</ConfirmForm>
    </Dialog>
  )
}

/** A form of its own, so that what was typed is gone when the dialog opens again. */
function ConfirmForm({
  children,
  word,
  action,
  isWorking,
  onClose,
  onConfirm,
}: {
  readonly children: ReactNode
  readonly word: string
  readonly action: string
  readonly isWorking: boolean
  readonly onClose: () => void
  readonly onConfirm: () => void
}) {
  const [typed, setTyped] = useState('')
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault()
        if (typed.trim() === word) onConfirm()
      }}
    >
      <div className="stack-tight">{children}</div>
      <TextField
        label={`Type “${word}” to confirm`}
        value={typed}
        onChange={setTyped}
        autoComplete="off"
        spellCheck={false}
      />
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button look="danger" type="submit" disabled={typed.trim() !== word || isWorking}>
          {action}
        </Button>
      </DialogActions>
    </form>
  )
}

export function DialogActions({ children }: { readonly children: ReactNode }) {
  return <div className="dialog-actions">{children}</div>
}

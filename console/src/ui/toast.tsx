import { Toast } from '@base-ui/react/toast'

import { Button, IconButton } from './button.tsx'
import { Icon } from './icon.tsx'
import './toast.css'

/** The undo button of a toast. */
interface Undo {
  readonly label: string
  readonly act: () => void
}

const toasts = Toast.createToastManager()

/** A success toast for a few seconds, longer if it can be undone. */
export function sayDone(text: string, undo?: Undo): void {
  toasts.add({
    title: text,
    type: 'done',
    timeout: undo ? 10_000 : 5_000,
    ...(undo ? { data: { undo } } : {}),
  })
}

/** An error toast that stays until dismissed: the reason and the remedy. */
export function sayFailed(text: string): void {
  toasts.add({ title: text, type: 'failed', timeout: 0 })
}

/** Closes all toasts. */
export function closeToasts(): void {
  toasts.close()
}

/** The toast area; F6 moves the focus there. */
export function Toasts() {
  return (
    <Toast.Provider toastManager={toasts} limit={4}>
      <Toast.Portal>
        <Toast.Viewport className="toasts">
          <ToastList />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  )
}

function ToastList() {
  const { toasts: shown, close } = Toast.useToastManager()
  return shown.map((toast) => {
    const undo = (toast.data as { undo?: Undo } | undefined)?.undo
    return (
      <Toast.Root key={toast.id} toast={toast} className={`toast ${toast.type ?? ''}`} swipeDirection="right">
        <Icon name={toast.type === 'failed' ? 'warning' : 'check'} size={18} />
        {/* Read aloud at once. A high-priority toast would be hidden from screen readers until it has focus. */}
        <Toast.Title
          className="toast-text"
          render={<p role={toast.type === 'failed' ? 'alert' : undefined} />}
        />
        {undo && (
          <Button
            look="bare"
            onClick={() => {
              close(toast.id)
              undo.act()
            }}
          >
            {undo.label}
          </Button>
        )}
        <IconButton label="Dismiss" icon="close" onClick={() => close(toast.id)} />
      </Toast.Root>
    )
  })
}

import type { Restored } from '../../api/typed.ts'
import { Button } from '../../ui/button.tsx'
import { Notice } from '../../ui/notice.tsx'

/** Says that a form has what was typed before its screen was left. */
export function RestoredNotice({ isRestored, forget }: Restored) {
  if (!isRestored) return null
  return (
    <Notice tone="plain">
      <div className="stack-tight">
        <p>This is what you typed before. It is not saved yet.</p>
        <div>
          <Button onClick={forget}>Start over</Button>
        </div>
      </div>
    </Notice>
  )
}

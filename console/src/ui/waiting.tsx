import { explainFailure } from '../api/failures.ts'
import { Button } from './button.tsx'
import { Notice } from './notice.tsx'
import './waiting.css'

/** Stands where something is being read. */
export function Waiting({ lines = 4 }: { readonly lines?: number }) {
  return (
    <div className="waiting" role="status">
      <span className="only-read-aloud">Loading</span>
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} className="waiting-line" />
      ))}
    </div>
  )
}

/** Stands where something could not be read. */
export function Failed({ error, onRetry }: { readonly error: unknown; readonly onRetry: () => void }) {
  return (
    <Notice tone="bad">
      <div className="stack-tight">
        <p>{explainFailure(error)}</p>
        <div>
          <Button onClick={onRetry}>Try again</Button>
        </div>
      </div>
    </Notice>
  )
}

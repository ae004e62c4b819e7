import { NotFoundError } from '@purser/client'

import { isDown, useConnection } from '../api/connection.tsx'
import { explainFailure } from '../api/failures.ts'
import { Button } from './button.tsx'
import { Notice } from './notice.tsx'
import './waiting.css'
import { Moment } from './when.tsx'

/** A loading placeholder. */
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

/** An error placeholder; a missing record is not refetched. */
export function Failed({ error, onRetry }: { readonly error: unknown; readonly onRetry: () => void }) {
  return (
    <Notice tone="bad">
      <div className="stack-tight">
        <p>{explainFailure(error)}</p>
        {!(error instanceof NotFoundError) && (
          <div>
            <Button onClick={onRetry}>Try again</Button>
          </div>
        )}
      </div>
    </Notice>
  )
}

/** A notice above stale figures; during an outage the banner says so instead. */
export function Outdated({ error, readAtMs }: { readonly error: unknown; readonly readAtMs: number }) {
  if (isDown(useConnection())) return null
  return (
    <Notice tone="warn">
      {explainFailure(error)} These figures are from <Moment at={new Date(readAtMs).toISOString()} />.
    </Notice>
  )
}

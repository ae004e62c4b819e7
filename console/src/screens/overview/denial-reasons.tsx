import type { Overview } from '@purser/client'

import { Go } from '../../shell/go.tsx'
import { counted } from '../../text/counts.ts'
import { denialWords } from '../../text/reasons.ts'
import './denial-reasons.css'

/** What stood in the way of payments, most frequent first. */
export function DenialReasons({ reasons }: { readonly reasons: Overview['denial_reasons'] }) {
  const seen = reasons
    .map(({ reason_code, evaluations, proofs }) => ({ reason_code, proofs, count: evaluations + proofs }))
    .filter(({ count }) => count > 0)
  if (seen.length === 0) return <p className="quiet">Nothing was denied in the last 24 hours.</p>
  const most = Math.max(...seen.map(({ count }) => count))
  const refusedProofs = seen.reduce((sum, { proofs }) => sum + proofs, 0)
  return (
    <div className="stack">
      <ul className="stack">
        {seen.map(({ reason_code, count }) => (
          <li key={reason_code} className="reason-row">
            <Go to={`transactions?status=denied&reason_code=${reason_code}`}>{denialWords[reason_code]}</Go>
            <span className="figures">{count.toLocaleString('en')}</span>
            <svg className="reason-bar" aria-hidden="true">
              <rect className="reason-whole" width="100%" height="100%" />
              <rect className="reason-part" width={`${(count / most) * 100}%`} height="100%" />
            </svg>
          </li>
        ))}
      </ul>
      {refusedProofs > 0 && (
        <p className="quiet small">
          {counted(refusedProofs, 'refused proof')} among them: they are counted here, and leave no
          transaction.
        </p>
      )}
    </div>
  )
}

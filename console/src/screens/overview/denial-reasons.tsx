import type { Overview } from '@purser/client'

import { Go } from '../../shell/go.tsx'
import { counted, denialWords } from '../../text/reasons.ts'

/** What stood in the way of payments, most frequent first. */
export function DenialReasons({ reasons }: { readonly reasons: Overview['denial_reasons'] }) {
  const seen = reasons.filter(({ evaluations, proofs }) => evaluations + proofs > 0)
  const most = Math.max(1, ...seen.map(({ evaluations, proofs }) => evaluations + proofs))
  if (seen.length === 0) return <p className="quiet">Nothing was denied in the last 24 hours.</p>
  return (
    <ul className="stack">
      {seen.map(({ reason_code, evaluations, proofs }) => (
        <li key={reason_code} className="reason-row">
          <Go to={`transactions?status=denied&reason_code=${reason_code}`}>{denialWords[reason_code]}</Go>
          <span className="figures">
            {(evaluations + proofs).toLocaleString('en')}
            {proofs > 0 && <span className="quiet small"> ({counted(proofs, 'refused proof')})</span>}
          </span>
          <svg className="reason-bar" aria-hidden="true">
            <rect className="reason-whole" width="100%" height="100%" />
            <rect className="reason-part" width={`${((evaluations + proofs) / most) * 100}%`} height="100%" />
          </svg>
        </li>
      ))}
    </ul>
  )
}

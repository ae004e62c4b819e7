import type { Overview } from '@purser/client'

import { Go } from '../../shell/go.tsx'
import { counted } from '../../text/counts.ts'
import { denialWords } from '../../text/reasons.ts'
import './denial-reasons.css'
import { denialsIn, denialsPath } from './denials.ts'

/** Denial reasons, most frequent first; refused proofs are counted separately. */
export function DenialReasons({ figures }: { readonly figures: Overview }) {
  const seen = figures.denial_reasons.filter(({ evaluations, proofs }) => evaluations + proofs > 0)
  if (seen.length === 0) return <p className="quiet">No denials in the last 24 hours.</p>
  const most = Math.max(...seen.map(({ evaluations }) => evaluations), 1)
  const { refusedProofs } = denialsIn(figures)
  return (
    <div className="stack">
      <ul className="stack">
        {seen.map(({ reason_code, evaluations, proofs }) => (
          <li key={reason_code} className="reason-row">
            {evaluations > 0 ? (
              <Go to={denialsPath(figures, reason_code)}>{denialWords[reason_code]}</Go>
            ) : (
              <span>{denialWords[reason_code]}</span>
            )}
            <span className="figures">
              {evaluations.toLocaleString('en')}
              {proofs > 0 && <span className="quiet small"> + {counted(proofs, 'refused proof')}</span>}
            </span>
            <svg className="reason-bar" aria-hidden="true">
              <rect className="reason-whole" width="100%" height="100%" />
              <rect className="reason-part" width={`${(evaluations / most) * 100}%`} height="100%" />
            </svg>
          </li>
        ))}
      </ul>
      <p className="quiet small">
        Counted: denied decisions, each of which is a transaction.
        {refusedProofs > 0 &&
          ` Not counted: ${counted(refusedProofs, 'refused proof request')}, which created no transaction.`}
      </p>
    </div>
  )
}

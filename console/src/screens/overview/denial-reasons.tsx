import type { Overview } from '@purser/client'

import { Go } from '../../shell/go.tsx'
import { counted } from '../../text/counts.ts'
import { denialWords } from '../../text/reasons.ts'
import './denial-reasons.css'
import { denialsIn, denialsPath } from './denials.ts'

/** Denial reasons, most frequent first. */
export function DenialReasons({ figures }: { readonly figures: Overview }) {
  const { denial_reasons: seen } = figures
  if (seen.length === 0) return <p className="quiet">No denials in the last 24 hours.</p>
  const most = Math.max(...seen.map(({ denied_count }) => denied_count))
  const { more } = denialsIn(figures)
  return (
    <div className="stack">
      <ul className="stack">
        {seen.map(({ reason_code, denied_count }) => (
          <li key={reason_code} className="reason-row">
            <Go to={denialsPath(figures, reason_code)}>{denialWords[reason_code]}</Go>
            <span className="figures">{denied_count.toLocaleString('en')}</span>
            <svg className="reason-bar" aria-hidden="true">
              <rect className="reason-whole" width="100%" height="100%" />
              <rect className="reason-part" width={`${(denied_count / most) * 100}%`} height="100%" />
            </svg>
          </li>
        ))}
      </ul>
      {more > 0 && (
        <p className="quiet small">
          {`Not listed: ${counted(more, 'refused proof')} beyond the first ten per mandate and minute.`}
        </p>
      )}
    </div>
  )
}

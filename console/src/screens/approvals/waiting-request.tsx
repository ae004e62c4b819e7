import type { ApprovalRequest } from '@purser/client'
import { useId, useRef } from 'react'

import { useRead } from '../../api/queries.ts'
import { Go } from '../../shell/go.tsx'
import { Badge } from '../../ui/badge.tsx'
import { Icon } from '../../ui/icon.tsx'
import { progressOf, reasonToAsk, subjectOf } from './approval-words.ts'
import { useDecide, useKeysWithin } from './decide.ts'
import { DecisionButtons, useChoices } from './decision-buttons.tsx'
import { IncreasedTerms } from './increased-terms.tsx'
import { TimeLeft } from './time-left.tsx'

/** A request that waits, as a card with its two buttons. */
export function WaitingRequest({
  approval,
  onDone,
}: {
  readonly approval: ApprovalRequest
  readonly onDone: () => void
}) {
  const { id, kind, mandate_id, agent_id, resource_url, change, reason } = approval
  const titleId = useId()
  const card = useRef<HTMLElement>(null)
  const { data: mandate } = useRead(
    'mandate',
    (purser, signal) => purser.console.mandates.get(mandate_id, { signal }),
    { parameters: [mandate_id] },
  )
  const choices = useChoices(approval, mandate, useDecide(approval, onDone))
  useKeysWithin(card, choices.keys)
  const progress = progressOf(approval)
  return (
    <article ref={card} className="request" tabIndex={-1} aria-labelledby={titleId}>
      <header className="request-head">
        <h3 id={titleId}>
          <Go to={`approvals/${id}`}>{subjectOf(approval)}</Go>
        </h3>
        <span className="request-time small">
          <Icon name="clock" size={14} /> <TimeLeft at={approval.expires_at} />
        </span>
      </header>
      <p className="row">
        <strong>{reasonToAsk(approval, mandate)}</strong>
        {progress !== '' && <Badge tone="accent">{progress}</Badge>}
      </p>
      {mandate && (
        <p className="quiet">
          <Go to={`agents/${agent_id}`}>{mandate.agent_name || 'Unnamed agent'}</Go>
          {' · '}
          <Go to={`mandates/${mandate_id}`}>{mandate.purpose || 'No purpose given'}</Go>
        </p>
      )}
      {resource_url !== null && <p className="quiet small breakable">{resource_url}</p>}
      {reason.message !== null && <blockquote className="breakable">{reason.message}</blockquote>}
      {kind === 'increase' && <IncreasedTerms change={change} before={mandate} />}
      <DecisionButtons {...choices} />
    </article>
  )
}

import type { NamedTransaction } from '@purser/client'
import { useState } from 'react'

import { useNow } from '../../api/connection.tsx'
import { Go } from '../../shell/go.tsx'
import { reasonInWords } from '../../text/reasons.ts'
import { StatusBadge } from '../../ui/badge.tsx'
import { Icon } from '../../ui/icon.tsx'
import { Panel } from '../../ui/panel.tsx'
import { When } from '../../ui/when.tsx'
import { TransactionAmount, otherPayer } from '../transactions/transaction-parts.tsx'
import './live-feed.css'

const words = { connecting: 'Connecting', live: 'Live', lost: 'Connection lost, reconnecting' }

/** Payments and denials as they happen. */
export function LiveFeed({
  transactions,
  state,
}: {
  readonly transactions: readonly NamedTransaction[]
  readonly state: keyof typeof words
}) {
  // Transactions that arrive while the screen is open are highlighted.
  const now = useNow()
  const [mountedAtMs] = useState(Date.now)
  const openedAtMs = now() - (Date.now() - mountedAtMs)
  return (
    <Panel
      title="Live activity"
      flush
      aside={
        <span className={`live-state ${state}`} role="status">
          <Icon name={state === 'lost' ? 'warning' : 'live'} />
          {words[state]}
        </span>
      }
    >
      {transactions.length === 0 ? (
        <p className="panel-note">Payments and denials appear here as they happen.</p>
      ) : (
        <ol className="feed-list" aria-label="Latest transactions" tabIndex={0}>
          {transactions.map((one) => (
            <li
              key={one.id}
              className={Date.parse(one.created_at) > openedAtMs ? 'feed-item is-new' : 'feed-item'}
            >
              <StatusBadge status={one.status} />
              <Go to={`transactions/${one.id}`} isClamped>
                {one.merchant_domain}
              </Go>
              <TransactionAmount of={one} />
              <span className="feed-more">
                <When at={one.created_at} />
                {one.status === 'denied' && <> · {reasonInWords(one.reason_code)}</>}
                <span className="feed-who one-line">
                  {one.agent_name === null
                    ? otherPayer(one)
                    : `${one.agent_name || 'Unnamed agent'} · ${one.mandate_purpose || 'No purpose given'}`}
                </span>
              </span>
            </li>
          ))}
        </ol>
      )}
    </Panel>
  )
}

import type { Transaction } from '@purser/client'
import { useState } from 'react'

import { Go } from '../../shell/go.tsx'
import { reasonInWords } from '../../text/reasons.ts'
import { Amount } from '../../ui/amount.tsx'
import { StatusBadge } from '../../ui/badge.tsx'
import { Icon } from '../../ui/icon.tsx'
import { Panel } from '../../ui/panel.tsx'
import { When } from '../../ui/when.tsx'

const words = { connecting: 'Connecting', live: 'Live', lost: 'Connection lost, trying again' }

/** Payments and denials as they happen. */
export function LiveFeed({
  transactions,
  state,
}: {
  readonly transactions: readonly Transaction[]
  readonly state: keyof typeof words
}) {
  // What came after this screen was opened arrives with a glow.
  const [openedAtMs] = useState(Date.now)
  return (
    <Panel
      title="As it happens"
      flush
      aside={
        <span className={`live-state ${state}`} role="status">
          <Icon name={state === 'lost' ? 'warning' : 'live'} />
          {words[state]}
        </span>
      }
    >
      {transactions.length === 0 ? (
        <p className="quiet panel-body">Payments and denials appear here the moment they happen.</p>
      ) : (
        <ol className="feed-list" aria-label="Latest transactions" tabIndex={0}>
          {transactions.map((one) => (
            <li
              key={one.id}
              className={Date.parse(one.created_at) > openedAtMs ? 'feed-item is-new' : 'feed-item'}
            >
              <StatusBadge status={one.status} />
              <span className="breakable">
                <Go to={`transactions/${one.id}`}>{one.merchant_domain}</Go>{' '}
                <span className="quiet small">
                  <When at={one.created_at} />
                </span>
              </span>
              <Amount value={one.amount} />
              {one.status === 'denied' && <span className="feed-why">{reasonInWords(one.reason_code)}</span>}
            </li>
          ))}
        </ol>
      )}
    </Panel>
  )
}

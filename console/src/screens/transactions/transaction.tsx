import type { TransactionDetail } from '@purser/client'
import { useParams } from 'react-router'

import { useRead } from '../../api/queries.ts'
import { Go } from '../../shell/go.tsx'
import { reasonInWords } from '../../text/reasons.ts'
import { Amount } from '../../ui/amount.tsx'
import { StatusBadge } from '../../ui/badge.tsx'
import { CodeBlock, Identifier } from '../../ui/code.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Fact, Facts, Panel } from '../../ui/panel.tsx'
import { Failed, Waiting } from '../../ui/waiting.tsx'
import { Moment } from '../../ui/when.tsx'
import { Screen } from '../screen.tsx'
import { CheckLadder } from './check-ladder.tsx'

/** One transaction: why it was decided so, its proof, and the record as it is. */
export function Transaction() {
  const { id = '' } = useParams()
  const detail = useRead('transaction', (purser, signal) => purser.console.transactions.get(id, { signal }), {
    parameters: [id],
  })
  if (detail.isError) {
    return (
      <Screen title="Transaction">
        <Failed error={detail.error} onRetry={() => void detail.refetch()} />
      </Screen>
    )
  }
  return detail.data ? <TransactionScreen {...detail.data} /> : <Waiting lines={8} />
}

function TransactionScreen(detail: TransactionDetail) {
  const { transaction, agent_name, mandate_purpose, checks, checked_at, proof } = detail
  const title = `${transaction.amount} ${transaction.currency} at ${transaction.merchant_domain}`
  return (
    <Screen
      title={title}
      heading={
        <>
          <span>
            <Amount value={transaction.amount} currency={transaction.currency} />{' '}
            <span className="breakable">at {transaction.merchant_domain}</span>
          </span>
          <StatusBadge status={transaction.status} />
        </>
      }
      above={<Go to="transactions">Transactions</Go>}
    >
      {transaction.status === 'denied' && (
        <Notice tone="bad">
          <strong>{reasonInWords(transaction.reason_code)}.</strong> {transaction.reason_detail}
        </Notice>
      )}
      <div className="columns">
        <Panel title="The nine checks">
          {checks.length === 0 ? (
            <p className="quiet">
              This payment came from another account. Its mandate, and so its checks, are that account’s own.
            </p>
          ) : (
            <CheckLadder checks={checks} checkedAt={checked_at} />
          )}
        </Panel>
        <div className="stack">
          <Panel title="Payment">
            <Facts>
              <Fact name="Agent">
                {agent_name === null ? (
                  <Identifier id={transaction.agent_id} />
                ) : (
                  <Go to={`agents/${transaction.agent_id}`}>{agent_name}</Go>
                )}
              </Fact>
              <Fact name="Mandate">
                {mandate_purpose === null ? (
                  <Identifier id={transaction.mandate_id} />
                ) : (
                  <Go to={`mandates/${transaction.mandate_id}`}>{mandate_purpose || 'No purpose given'}</Go>
                )}
              </Fact>
              <Fact name="Resource">
                <span className="breakable">{transaction.resource_url}</span>
              </Fact>
              <Fact name="Category">{transaction.category ?? 'None'}</Fact>
              <Fact name="Seller">
                {transaction.merchant_domain}
                {transaction.seller_id === null && <span className="quiet"> (not registered)</span>}
              </Fact>
              <Fact name="Recorded">
                <Moment at={transaction.created_at} />
              </Fact>
            </Facts>
          </Panel>
          <Panel title="Proof">
            {proof === null ? (
              <p className="quiet">
                {transaction.status === 'paid'
                  ? 'The proof of this charge is no longer kept, or is another account’s.'
                  : 'A decision without a proof: nothing was held and nothing was charged.'}
              </p>
            ) : (
              <Facts>
                <Fact name="State">
                  <StatusBadge status={proof.status} />
                </Fact>
                <Fact name="Nonce">
                  <Identifier id={proof.nonce} />
                </Fact>
                <Fact name="Issued">
                  <Moment at={proof.issued_at} />
                </Fact>
                <Fact name="Charged as">
                  <Identifier id={proof.transaction_id ?? 'nothing yet'} />
                </Fact>
              </Facts>
            )}
          </Panel>
        </div>
      </div>
      <Panel title="Record">
        <details>
          <summary>Show the JSON</summary>
          <CodeBlock label="Record" text={JSON.stringify(detail, null, 2)} />
        </details>
      </Panel>
    </Screen>
  )
}

import type { TransactionDetail } from '@purser/client'
import { useParams } from 'react-router'

import { useRead } from '../../api/queries.ts'
import { Go } from '../../shell/go.tsx'
import { amountInWords, readMicro, sumOf } from '../../text/amounts.ts'
import { reasonInWords } from '../../text/reasons.ts'
import { Amount } from '../../ui/amount.tsx'
import { StatusBadge } from '../../ui/badge.tsx'
import { CodeBlock, CopyableIdentifier, Identifier } from '../../ui/code.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Fact, Facts, Panel } from '../../ui/panel.tsx'
import { Moment } from '../../ui/when.tsx'
import { Screen } from '../screen.tsx'
import { WhenRead } from '../when-read.tsx'
import { CheckLadder } from './check-ladder.tsx'
import { RefundButton, RefundTable } from './refund.tsx'

const above = <Go to="transactions">Transactions</Go>

/** One transaction: the checks, its proof, and the raw record. */
export function Transaction() {
  const { id = '' } = useParams()
  const query = useRead('transaction', (purser, signal) => purser.console.transactions.get(id, { signal }), {
    parameters: [id],
  })
  return (
    <WhenRead query={query} title="Transaction" above={above}>
      {(detail) => <TransactionScreen detail={detail} />}
    </WhenRead>
  )
}

function TransactionScreen({ detail }: { readonly detail: TransactionDetail }) {
  const { transaction, checks, checked_at } = detail
  const { amount, currency, merchant_domain, status } = transaction
  return (
    <Screen
      title={`${amountInWords(amount)} ${currency} at ${merchant_domain}`}
      heading={
        <>
          <span className="breakable">
            <Amount value={amount} currency={currency} /> at {merchant_domain}
          </span>
          <StatusBadge status={status} />
          {detail.refunds.length > 0 && (
            <StatusBadge status={isRefunded(detail) ? 'refunded' : 'partly refunded'} />
          )}
        </>
      }
      above={above}
      actions={<RefundButton detail={detail} />}
    >
      {status === 'denied' && (
        <Notice tone="bad">
          <strong>{reasonInWords(transaction.reason_code)}.</strong> {transaction.reason_detail}
        </Notice>
      )}
      {status === 'approved' && (
        <Notice tone="plain">
          <strong>A decision, not a payment.</strong> Nothing was held and nothing was charged by it.
        </Notice>
      )}
      {status === 'refunded' && (
        <Notice tone="plain">
          <strong>A refund</strong> of{' '}
          <Go to={`transactions/${transaction.refund_of}`}>
            <Identifier id={transaction.refund_of ?? ''} />
          </Go>
          {transaction.reason_detail !== null && `: ${transaction.reason_detail}`}
        </Notice>
      )}
      {detail.refunds.length > 0 && (
        <Panel title="Refunds" flush>
          <RefundTable refunds={detail.refunds} />
        </Panel>
      )}
      <div className="columns">
        <Panel title={checks.length > 9 ? 'The checks' : 'The nine checks'}>
          {checks.length === 0 ? (
            <p className="quiet">
              This payment came from another account. Its mandate, and so its checks, are that account’s own.
            </p>
          ) : (
            <CheckLadder checks={checks} checkedAt={checked_at} />
          )}
        </Panel>
        <div className="stack">
          <Panel title="Details">
            <Details detail={detail} />
          </Panel>
          {status === 'paid' && (
            <Panel title="Proof">
              <Proof proof={detail.proof} />
            </Panel>
          )}
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

/** Whether all of a payment was refunded. */
function isRefunded({ transaction, refunds }: TransactionDetail): boolean {
  return readMicro(sumOf(refunds.map(({ amount }) => amount))) === readMicro(transaction.amount)
}

function Details({ detail }: { readonly detail: TransactionDetail }) {
  const { transaction, agent_name, mandate_purpose } = detail
  return (
    <Facts>
      <Fact name="Agent">
        {agent_name === null ? (
          <Identifier id={transaction.agent_id} />
        ) : (
          <Go to={`agents/${transaction.agent_id}`}>{agent_name || 'Unnamed agent'}</Go>
        )}
      </Fact>
      <Fact name="Mandate">
        {mandate_purpose === null ? (
          <Identifier id={transaction.mandate_id} />
        ) : (
          <Go to={`mandates/${transaction.mandate_id}`}>{mandate_purpose || 'No purpose given'}</Go>
        )}
      </Fact>
      <Fact name="Seller">
        {transaction.merchant_domain}
        {/* A denial names no seller, whether there is one or not. */}
        {transaction.seller_id === null && transaction.status !== 'denied' && (
          <span className="quiet"> (not registered here)</span>
        )}
      </Fact>
      <Fact name="Category">{transaction.category ?? 'None'}</Fact>
      <Fact name="Resource" isWide>
        {transaction.resource_url}
      </Fact>
      <Fact name="Recorded" isWide>
        <Moment at={transaction.created_at} />
      </Fact>
      <Fact name="Identifier" isWide>
        <CopyableIdentifier id={transaction.id} />
      </Fact>
    </Facts>
  )
}

function Proof({ proof }: Pick<TransactionDetail, 'proof'>) {
  if (proof === null) {
    return (
      <p className="quiet">The proof of this charge is no longer stored, or belongs to another account.</p>
    )
  }
  return (
    <Facts>
      <Fact name="State">
        <StatusBadge status={proof.status} />
      </Fact>
      {proof.captured_amount !== proof.amount && (
        <Fact name="Authorized, of which the payment was captured">
          <Amount value={proof.amount} currency={proof.currency} />
        </Fact>
      )}
      <Fact name="Issued">
        <Moment at={proof.issued_at} />
      </Fact>
      <Fact name="Nonce" isWide>
        <CopyableIdentifier id={proof.nonce} />
      </Fact>
    </Facts>
  )
}

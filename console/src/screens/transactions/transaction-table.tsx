import type { ListConsoleTransactionsQuery, NamedTransaction } from '@purser/client'
import { useState, type ReactNode } from 'react'

import { useReadPages } from '../../api/queries.ts'
import { Go } from '../../shell/go.tsx'
import { reasonInWords } from '../../text/reasons.ts'
import { StatusBadge } from '../../ui/badge.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { Icon } from '../../ui/icon.tsx'
import { PagedTable } from '../../ui/paged-table.tsx'
import { Minute } from '../../ui/when.tsx'
import { foldPurchases, openPurchases, type PurchaseRow } from './folding.ts'
import { TransactionAmount, otherPayer } from './transaction-parts.tsx'

/** The columns of a transaction table; the screens of agents and mandates omit their own column. */
type Context = 'all' | 'agent' | 'mandate'

/**
 * The columns and rows of a transaction table: a payment and its approval are one row that expands to both.
 */
export function usePurchases(context: Context) {
  const [openIds, setOpenIds] = useState<ReadonlySet<string>>(new Set())
  function toggle(id: string) {
    const changed = new Set(openIds)
    if (!changed.delete(id)) changed.add(id)
    setOpenIds(changed)
  }
  const columns: readonly Column<PurchaseRow>[] = [
    {
      title: 'Seller',
      isName: true,
      cell: (one) => (
        <>
          <Go to={`transactions/${one.id}`} isClamped>
            {one.merchant_domain}
          </Go>
          <div className="cell-sub one-line">{one.resource_url}</div>
        </>
      ),
    },
    ...(context === 'all' ? [agentColumn] : []),
    ...(context === 'mandate' ? [] : [mandateColumn]),
    {
      title: 'Status',
      isWide: true,
      cell: (row) => (
        <>
          <StatusBadge status={row.status} />
          {row.approval && (
            <button
              type="button"
              className="fold"
              aria-expanded={openIds.has(row.id)}
              onClick={() => toggle(row.id)}
            >
              <Icon name={openIds.has(row.id) ? 'skipped' : 'plus'} size={12} />
              approval
            </button>
          )}
          {row.isApprovalOfAbove && <div className="cell-sub">approval of the payment above</div>}
          {row.status === 'refunded' && row.reason_detail !== null && (
            <div className="cell-sub one-line">{row.reason_detail}</div>
          )}
          {row.status === 'denied' && <div className="cell-sub">{reasonInWords(row.reason_code)}</div>}
        </>
      ),
    },
    {
      title: 'Amount',
      figures: true,
      cell: (row) => <TransactionAmount of={row} />,
    },
    { title: 'When', figures: true, cell: ({ created_at }) => <Minute at={created_at} /> },
  ]
  const arrange = (transactions: readonly PurchaseRow[]) =>
    openPurchases(foldPurchases(transactions), openIds)
  return { columns, arrange }
}

const agentColumn: Column<PurchaseRow> = {
  title: 'Agent',
  cell: (one) =>
    one.agent_name === null ? (
      <span className="quiet">{otherPayer(one)}</span>
    ) : (
      <span className="cell-name">
        <Go to={`agents/${one.agent_id}`} isClamped>
          {one.agent_name || 'Unnamed agent'}
        </Go>
      </span>
    ),
}

const mandateColumn: Column<PurchaseRow> = {
  title: 'Mandate',
  cell: (one) =>
    one.mandate_purpose === null ? (
      <span className="quiet">–</span>
    ) : (
      <span className="cell-name">
        <Go to={`mandates/${one.mandate_id}`} isClamped>
          {one.mandate_purpose || 'No purpose given'}
        </Go>
      </span>
    ),
}

/** Transactions that match the filters, newest first. */
export function useTransactionPages(
  filters: ListConsoleTransactionsQuery,
  options?: { readonly isEnabled?: boolean },
) {
  return useReadPages<NamedTransaction>(
    'transactions',
    (purser, cursor, signal) =>
      purser.console.transactions.list({ ...filters, ...(cursor ? { cursor } : {}) }, { signal }).page(),
    [filters],
    options,
  )
}

/** The transactions of a record, as part of its screen. */
export function TransactionTable({
  filters,
  context,
  empty,
}: {
  readonly filters: ListConsoleTransactionsQuery
  readonly context: Context
  readonly empty: ReactNode
}) {
  return (
    <PagedTable
      label="Transactions"
      noun="transaction"
      query={useTransactionPages(filters)}
      rowKey={({ id }) => id}
      empty={empty}
      {...usePurchases(context)}
    />
  )
}

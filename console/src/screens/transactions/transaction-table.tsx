import type { ListConsoleTransactionsQuery, Transaction } from '@purser/client'
import type { ReactNode } from 'react'

import { useReadPages } from '../../api/queries.ts'
import { Go } from '../../shell/go.tsx'
import { reasonInWords } from '../../text/reasons.ts'
import { Amount } from '../../ui/amount.tsx'
import { StatusBadge } from '../../ui/badge.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { PagedTable } from '../../ui/paged-table.tsx'
import { Minute } from '../../ui/when.tsx'

/** What every table of transactions shows. */
export const transactionColumns: readonly Column<Transaction>[] = [
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
  {
    title: 'Status',
    isWide: true,
    cell: ({ status, reason_code }) => (
      <>
        <StatusBadge status={status} />
        {status === 'denied' && <div className="cell-sub">{reasonInWords(reason_code)}</div>}
      </>
    ),
  },
  {
    title: 'Amount',
    figures: true,
    // Money was moved by what is paid, and by nothing else.
    cell: ({ amount, currency, status }) => (
      <Amount value={amount} currency={currency} isQuiet={status !== 'paid'} />
    ),
  },
  { title: 'When', figures: true, cell: ({ created_at }) => <Minute at={created_at} /> },
]

/** Transactions that fit the filters, newest first. */
export function useTransactionPages(filters: ListConsoleTransactionsQuery) {
  return useReadPages(
    'transactions',
    (purser, cursor, signal) =>
      purser.console.transactions.list({ ...filters, ...(cursor ? { cursor } : {}) }, { signal }).page(),
    [filters],
  )
}

/** The transactions of something, as a part of its screen. */
export function TransactionTable({
  filters,
  empty,
}: {
  readonly filters: ListConsoleTransactionsQuery
  readonly empty: ReactNode
}) {
  return (
    <PagedTable
      label="Transactions"
      query={useTransactionPages(filters)}
      columns={transactionColumns}
      rowKey={({ id }) => id}
      empty={empty}
    />
  )
}

import type { ListConsoleTransactionsQuery, Transaction } from '@purser/client'
import type { ReactNode } from 'react'

import { useReadPages } from '../../api/queries.ts'
import { Go } from '../../shell/go.tsx'
import { reasonInWords } from '../../text/reasons.ts'
import { Amount } from '../../ui/amount.tsx'
import { StatusBadge } from '../../ui/badge.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { PagedTable } from '../../ui/paged-table.tsx'
import { When } from '../../ui/when.tsx'

const columns: readonly Column<Transaction>[] = [
  {
    title: 'Seller',
    isName: true,
    cell: (one) => (
      <>
        <Go to={`transactions/${one.id}`}>{one.merchant_domain}</Go>
        <div className="cell-sub resource">{one.resource_url}</div>
      </>
    ),
  },
  { title: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
  {
    title: 'Reason',
    isMinor: true,
    cell: ({ status, reason_code }) => (status === 'denied' ? reasonInWords(reason_code) : ''),
  },
  {
    title: 'Amount',
    figures: true,
    cell: ({ amount, currency }) => <Amount value={amount} currency={currency} />,
  },
  { title: 'When', figures: true, cell: ({ created_at }) => <When at={created_at} /> },
]

/** Transactions that fit the filters, newest first. */
export function TransactionTable({
  filters,
  empty,
}: {
  readonly filters: ListConsoleTransactionsQuery
  readonly empty: ReactNode
}) {
  const query = useReadPages(
    'transactions',
    (purser, cursor, signal) =>
      purser.console.transactions.list({ ...filters, ...(cursor ? { cursor } : {}) }, { signal }).page(),
    [filters],
  )
  return (
    <PagedTable label="Transactions" query={query} columns={columns} rowKey={({ id }) => id} empty={empty} />
  )
}

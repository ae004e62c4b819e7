import type { ListConsoleTransactionsQuery } from '@purser/client'

import { exportAddress } from '../../api/export-address.ts'
import { useSeen } from '../../api/seen.tsx'
import { Go } from '../../shell/go.tsx'
import { denialWords } from '../../text/reasons.ts'
import { SelectField, TextField } from '../../ui/field.tsx'
import { Icon } from '../../ui/icon.tsx'
import { EmptyState } from '../../ui/notice.tsx'
import { given, useFilters } from '../filters.ts'
import { ListScreen } from '../list-screen.tsx'
import { transactionColumns, useTransactionPages } from './transaction-table.tsx'

const names = ['status', 'reason_code', 'merchant_domain', 'from', 'to', 'agent_id', 'mandate_id'] as const

const statusOptions = [
  { value: '', text: 'Every status' },
  { value: 'paid', text: 'Paid' },
  { value: 'denied', text: 'Denied' },
  { value: 'approved', text: 'Approved' },
]

const reasonOptions = [
  { value: '', text: 'Every reason' },
  ...Object.entries(denialWords).map(([value, text]) => ({ value, text })),
]

/** Every decision and every charge, each with its why. */
export function Transactions() {
  const { values, settled, set, isFiltered, clear } = useFilters(names)
  const { environment } = useSeen()
  return (
    <ListScreen
      title="Transactions"
      lead="Every decision about a payment, and every charge. Only what is paid has moved money."
      actions={
        <a className="button" href={exportAddress({ environment, ...queryOf(values) })} download>
          <Icon name="download" />
          Export as CSV
        </a>
      }
      noun="transaction"
      filters={{
        isFiltered,
        clear,
        fields: (
          <>
            <SelectField
              label="Status"
              value={values.status}
              onChange={(status) => set({ status })}
              options={statusOptions}
            />
            <SelectField
              label="Reason"
              value={values.reason_code}
              onChange={(reason_code) => set({ reason_code })}
              options={reasonOptions}
            />
            <TextField label="From" type="date" value={values.from} onChange={(from) => set({ from })} />
            <TextField label="To" type="date" value={values.to} onChange={(to) => set({ to })} />
            <TextField
              label="Seller’s domain"
              value={values.merchant_domain}
              onChange={(merchant_domain) => set({ merchant_domain })}
              spellCheck={false}
            />
            {values.mandate_id && <p className="filter-note">Of one mandate only</p>}
            {values.agent_id && <p className="filter-note">Of one agent only</p>}
          </>
        ),
      }}
      query={useTransactionPages(queryOf(settled))}
      columns={transactionColumns}
      empty={
        <EmptyState icon="transaction" title="No transaction yet">
          Each <code>POST /v1/policy/evaluate</code> and each verified proof is recorded here. The{' '}
          <Go to="">overview</Go> has a program that makes a first purchase.
        </EmptyState>
      }
    />
  )
}

/** The filters as the list and the export take them; the days are whole days by the reader's clock. */
function queryOf(values: Record<(typeof names)[number], string>): ListConsoleTransactionsQuery {
  const { from, to, ...rest } = values
  const created_from = startOfDay(from, 0)
  const created_before = startOfDay(to, 1)
  return {
    ...(given(rest) as ListConsoleTransactionsQuery),
    ...(created_from ? { created_from } : {}),
    ...(created_before ? { created_before } : {}),
  }
}

function startOfDay(day: string, daysLater: number): string | undefined {
  const [year, month, date] = day.split('-').map(Number)
  if (!year || !month || !date) return undefined
  return new Date(year, month - 1, date + daysLater).toISOString()
}

import type { ListConsoleTransactionsQuery } from '@purser/client'

import { exportAddress } from '../../api/export-address.ts'
import { useSeen } from '../../api/seen.tsx'
import { Go } from '../../shell/go.tsx'
import { denialWords } from '../../text/reasons.ts'
import { Button } from '../../ui/button.tsx'
import { SelectField, TextField } from '../../ui/field.tsx'
import { Icon } from '../../ui/icon.tsx'
import { EmptyState } from '../../ui/notice.tsx'
import { Panel } from '../../ui/panel.tsx'
import { given, useFilters } from '../filters.ts'
import { Screen } from '../screen.tsx'
import { TransactionTable } from './transaction-table.tsx'

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
  const { values, settled, set, isFiltered } = useFilters(names)
  const { environment } = useSeen()
  const filters = queryOf(values)
  return (
    <Screen
      title="Transactions"
      lead="Every decision about a payment, and every charge. Open one to see the nine checks."
      actions={
        <a className="button" href={exportAddress({ environment, ...filters })} download>
          <Icon name="download" />
          Export as CSV
        </a>
      }
    >
      <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
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
        <TextField
          label="Seller's domain"
          value={values.merchant_domain}
          onChange={(merchant_domain) => set({ merchant_domain })}
          placeholder="api.example.com"
          spellCheck={false}
        />
        <TextField label="From" type="date" value={values.from} onChange={(from) => set({ from })} />
        <TextField label="To" type="date" value={values.to} onChange={(to) => set({ to })} />
        {(values.agent_id || values.mandate_id) && (
          <p className="small">{values.mandate_id ? 'Of one mandate only.' : 'Of one agent only.'}</p>
        )}
        {isFiltered && (
          <Button onClick={() => set(Object.fromEntries(names.map((name) => [name, ''])))}>Clear</Button>
        )}
      </form>
      <Panel title="Transactions that fit" flush isTitleHidden>
        <TransactionTable
          filters={queryOf(settled)}
          empty={
            isFiltered ? (
              <EmptyState icon="search" title="No transaction fits">
                Nothing matches these filters. <Go to="transactions">Show all transactions</Go>
              </EmptyState>
            ) : (
              <EmptyState icon="transaction" title="No transaction yet">
                Each <code>POST /v1/policy/evaluate</code> and each verified proof is recorded here. The{' '}
                <Go to="">overview</Go> has a program that makes a first purchase.
              </EmptyState>
            )
          }
        />
      </Panel>
    </Screen>
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

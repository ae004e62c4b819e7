import { Go } from '../../shell/go.tsx'
import { SelectField, TextField } from '../../ui/field.tsx'
import { EmptyState } from '../../ui/notice.tsx'
import { useAgentChoices } from '../agents/agent-choices.ts'
import { useMandateChoices } from '../choices.ts'
import { useFilters, withUnknown } from '../filters.ts'
import { ListScreen } from '../list-screen.tsx'
import { ExportLink } from './export-link.tsx'
import {
  chipsOf,
  directionOptions,
  faultIn,
  filterNames,
  queryOf,
  reasonOptions,
  statusOptions,
} from './transaction-filters.ts'
import { usePurchases, useTransactionPages } from './transaction-table.tsx'

/** The list of all decisions and charges. */
export function Transactions() {
  const { values, settled, set, remove } = useFilters(filterNames)
  const agents = useAgentChoices(values.agent_id)
  const mandates = useMandateChoices(values.agent_id)
  const fault = faultIn(values)
  return (
    <ListScreen
      title="Transactions"
      lead="Every payment decision and every charge. Only payments and refunds moved money."
      actions={!fault && <ExportLink query={queryOf(values)} />}
      noun="transaction"
      filters={{
        chips: chipsOf(values, { agents: agents.options, mandates: mandates.options }),
        fault,
        remove,
        fields: (
          <>
            <SelectField
              label="Status"
              value={values.status}
              onChange={(status) => set({ status })}
              options={withUnknown(statusOptions, values.status)}
            />
            <SelectField
              label="Reason"
              value={values.reason_code}
              onChange={(reason_code) => set({ reason_code })}
              options={withUnknown(reasonOptions, values.reason_code)}
            />
            <SelectField
              label="Agent"
              value={values.agent_id}
              onChange={(agent_id) => set({ agent_id, mandate_id: '' })}
              options={withUnknown(agents.options, values.agent_id, values.agent_id)}
              hint={agents.hint}
            />
            <SelectField
              label="Mandate"
              value={values.mandate_id}
              onChange={(mandate_id) => set({ mandate_id })}
              options={withUnknown(mandates.options, values.mandate_id, values.mandate_id)}
              hint={mandates.hint}
            />
            <TextField
              label="Seller’s domain"
              value={values.merchant_domain}
              onChange={(merchant_domain) => set({ merchant_domain })}
              spellCheck={false}
            />
            <SelectField
              label="Direction"
              value={values.direction}
              onChange={(direction) => set({ direction })}
              options={withUnknown(directionOptions, values.direction)}
            />
            <TextField
              label="From"
              type="date"
              value={values.from}
              onChange={(from) => set({ from, since: '' })}
            />
            <TextField label="To" type="date" value={values.to} onChange={(to) => set({ to })} />
          </>
        ),
      }}
      query={useTransactionPages(queryOf(faultIn(settled) ? {} : settled), { isEnabled: !fault })}
      {...usePurchases('all')}
      empty={
        <EmptyState icon="transaction" title="No transactions yet">
          Each <code>POST /v1/policy/evaluate</code> and each verified proof is recorded here. The{' '}
          <Go to="">overview</Go> has a program that makes a first purchase.
        </EmptyState>
      }
    />
  )
}

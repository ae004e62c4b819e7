import type { ListConsoleMandatesQuery, ListedMandate } from '@purser/client'

import { useReadPages } from '../../api/queries.ts'
import { usePath } from '../../shell/go.tsx'
import { ButtonLink } from '../../ui/button.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { SelectField, TextField } from '../../ui/field.tsx'
import { EmptyState } from '../../ui/notice.tsx'
import { useAgentChoices } from '../agents/agent-choices.ts'
import { choiceFault, given, textOf, useFilters, withUnknown } from '../filters.ts'
import { ListScreen } from '../list-screen.tsx'
import { OwnersOnly } from '../owners-only.tsx'
import { mandateColumns } from './mandate-columns.tsx'
import { MandateMenu } from './mandate-menu.tsx'

const statusOptions = [
  { value: '', text: 'Every status' },
  { value: 'active', text: 'Active' },
  { value: 'paused', text: 'Paused' },
  { value: 'expired', text: 'Expired' },
  { value: 'revoked', text: 'Revoked' },
  { value: 'agent_revoked', text: 'Agent revoked' },
]

const columns: readonly Column<ListedMandate>[] = [
  ...mandateColumns({ withAgent: true }),
  { title: 'Actions', isActions: true, cell: (mandate) => <MandateMenu mandate={mandate} /> },
]

/** The list of mandates. */
export function Mandates() {
  const { values, settled, set, remove } = useFilters(['status', 'q', 'agent_id'])
  const agents = useAgentChoices(values.agent_id)
  const fault = choiceFault('status', statusOptions, values.status)
  const path = usePath()
  const query = useReadPages(
    'mandates',
    (purser, cursor, signal) =>
      purser.console.mandates
        .list({ ...(given(settled) as ListConsoleMandatesQuery), ...(cursor ? { cursor } : {}) }, { signal })
        .page(),
    [settled],
    { isEnabled: fault === undefined },
  )
  const create = (
    <OwnersOnly>
      <ButtonLink look="main" icon="plus" to={path('mandates/new')}>
        New mandate
      </ButtonLink>
    </OwnersOnly>
  )
  return (
    <ListScreen
      title="Mandates"
      lead="What each agent may spend, on what, and until when."
      actions={create}
      noun="mandate"
      filters={{
        chips: [
          { name: 'q' as const, label: 'Purpose contains', value: values.q },
          { name: 'status' as const, label: 'Status', value: textOf(statusOptions, values.status) },
          { name: 'agent_id' as const, label: 'Agent', value: textOf(agents.options, values.agent_id) },
        ].flatMap(({ name, ...chip }) => (values[name] === '' ? [] : [{ ...chip, names: [name] }])),
        fault,
        remove,
        fields: (
          <>
            <TextField
              label="Purpose contains"
              type="search"
              value={values.q}
              onChange={(q) => set({ q })}
              maxLength={200}
            />
            <SelectField
              label="Status"
              value={values.status}
              onChange={(status) => set({ status })}
              options={withUnknown(statusOptions, values.status)}
            />
            <SelectField
              label="Agent"
              value={values.agent_id}
              onChange={(agent_id) => set({ agent_id })}
              options={withUnknown(agents.options, values.agent_id, values.agent_id)}
              hint={agents.hint}
            />
          </>
        ),
      }}
      query={query}
      columns={columns}
      empty={
        <EmptyState icon="mandate" title="No mandates yet" action={create}>
          A mandate gives one agent a budget: a total, a cap for one payment, the sellers it may buy from, and
          an end. Without one an agent can buy nothing.
        </EmptyState>
      }
    />
  )
}

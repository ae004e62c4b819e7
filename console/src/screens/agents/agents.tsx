import type { AgentSummary } from '@purser/client'

import { useReadPages } from '../../api/queries.ts'
import { Go } from '../../shell/go.tsx'
import { Amount } from '../../ui/amount.tsx'
import { StatusBadge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { EmptyState } from '../../ui/notice.tsx'
import { useAddressFlag } from '../address-flag.ts'
import { ListScreen } from '../list-screen.tsx'
import { OwnersOnly } from '../owners-only.tsx'
import { NewAgent } from './new-agent.tsx'

const columns: readonly Column<AgentSummary>[] = [
  {
    title: 'Agent',
    isName: true,
    cell: (agent) => (
      <>
        <Go to={`agents/${agent.id}`} isClamped>
          {agent.name || 'Unnamed agent'}
        </Go>
        {agent.description && <div className="cell-sub two-lines">{agent.description}</div>}
      </>
    ),
  },
  { title: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
  { title: 'Active mandates', figures: true, cell: ({ active_mandates }) => active_mandates },
  { title: 'Keys', figures: true, isMinor: true, cell: ({ working_keys }) => working_keys },
  { title: 'Spent', unit: 'USDC', figures: true, cell: ({ spent_total }) => <Amount value={spent_total} /> },
  {
    title: 'Unspent',
    unit: 'USDC',
    figures: true,
    cell: ({ remaining_budget }) => <Amount value={remaining_budget} />,
  },
]

/** The list of agents with their spend. */
export function Agents() {
  const creating = useAddressFlag('new')
  const query = useReadPages('agents', (purser, cursor, signal) =>
    purser.console.agents.list(cursor ? { cursor } : {}, { signal }).page(),
  )
  const create = (
    <OwnersOnly>
      <Button look="main" icon="plus" onClick={creating.set}>
        New agent
      </Button>
    </OwnersOnly>
  )
  return (
    <ListScreen
      title="Agents"
      lead="Programs that can spend. Their mandates set how much, and where."
      actions={create}
      noun="agent"
      query={query}
      columns={columns}
      empty={
        <EmptyState icon="agent" title="No agents yet" action={create}>
          An agent is a program that spends: a research bot, a buyer, a crawler. It gets its own key, which
          can ask for payments and nothing else, and mandates that limit them.
        </EmptyState>
      }
    >
      <OwnersOnly>
        <NewAgent isOpen={creating.isSet} onClose={creating.clear} />
      </OwnersOnly>
    </ListScreen>
  )
}

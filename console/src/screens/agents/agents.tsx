import type { AgentSummary } from '@purser/client'
import { useSearchParams } from 'react-router'

import { useReadPages } from '../../api/queries.ts'
import { Go } from '../../shell/go.tsx'
import { Amount } from '../../ui/amount.tsx'
import { StatusBadge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { EmptyState } from '../../ui/notice.tsx'
import { PagedTable } from '../../ui/paged-table.tsx'
import { Panel } from '../../ui/panel.tsx'
import { Screen } from '../screen.tsx'
import { NewAgent } from './new-agent.tsx'

const columns: readonly Column<AgentSummary>[] = [
  {
    title: 'Agent',
    isName: true,
    cell: (agent) => (
      <>
        <Go to={`agents/${agent.id}`}>{agent.name || 'Agent without a name'}</Go>
        {agent.description && <div className="cell-sub">{agent.description}</div>}
      </>
    ),
  },
  { title: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
  { title: 'Mandates', figures: true, cell: ({ active_mandates }) => active_mandates },
  { title: 'Keys', figures: true, isMinor: true, cell: ({ working_keys }) => working_keys },
  { title: 'Spent', figures: true, cell: ({ spent_total }) => <Amount value={spent_total} /> },
  { title: 'Held', figures: true, isMinor: true, cell: ({ held_total }) => <Amount value={held_total} /> },
  { title: 'Left', figures: true, cell: ({ remaining_budget }) => <Amount value={remaining_budget} /> },
]

/** Who may spend, and how much of it is gone. */
export function Agents() {
  const [parameters, setParameters] = useSearchParams()
  const query = useReadPages('agents', (purser, cursor, signal) =>
    purser.console.agents.list(cursor ? { cursor } : {}, { signal }).page(),
  )
  const create = (
    <Button look="main" icon="plus" onClick={() => setParameters({ new: '' })}>
      New agent
    </Button>
  )
  return (
    <Screen
      title="Agents"
      lead="Who may spend. What an agent may spend is said by its mandates."
      actions={create}
    >
      <Panel title="All agents" flush isTitleHidden>
        <PagedTable
          label="Agents"
          query={query}
          columns={columns}
          rowKey={({ id }) => id}
          empty={
            <EmptyState icon="agent" title="No agent yet" action={create}>
              An agent is a program that spends: a research bot, a buyer, a crawler. It gets a key of its own,
              which can ask for payments and nothing else, and mandates that limit them.
            </EmptyState>
          }
        />
      </Panel>
      <NewAgent isOpen={parameters.has('new')} onClose={() => setParameters({}, { replace: true })} />
    </Screen>
  )
}

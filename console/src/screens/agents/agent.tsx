import type { AgentSummary, ListedMandate } from '@purser/client'
import { useState } from 'react'
import { useParams } from 'react-router'

import { useRead, useReadPages } from '../../api/queries.ts'
import { Go, usePath } from '../../shell/go.tsx'
import { counted } from '../../text/counts.ts'
import { Amount } from '../../ui/amount.tsx'
import { StatusBadge } from '../../ui/badge.tsx'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { CopyableIdentifier } from '../../ui/code.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { PagedTable } from '../../ui/paged-table.tsx'
import { Fact, Facts, Panel } from '../../ui/panel.tsx'
import { Moment } from '../../ui/when.tsx'
import { NewKey } from '../keys/new-key.tsx'
import { mandateColumns } from '../mandates/mandate-columns.tsx'
import { MandateMenu } from '../mandates/mandate-menu.tsx'
import { OwnersOnly } from '../owners-only.tsx'
import { Screen } from '../screen.tsx'
import { TransactionTable } from '../transactions/transaction-table.tsx'
import { WhenRead } from '../when-read.tsx'
import { AgentBudget } from './agent-budget.tsx'
import { RevokeAgent } from './revoke-agent.tsx'

/** Refresh interval of an open screen. */
const refetchMs = 10_000

const columnsOfMandates: readonly Column<ListedMandate>[] = [
  ...mandateColumns({ withAgent: false }),
  { title: 'Actions', isActions: true, cell: (mandate) => <MandateMenu mandate={mandate} /> },
]

/** Few, so that the transactions below are near. */
const mandatesAtOnce = 10

const above = <Go to="agents">Agents</Go>

/** One agent: its spend, its remaining budget, and the ways to stop it. */
export function Agent() {
  const { id = '' } = useParams()
  const query = useRead('agent', (purser, signal) => purser.console.agents.get(id, { signal }), {
    parameters: [id],
    refetchMs,
  })
  return (
    <WhenRead query={query} title="Agent" above={above}>
      {(agent) => <AgentScreen agent={agent} />}
    </WhenRead>
  )
}

function AgentScreen({ agent }: { readonly agent: AgentSummary }) {
  const [isIssuing, setIssuing] = useState(false)
  const path = usePath()
  const name = agent.name || 'Unnamed agent'
  return (
    <Screen
      title={name}
      heading={
        <>
          {name} <StatusBadge status={agent.status} />
        </>
      }
      above={above}
      lead={agent.description}
      actions={
        agent.status === 'active' && (
          <OwnersOnly>
            <Button icon="key" onClick={() => setIssuing(true)}>
              Issue a key
            </Button>
            <ButtonLink icon="plus" to={path(`mandates/new?agent=${agent.id}`)}>
              New mandate
            </ButtonLink>
            <RevokeAgent agent={agent} />
          </OwnersOnly>
        )
      }
    >
      <Panel title="Spend">
        <Facts>
          <Fact name="Total spent">
            <Amount value={agent.spent_total} currency="USDC" />
          </Fact>
          <Fact name={`Unspent in ${counted(agent.active_mandates, 'active mandate')}`}>
            <Amount value={agent.remaining_budget} currency="USDC" />
          </Fact>
          <Fact name={`Of that, held by ${counted(agent.open_holds, 'open proof')}`}>
            <Amount value={agent.held_total} currency="USDC" />
          </Fact>
          {agent.authorized_payments > 0 && (
            <Fact
              name={`Of that, authorized in ${counted(agent.authorized_payments, 'payment')}, to be captured by merchants`}
            >
              <Amount value={agent.authorized_total} currency="USDC" />
            </Fact>
          )}
          <Fact name="Working keys">
            {agent.working_keys}
            {agent.status === 'revoked' && agent.working_keys > 0 && ' that cannot pay: the agent is revoked'}
          </Fact>
          <Fact name="Created">
            <Moment at={agent.created_at} />
          </Fact>
          {agent.revoked_at !== null && (
            <Fact name="Revoked">
              <Moment at={agent.revoked_at} />
            </Fact>
          )}
          <Fact name="Capabilities" isWide>
            {agent.capabilities.join(', ') || 'None given'}
          </Fact>
          <Fact name="Identifier" isWide>
            <CopyableIdentifier id={agent.id} />
          </Fact>
        </Facts>
      </Panel>
      <AgentBudget agent={agent} />
      <Panel
        title="Newest mandates"
        flush
        aside={
          <span className="small">
            <Go to={`mandates?agent_id=${agent.id}`}>All its mandates</Go>
          </span>
        }
      >
        <AgentMandates agentId={agent.id} />
      </Panel>
      <Panel
        title="Transactions"
        flush
        aside={
          <span className="small">
            <Go to={`transactions?agent_id=${agent.id}`}>Filter and export</Go>
          </span>
        }
      >
        <TransactionTable
          context="agent"
          filters={{ agent_id: agent.id }}
          empty={<p className="panel-note">No requests from this agent yet.</p>}
        />
      </Panel>
      <NewKey isOpen={isIssuing} onClose={() => setIssuing(false)} agent={agent} />
    </Screen>
  )
}

function AgentMandates({ agentId }: { readonly agentId: string }) {
  const query = useReadPages(
    'mandates',
    (purser, cursor, signal) =>
      purser.console.mandates
        .list({ agent_id: agentId, limit: mandatesAtOnce, ...(cursor ? { cursor } : {}) }, { signal })
        .page(),
    [agentId],
    { rowsAtOnce: mandatesAtOnce },
  )
  return (
    <PagedTable
      label="Mandates of this agent"
      noun="mandate"
      query={query}
      columns={columnsOfMandates}
      rowKey={({ id }) => id}
      empty={<p className="panel-note">This agent cannot buy anything without a mandate.</p>}
    />
  )
}

import type { AgentSummary, ListedMandate } from '@purser/client'
import { useState } from 'react'
import { useParams } from 'react-router'

import { useChange, useRead, useReadPages } from '../../api/queries.ts'
import { Go, usePath } from '../../shell/go.tsx'
import { counted } from '../../text/reasons.ts'
import { Amount } from '../../ui/amount.tsx'
import { StatusBadge } from '../../ui/badge.tsx'
import { BudgetBar } from '../../ui/budget-bar.tsx'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { Identifier } from '../../ui/code.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { ConfirmByTyping } from '../../ui/dialog.tsx'
import { PagedTable } from '../../ui/paged-table.tsx'
import { Fact, Facts, Panel } from '../../ui/panel.tsx'
import { sayDone } from '../../ui/toast.tsx'
import { Failed, Waiting } from '../../ui/waiting.tsx'
import { Moment, When } from '../../ui/when.tsx'
import { NewKey } from '../keys/new-key.tsx'
import { statusNow } from '../mandates/mandate-status.ts'
import { Screen } from '../screen.tsx'
import { TransactionTable } from '../transactions/transaction-table.tsx'

/** How often an open screen is read anew. */
const refetchMs = 10_000

/** One agent: what it has spent, what it may still spend, and the ways to stop it. */
export function Agent() {
  const { id = '' } = useParams()
  const agent = useRead('agent', (purser, signal) => purser.console.agents.get(id, { signal }), {
    parameters: [id],
    refetchMs,
  })
  if (agent.isError && !agent.data) {
    return (
      <Screen title="Agent">
        <Failed error={agent.error} onRetry={() => void agent.refetch()} />
      </Screen>
    )
  }
  return agent.data ? <AgentScreen agent={agent.data} /> : <Waiting lines={8} />
}

function AgentScreen({ agent }: { readonly agent: AgentSummary }) {
  const [isIssuing, setIssuing] = useState(false)
  const path = usePath()
  const name = agent.name || 'Agent without a name'
  const isActive = agent.status === 'active'
  return (
    <Screen
      title={name}
      heading={
        <>
          {name} <StatusBadge status={agent.status} />
        </>
      }
      above={<Go to="agents">Agents</Go>}
      lead={agent.description}
      actions={
        isActive && (
          <>
            <Button icon="key" onClick={() => setIssuing(true)}>
              Issue its key
            </Button>
            <ButtonLink icon="plus" to={path(`mandates/new?agent=${agent.id}`)}>
              New mandate
            </ButtonLink>
            <RevokeAgent agent={agent} />
          </>
        )
      }
    >
      <Panel title="Spend">
        <Facts>
          <Fact name="Spent in all">
            <Amount value={agent.spent_total} currency="USDC" />
          </Fact>
          <Fact name={`Held by ${counted(agent.open_holds, 'open proof')}`}>
            <Amount value={agent.held_total} currency="USDC" />
          </Fact>
          <Fact name={`Left in ${counted(agent.active_mandates, 'active mandate')}`}>
            <Amount value={agent.remaining_budget} currency="USDC" />
          </Fact>
          <Fact name="Working keys">{agent.working_keys}</Fact>
          <Fact name="Capabilities">{agent.capabilities.join(', ') || 'None given'}</Fact>
          <Fact name="Created">
            <Moment at={agent.created_at} />
          </Fact>
          {agent.revoked_at !== null && (
            <Fact name="Revoked">
              <Moment at={agent.revoked_at} />
            </Fact>
          )}
          <Fact name="Identifier">
            <Identifier id={agent.id} />
          </Fact>
        </Facts>
      </Panel>
      <Panel title="Mandates" flush>
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
          filters={{ agent_id: agent.id }}
          empty={<p className="panel-body quiet">This agent has not asked for anything yet.</p>}
        />
      </Panel>
      <NewKey isOpen={isIssuing} onClose={() => setIssuing(false)} agent={agent} />
    </Screen>
  )
}

const mandateColumns: readonly Column<ListedMandate>[] = [
  {
    title: 'Purpose',
    isName: true,
    cell: (one) => <Go to={`mandates/${one.id}`}>{one.purpose || 'No purpose given'}</Go>,
  },
  { title: 'Status', cell: (one) => <StatusBadge status={statusNow(one)} /> },
  {
    title: 'Budget',
    cell: (one) => (
      <div className="budget-cell">
        <BudgetBar
          label={`Budget of ${one.purpose}`}
          spent={one.spent_total}
          held={one.held_total}
          total={one.max_spend_total}
        />
        <span className="cell-sub">
          <Amount value={one.spent_total} /> of <Amount value={one.max_spend_total} />
        </span>
      </div>
    ),
  },
  { title: 'Expires', isMinor: true, cell: (one) => <When at={one.expires_at} /> },
]

function AgentMandates({ agentId }: { readonly agentId: string }) {
  const query = useReadPages(
    'mandates',
    (purser, cursor, signal) =>
      purser.console.mandates.list({ agent_id: agentId, ...(cursor ? { cursor } : {}) }, { signal }).page(),
    [agentId],
  )
  return (
    <PagedTable
      label="Mandates of this agent"
      query={query}
      columns={mandateColumns}
      rowKey={({ id }) => id}
      empty={<p className="panel-body quiet">Without a mandate this agent can buy nothing.</p>}
    />
  )
}

/** Revoking is for good, so it says what it will stop and wants the agent's name typed. */
function RevokeAgent({ agent }: { readonly agent: AgentSummary }) {
  const [isOpen, setOpen] = useState(false)
  const word = agent.name.trim() || 'revoke'
  const revoke = useChange((purser) => purser.agents.revoke(agent.id), {
    onDone: () => {
      setOpen(false)
      sayDone('The agent is revoked')
    },
  })
  return (
    <>
      <Button look="danger" icon="stop" onClick={() => setOpen(true)}>
        Revoke
      </Button>
      <ConfirmByTyping
        title="Revoke this agent?"
        word={word}
        action="Revoke for good"
        isOpen={isOpen}
        isWorking={revoke.isPending}
        onClose={() => setOpen(false)}
        onConfirm={() => revoke.mutate(undefined)}
      >
        <p>It can never be used again. This stops, at once and for good:</p>
        <ul className="bullets">
          <li>
            {counted(agent.active_mandates, 'active mandate')}, of which{' '}
            <Amount value={agent.remaining_budget} currency="USDC" /> are left
          </li>
          <li>
            {counted(agent.open_holds, 'open proof')} over <Amount value={agent.held_total} currency="USDC" />
          </li>
          <li>{counted(agent.working_keys, 'working key')} of its own: they can no longer spend</li>
        </ul>
      </ConfirmByTyping>
    </>
  )
}

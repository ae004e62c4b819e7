import type { Budget as SharedBudget } from '@purser/client'
import { useState } from 'react'
import { useParams } from 'react-router'

import { explainChange } from '../../api/failures.ts'
import { useChange, useRead, useReadPages } from '../../api/queries.ts'
import { Go } from '../../shell/go.tsx'
import { Button } from '../../ui/button.tsx'
import { CopyableIdentifier } from '../../ui/code.tsx'
import { Dialog, DialogForm } from '../../ui/dialog.tsx'
import { PagedTable } from '../../ui/paged-table.tsx'
import { Fact, Facts, Panel } from '../../ui/panel.tsx'
import { sayDone } from '../../ui/toast.tsx'
import { Failed, Waiting } from '../../ui/waiting.tsx'
import { Moment } from '../../ui/when.tsx'
import { mandateColumns } from '../mandates/mandate-columns.tsx'
import { OwnersOnly } from '../owners-only.tsx'
import { Screen } from '../screen.tsx'
import { WhenRead } from '../when-read.tsx'
import { useBudgets } from './budget-choices.ts'
import { BudgetDialog, EditBudgetDialog } from './budget-form.tsx'
import { inTreeOrder } from './budget-tree.ts'
import { BudgetTree, FrozenBadge, nameOf, Overbooking } from './budgets.tsx'
import { LimitUsages } from './limit-usages.tsx'

/** Refresh interval of an open screen. */
const refetchMs = 10_000

const columnsOfMandates = mandateColumns({ withAgent: true })

/** One shared budget: its limits, and what is below it. */
export function Budget() {
  const { id = '' } = useParams()
  const query = useRead('budget', (purser, signal) => purser.budgets.get(id, { signal }), {
    parameters: [id],
    refetchMs,
  })
  return (
    <WhenRead query={query} title="Budget" above={<Go to="budgets">Budgets</Go>}>
      {(budget) => <BudgetScreen key={budget.id} budget={budget} />}
    </WhenRead>
  )
}

function BudgetScreen({ budget }: { readonly budget: SharedBudget }) {
  const [shown, setShown] = useState<'edit' | 'freeze' | 'new'>()
  const close = () => setShown(undefined)
  const { budgets } = useBudgets({ isLive: true })
  const unfreeze = useChange((purser) => purser.budgets.unfreeze(budget.id), {
    onDone: () => sayDone(`Unfrozen: ${nameOf(budget)}`),
    whenFailed: `Not unfrozen: ${nameOf(budget)}.`,
  })
  const below = budgetsBelow(budget.id, budgets)
  const parent = budgets.find(({ id }) => id === budget.parent_id)
  const level = inTreeOrder(budgets).find((placed) => placed.budget.id === budget.id)?.level ?? 0
  return (
    <Screen
      title={nameOf(budget)}
      heading={
        <>
          {nameOf(budget)} {budget.frozen_at !== null && <FrozenBadge />}
        </>
      }
      above={<Go to="budgets">Budgets</Go>}
      lead={
        budget.parent_id === null ? (
          'At the top: no budget is above it.'
        ) : (
          <>
            Below <Go to={`budgets/${budget.parent_id}`}>{parent ? nameOf(parent) : budget.parent_id}</Go>
          </>
        )
      }
      actions={
        <OwnersOnly>
          <Button icon="edit" onClick={() => setShown('edit')}>
            Edit
          </Button>
          {level < 3 && (
            <Button icon="plus" onClick={() => setShown('new')}>
              New budget below
            </Button>
          )}
          {budget.frozen_at === null ? (
            <Button look="grave" icon="pause" onClick={() => setShown('freeze')}>
              Freeze
            </Button>
          ) : (
            <Button icon="play" disabled={unfreeze.isPending} onClick={() => unfreeze.mutate(undefined)}>
              Unfreeze
            </Button>
          )}
        </OwnersOnly>
      }
    >
      <Panel title="Limits">
        <div className="stack">
          {budget.limits.length === 0 ? (
            <p className="quiet">No limits of its own. Those of the budgets above it apply.</p>
          ) : (
            <LimitUsages of={nameOf(budget)} limits={budget.limits} usage={budget.usage ?? []} />
          )}
          <Overbooking budget={budget} budgets={budgets} />
          <Facts>
            <Fact name="Version">{budget.version}</Fact>
            <Fact name="Created">
              <Moment at={budget.created_at} />
            </Fact>
            {budget.frozen_at !== null && (
              <Fact name="Frozen">
                <Moment at={budget.frozen_at} />
              </Fact>
            )}
            <Fact name="Identifier" isWide>
              <CopyableIdentifier id={budget.id} />
            </Fact>
          </Facts>
        </div>
      </Panel>
      {below.length > 0 && (
        <Panel title="Budgets below" flush>
          <BudgetTree budgets={below} />
        </Panel>
      )}
      <Panel title="Mandates" flush>
        <MandatesBelow budgetId={budget.id} />
      </Panel>
      <Panel title="Agents">
        <AgentsBelow ids={new Set([budget.id, ...below.map(({ id }) => id)])} />
      </Panel>
      <EditBudgetDialog budget={budget} isOpen={shown === 'edit'} onClose={close} />
      <BudgetDialog parentId={budget.id} isOpen={shown === 'new'} onClose={close} />
      <FreezeDialog budget={budget} isOpen={shown === 'freeze'} onClose={close} />
    </Screen>
  )
}

function budgetsBelow(id: string, budgets: readonly SharedBudget[]): readonly SharedBudget[] {
  const children = budgets.filter(({ parent_id }) => parent_id === id)
  return children.flatMap((child) => [child, ...budgetsBelow(child.id, budgets)])
}

function MandatesBelow({ budgetId }: { readonly budgetId: string }) {
  const query = useReadPages(
    'mandates-below',
    (purser, cursor, signal) =>
      purser.console.mandates.list({ budget_id: budgetId, ...(cursor ? { cursor } : {}) }, { signal }).page(),
    [budgetId],
  )
  return (
    <PagedTable
      label="Mandates below this budget"
      noun="mandate"
      query={query}
      columns={columnsOfMandates}
      rowKey={({ id }) => id}
      empty={<p className="panel-note">No mandate is assigned to it. Choose it in the form of a mandate.</p>}
    />
  )
}

/** Max agents that are searched. */
const maxAgents = 500

/** Agents whose mandates all count in one of some budgets. */
function AgentsBelow({ ids }: { readonly ids: ReadonlySet<string> }) {
  const query = useRead('agents-below', (purser, signal) =>
    purser.agents.list({ limit: 100 }, { signal }).toArray({ limit: maxAgents }),
  )
  if (!query.data && query.isError) return <Failed error={query.error} onRetry={() => void query.refetch()} />
  if (!query.data) return <Waiting lines={1} />
  const agents = query.data.filter(({ budget_id }) => budget_id !== null && ids.has(budget_id))
  const isCut = query.data.length === maxAgents
  if (agents.length === 0 && isCut)
    return <p className="quiet">None of the newest {maxAgents} agents is assigned to it.</p>
  if (agents.length === 0)
    return (
      <p className="quiet">
        No agent is assigned to it. All mandates of an assigned agent count in it. Choose it on the screen of
        an agent.
      </p>
    )
  return (
    <ul className="stack-tight">
      {agents.map(({ id, name }) => (
        <li key={id}>
          <Go to={`agents/${id}`}>{name || 'Unnamed agent'}</Go>: all its mandates
        </li>
      ))}
      {isCut && <li className="quiet">Only the newest {maxAgents} agents are searched.</li>}
    </ul>
  )
}

/** Asks before a freeze, which takes effect at once. */
function FreezeDialog({
  budget,
  isOpen,
  onClose,
}: {
  readonly budget: SharedBudget
  readonly isOpen: boolean
  readonly onClose: () => void
}) {
  const freeze = useChange((purser) => purser.budgets.freeze(budget.id), {
    onDone: () => {
      onClose()
      sayDone(`Frozen: ${nameOf(budget)}`)
    },
    whenUnseen: `Not frozen: ${nameOf(budget)}.`,
  })
  function close() {
    freeze.reset()
    onClose()
  }
  return (
    <Dialog title="Freeze this budget?" isOpen={isOpen} onClose={close}>
      <DialogForm
        action="Freeze now"
        look="danger"
        isWorking={freeze.isPending}
        failure={freeze.error ? explainChange(freeze.error) : undefined}
        onClose={close}
        onSubmit={() => freeze.mutate(undefined)}
      >
        <p className="breakable">
          Nothing below “{nameOf(budget)}” can be paid from now on, and open proofs below it end at once.
          Authorized payments stay until their deadline.
        </p>
        <p className="quiet">You can unfreeze it. Voided proofs stay void.</p>
      </DialogForm>
    </Dialog>
  )
}

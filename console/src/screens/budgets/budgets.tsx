import type { Budget } from '@purser/client'

import { Go } from '../../shell/go.tsx'
import { amountInWords } from '../../text/amounts.ts'
import { windowInWords } from '../../text/limits.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/notice.tsx'
import { Panel } from '../../ui/panel.tsx'
import { Failed, Waiting } from '../../ui/waiting.tsx'
import { useAddressFlag } from '../address-flag.ts'
import { Screen } from '../screen.tsx'
import { OwnersOnly } from '../owners-only.tsx'
import { maxBudgets, useBudgets } from './budget-choices.ts'
import { BudgetDialog } from './budget-form.tsx'
import { inTreeOrder } from './budget-tree.ts'
import './budgets.css'
import { LimitUsages } from './limit-usages.tsx'
import { overbookedIn } from './overbooked.ts'

/** The shared budgets as a tree, with how far each is used up. */
export function Budgets() {
  const creating = useAddressFlag('new')
  const { query, budgets } = useBudgets({ isLive: true })
  const create = (
    <OwnersOnly>
      <Button look="main" icon="plus" onClick={creating.set}>
        New budget
      </Button>
    </OwnersOnly>
  )
  return (
    <Screen
      title="Budgets"
      lead="Limits that several mandates and agents share. A payment needs room in each budget above it."
      actions={create}
    >
      <Panel title="All budgets" flush isTitleHidden>
        {query.isPending ? (
          <Waiting />
        ) : query.isError && budgets.length === 0 ? (
          <Failed error={query.error} onRetry={() => void query.refetch()} />
        ) : budgets.length === 0 ? (
          <EmptyState icon="budget" title="No shared budgets yet" action={create}>
            A shared budget limits what a team or a project spends, across all its agents. Assign mandates and
            agents to it; at most four budgets are above each other.
          </EmptyState>
        ) : (
          <BudgetTree budgets={budgets} />
        )}
        {budgets.length === maxBudgets && (
          <p className="panel-note">Only the newest {maxBudgets} budgets are shown.</p>
        )}
      </Panel>
      <OwnersOnly>
        <BudgetDialog isOpen={creating.isSet} onClose={creating.clear} />
      </OwnersOnly>
    </Screen>
  )
}

/** Each budget below its parent. */
export function BudgetTree({ budgets }: { readonly budgets: readonly Budget[] }) {
  return (
    <ul className="budget-tree">
      {inTreeOrder(budgets).map(({ budget, level }) => (
        <li key={budget.id} className={`budget-row level-${level}`} aria-label={nameOf(budget)}>
          <div className="budget-row-name">
            {level > 0 && <span className="only-read-aloud">Level {level + 1}:</span>}
            <Go to={`budgets/${budget.id}`}>{nameOf(budget)}</Go>
            {budget.frozen_at !== null && <FrozenBadge />}
          </div>
          {budget.limits.length === 0 ? (
            <p className="quiet small">No limits of its own.</p>
          ) : (
            <LimitUsages of={nameOf(budget)} limits={budget.limits} usage={budget.usage ?? []} />
          )}
          <Overbooking budget={budget} budgets={budgets} />
        </li>
      ))}
    </ul>
  )
}

export function FrozenBadge() {
  return (
    <Badge tone="bad" icon="pause">
      frozen
    </Badge>
  )
}

/** Says where the budgets below add up to more than a limit. */
export function Overbooking({
  budget,
  budgets,
}: {
  readonly budget: Budget
  readonly budgets: readonly Budget[]
}) {
  const children = budgets.filter(({ parent_id }) => parent_id === budget.id)
  return overbookedIn(budget, children).map(({ limit, sum }) => (
    <p key={limit.id} className="budget-overbooked small">
      The budgets below it add up to {amountInWords(sum)} USDC in {windowInWords(limit.window)}, more than its{' '}
      {amountInWords(limit.max_amount ?? '0')}. Its own limit still holds.
    </p>
  ))
}

export function nameOf({ name }: Pick<Budget, 'name'>): string {
  return name || 'Unnamed budget'
}

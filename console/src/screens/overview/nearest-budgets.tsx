import type { NearBudget } from '@purser/client'

import { Go } from '../../shell/go.tsx'
import { readMicro, readSignedMicro } from '../../text/amounts.ts'
import { Amount } from '../../ui/amount.tsx'
import { BudgetBar, BudgetFigures } from '../../ui/budget-bar.tsx'
import { When } from '../../ui/when.tsx'
import './nearest-budgets.css'

/** The active mandates closest to their limit, and when they will run out at the current rate. */
export function NearestBudgets({ budgets }: { readonly budgets: readonly NearBudget[] }) {
  if (budgets.length === 0) {
    return <p className="quiet">No active mandate has spent anything.</p>
  }
  return (
    <ul className="stack">
      {budgets.map((budget) => (
        <li key={budget.mandate_id} className="near-budget">
          <div className="near-budget-name">
            <Go to={`mandates/${budget.mandate_id}`} isClamped>
              {budget.purpose || 'No purpose given'}
            </Go>
            <span className="figures">
              <Amount value={budget.remaining_budget} /> <span className="quiet">unspent</span>
            </span>
          </div>
          <span className="small quiet one-line">{budget.agent_name}</span>
          <BudgetBar {...budget} />
          <div className="near-budget-words">
            <BudgetFigures {...budget} />
            <Projection {...budget} />
          </div>
        </li>
      ))}
    </ul>
  )
}

function Projection({ remaining_budget, exhausted_at, expires_at, spent_last_day }: NearBudget) {
  if (readMicro(remaining_budget) === 0n) return <span>used up</span>
  if (exhausted_at !== null) {
    return (
      <span>
        used up <When at={exhausted_at} /> at this pace
      </span>
    )
  }
  return (
    <span>
      {readSignedMicro(spent_last_day) <= 0n
        ? 'nothing spent in 24 hours; expires '
        : 'lasts until it expires, '}
      <When at={expires_at} />
    </span>
  )
}

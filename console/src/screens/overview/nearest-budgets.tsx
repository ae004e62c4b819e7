import type { NearBudget } from '@purser/client'

import { Go } from '../../shell/go.tsx'
import { Amount } from '../../ui/amount.tsx'
import { BudgetBar } from '../../ui/budget-bar.tsx'
import { readMicro } from '../../text/amounts.ts'
import { When } from '../../ui/when.tsx'

/** The active mandates of which least is left, and when that is gone at the pace of the last day. */
export function NearestBudgets({ budgets }: { readonly budgets: readonly NearBudget[] }) {
  if (budgets.length === 0) {
    return <p className="quiet">No active mandate was spent from yet.</p>
  }
  return (
    <ul className="stack">
      {budgets.map((budget) => (
        <li key={budget.mandate_id} className="near-budget">
          <div className="near-budget-words">
            <Go to={`mandates/${budget.mandate_id}`}>{budget.purpose || 'No purpose given'}</Go>
            <span>
              <Amount value={budget.remaining_budget} /> <span className="quiet">left</span>
            </span>
          </div>
          <BudgetBar
            label={`Budget of ${budget.purpose}`}
            spent={budget.spent_total}
            held={budget.held_total}
            total={budget.max_spend_total}
          />
          <div className="near-budget-words small quiet">
            <span className="breakable">
              {budget.agent_name} · <Amount value={budget.spent_total} /> of{' '}
              <Amount value={budget.max_spend_total} /> spent
            </span>
            <Projection {...budget} />
          </div>
        </li>
      ))}
    </ul>
  )
}

function Projection({ exhausted_at, expires_at, spent_last_day }: NearBudget) {
  if (exhausted_at === null) {
    return (
      <span>
        {readMicro(spent_last_day) === 0n ? 'nothing spent in 24 h' : 'lasts until it expires'},{' '}
        <When at={expires_at} />
      </span>
    )
  }
  return (
    <span>
      at this pace gone <When at={exhausted_at} />
    </span>
  )
}

import type { ListedMandate } from '@purser/client'

import { Go } from '../../shell/go.tsx'
import { Amount } from '../../ui/amount.tsx'
import { StatusBadge } from '../../ui/badge.tsx'
import { BudgetBar, BudgetFigures } from '../../ui/budget-bar.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { When } from '../../ui/when.tsx'
import { isOver, statusNow } from './mandate-status.ts'

/** What a table of mandates shows; whose they are is said where they are not all of one agent. */
export function mandateColumns({
  withAgent,
}: {
  readonly withAgent: boolean
}): readonly Column<ListedMandate>[] {
  return [
    {
      title: 'Purpose',
      isName: true,
      cell: (mandate) => (
        <>
          <Go to={`mandates/${mandate.id}`} isClamped>
            {mandate.purpose || 'No purpose given'}
          </Go>
          {withAgent && <div className="cell-sub two-lines">{mandate.agent_name}</div>}
        </>
      ),
    },
    { title: 'Status', cell: (mandate) => <StatusBadge status={statusNow(mandate)} /> },
    {
      title: 'Budget',
      unit: 'USDC',
      isWide: true,
      cell: (mandate) => (
        <>
          <BudgetBar {...mandate} />
          <div className="cell-sub">
            <BudgetFigures {...mandate} />
          </div>
        </>
      ),
    },
    {
      title: 'Left',
      unit: 'USDC',
      figures: true,
      // What is left of a mandate that is over can be spent by nobody.
      cell: (mandate) => (isOver(mandate) ? '–' : <Amount value={mandate.remaining_budget} />),
    },
    { title: 'Expires', isMinor: true, cell: (mandate) => <When at={mandate.expires_at} /> },
  ]
}

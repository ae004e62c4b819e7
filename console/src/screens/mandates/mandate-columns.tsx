import type { ListedMandate } from '@purser/client'

import { useNow } from '../../api/connection.tsx'
import { Go } from '../../shell/go.tsx'
import { Amount } from '../../ui/amount.tsx'
import { StatusBadge } from '../../ui/badge.tsx'
import { BudgetBar, BudgetFigures } from '../../ui/budget-bar.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { When } from '../../ui/when.tsx'
import { isOver, statusNow } from './mandate-status.ts'

/** The columns of a mandate table; the agent is omitted if all are of one agent. */
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
    { title: 'Status', cell: (mandate) => <Status mandate={mandate} /> },
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
      title: 'Unspent',
      unit: 'USDC',
      figures: true,
      cell: (mandate) => <Left mandate={mandate} />,
    },
    { title: 'Expires', isMinor: true, cell: (mandate) => <When at={mandate.expires_at} /> },
  ]
}

function Status({ mandate }: { readonly mandate: ListedMandate }) {
  const now = useNow()
  return <StatusBadge status={statusNow(mandate, now())} />
}

/** The rest of an ended mandate cannot be spent. */
function Left({ mandate }: { readonly mandate: ListedMandate }) {
  const now = useNow()
  return isOver(mandate, now()) ? '–' : <Amount value={mandate.remaining_budget} />
}

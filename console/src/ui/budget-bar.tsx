import { groupDigits, shareOf } from '../text/amounts.ts'
import './budget-bar.css'

/** How much of a budget is spent and held. The figures stand beside it as text; the drawing repeats them. */
export function BudgetBar({
  spent,
  held,
  total,
  label,
}: {
  readonly spent: string
  readonly held: string
  readonly total: string
  /** What the budget belongs to, for who cannot see the drawing. */
  readonly label: string
}) {
  const spentShare = shareOf(spent, total)
  const heldShare = Math.min(shareOf(held, total), 1 - spentShare)
  const fullness = spentShare + heldShare >= 0.95 ? 'full' : spentShare + heldShare >= 0.8 ? 'high' : 'easy'
  return (
    <svg
      className={`budget-bar ${fullness}`}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round((spentShare + heldShare) * 100)}
      aria-valuetext={`${groupDigits(spent)} spent and ${groupDigits(held)} held of ${groupDigits(total)}`}
    >
      <rect className="budget-whole" width="100%" height="100%" />
      <rect className="budget-spent" width={percent(spentShare)} height="100%" />
      <rect className="budget-held" x={percent(spentShare)} width={percent(heldShare)} height="100%" />
    </svg>
  )
}

function percent(share: number): string {
  return `${share * 100}%`
}

import { amountInWords, readMicro, shareOf, sumOf } from '../text/amounts.ts'
import { Amount } from './amount.tsx'
import './budget-bar.css'

interface Budget {
  readonly purpose: string
  readonly spent_total: string
  readonly held_total: string
  readonly authorized_total?: string
  readonly max_spend_total: string
}

/** A bar of the spent and reserved parts of a budget. The figures are also shown as text. */
export function BudgetBar({
  purpose,
  spent_total,
  held_total,
  authorized_total = '0',
  max_spend_total,
}: Budget) {
  const reserved_total = sumOf([held_total, authorized_total])
  const authorized =
    readMicro(authorized_total) === 0n ? '' : ` and ${amountInWords(authorized_total)} authorized`
  const spent = shareOf(spent_total, max_spend_total)
  const held = Math.min(shareOf(reserved_total, max_spend_total), 1 - spent)
  const fullness = spent + held >= 0.95 ? 'full' : spent + held >= 0.8 ? 'high' : 'easy'
  return (
    <svg
      className={`budget-bar ${fullness}`}
      role="meter"
      aria-label={`Budget of ${purpose || 'a mandate without a purpose'}`}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round((spent + held) * 100)}
      aria-valuetext={`${amountInWords(spent_total)} spent and ${amountInWords(held_total)} held${authorized} of ${amountInWords(max_spend_total)}`}
    >
      <rect className="budget-whole" width="100%" height="100%" />
      <rect className="budget-spent" width={percent(spent)} height="100%" />
      <rect className="budget-held" x={percent(spent)} width={percent(held)} height="100%" />
    </svg>
  )
}

/** The same in figures: `137.06 of 400.00 spent, 4.20 held`. */
export function BudgetFigures({
  spent_total,
  held_total,
  authorized_total = '0',
  max_spend_total,
}: Omit<Budget, 'purpose'>) {
  return (
    <span>
      <Amount value={spent_total} /> of <Amount value={max_spend_total} /> spent
      {readMicro(held_total) !== 0n && (
        <>
          , <Amount value={held_total} /> held
        </>
      )}
      {readMicro(authorized_total) !== 0n && (
        <>
          , <Amount value={authorized_total} /> authorized
        </>
      )}
    </span>
  )
}

function percent(share: number): string {
  return `${share * 100}%`
}

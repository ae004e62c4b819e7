import { groupDigits } from '../text/amounts.ts'

/** An amount, exact to the last digit that the service gave. */
export function Amount({
  value,
  currency,
}: {
  readonly value: string
  readonly currency?: string | undefined
}) {
  return (
    <span className="figures">
      {groupDigits(value)}
      {currency && <span className="quiet"> {currency}</span>}
    </span>
  )
}

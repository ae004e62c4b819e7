import { amountInWords } from '../text/amounts.ts'

/** Amounts of more characters than this are set smaller where there is little room. */
const longLength = 13

/** An amount, exact to the last digit that the service gave. It is never cut, and never wraps. */
export function Amount({
  value,
  currency,
  isQuiet = false,
}: {
  readonly value: string
  readonly currency?: string | undefined
  /** Whether no money was moved by it: a decision, a denial. */
  readonly isQuiet?: boolean
}) {
  const words = amountInWords(value)
  const names = ['figures', isQuiet && 'quiet', words.length > longLength && 'is-long']
  return (
    <span className={names.filter((name) => name).join(' ')}>
      {words}
      {currency && <span className="unit"> {currency}</span>}
    </span>
  )
}

import type { CSSProperties } from 'react'

import { amountInWords } from '../text/amounts.ts'

/** Longer amounts get a smaller font in narrow places. */
const longLength = 13

/** An amount, exact to the last digit. It is never truncated, and never wraps. */
export function Amount({
  value,
  currency,
  isQuiet = false,
}: {
  readonly value: string
  readonly currency?: string | undefined
  /** Whether it moved no money: a decision, a denial. */
  readonly isQuiet?: boolean
}) {
  const words = amountInWords(value)
  const names = ['figures', isQuiet && 'quiet', words.length > longLength && 'is-long']
  const length = { '--length': words.length } as CSSProperties
  return (
    <span className={names.filter((name) => name).join(' ')} style={length}>
      {words}
      {currency && <span className="unit"> {currency}</span>}
    </span>
  )
}

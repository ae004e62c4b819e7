import { Fragment } from 'react'

import { amountInWords } from '../text/amounts.ts'

/** An amount, exact to the last digit that the service gave. Where it must break, it breaks after a comma. */
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
  return (
    <span className={isQuiet ? 'figures quiet' : 'figures'}>
      {amountInWords(value)
        .split(/(?<=,)/)
        .map((digits, group) => (
          <Fragment key={group}>
            {group > 0 && <wbr />}
            {digits}
          </Fragment>
        ))}
      {currency && <span className="unit"> {currency}</span>}
    </span>
  )
}

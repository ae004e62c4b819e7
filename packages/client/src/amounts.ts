import { PurserError } from './errors.ts'

/**
 * Amounts are text, and compared as text by the service: `10.0` is not `10.00` to it, though it is as much money.
 * These reckon with them exactly, in millionths, never in floating point (decision 16). All throw a `PurserError` for
 * what is no amount: digits, and up to six more after a point.
 */

/** The amount as the service writes its sums: at least two decimals, no more than needed. `10.0` gives `10.00`. */
export function formatAmount(amount: string): string {
  return textOf(microOf(amount))
}

/** Whether two texts are as much money. */
export function sameAmount(one: string, other: string): boolean {
  return microOf(one) === microOf(other)
}

/** Below zero when the first is less, above zero when it is more, zero when they are as much; for `sort`. */
export function compareAmounts(one: string, other: string): number {
  const [a, b] = [microOf(one), microOf(other)]
  return a < b ? -1 : a > b ? 1 : 0
}

/** The sum, such as `12.50`; `0.00` of none. */
export function addAmounts(...amounts: readonly string[]): string {
  return textOf(amounts.reduce((sum, amount) => sum + microOf(amount), 0n))
}

/** What is left of the first; throws when the second is more. */
export function subtractAmounts(from: string, amount: string): string {
  const rest = microOf(from) - microOf(amount)
  if (rest < 0n) throw new PurserError(`${amount} is more than ${from}`)
  return textOf(rest)
}

/** Whether a text is an amount. */
export function isAmount(text: unknown): text is string {
  return typeof text === 'string' && /^[0-9]+(\.[0-9]{1,6})?$/.test(text)
}

const microInOne = 1_000_000n

function microOf(amount: string): bigint {
  if (!isAmount(amount)) {
    throw new PurserError(`${JSON.stringify(amount)} is no amount; write it as text, like "10.00"`)
  }
  const [whole = '', fraction = ''] = amount.split('.')
  return BigInt(whole) * microInOne + BigInt(fraction.padEnd(6, '0'))
}

function textOf(micro: bigint): string {
  const fraction = String(micro % microInOne).padStart(6, '0')
  return `${micro / microInOne}.${fraction.replace(/0{1,4}$/, '')}`
}

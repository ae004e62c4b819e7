import { PurserError } from './errors.ts'

/**
 * Amounts are strings, and the service compares them as text: `10.0` is not `10.00`, although the value is
 * the same. These functions calculate exactly, in millionths, never in floating point (decision 6). All
 * throw a `PurserError` for an invalid amount; a valid one is digits, with up to six decimals.
 */

/**
 * The amount as the service formats its sums: at least two decimals, no more than needed.
 *
 * @example
 * formatAmount('10.0') // '10.00'
 */
export function formatAmount(amount: string): string {
  return textOf(microOf(amount))
}

/**
 * Whether two amounts have the same value.
 *
 * @example
 * sameAmount('10.0', '10.00') // true
 */
export function sameAmount(one: string, other: string): boolean {
  return microOf(one) === microOf(other)
}

/**
 * Negative if the first amount is less, positive if it is more, zero if they are equal; for `sort`.
 *
 * @example
 * ['10.00', '9.50'].sort(compareAmounts) // ['9.50', '10.00']
 */
export function compareAmounts(one: string, other: string): number {
  const [a, b] = [microOf(one), microOf(other)]
  return a < b ? -1 : a > b ? 1 : 0
}

/**
 * The sum of the amounts; `0.00` without arguments.
 *
 * @example
 * addAmounts('10.00', '2.5') // '12.50'
 */
export function addAmounts(...amounts: readonly string[]): string {
  return textOf(amounts.reduce((sum, amount) => sum + microOf(amount), 0n))
}

/**
 * The first amount minus the second; throws if the second is more.
 *
 * @example
 * subtractAmounts('10.00', '2.5') // '7.50'
 */
export function subtractAmounts(from: string, amount: string): string {
  const rest = microOf(from) - microOf(amount)
  if (rest < 0n) throw new PurserError(`${amount} is more than ${from}`)
  return textOf(rest)
}

/**
 * Whether a value is a valid amount: digits, with up to six decimals. Never throws.
 *
 * @example
 * isAmount('4.00') // true
 */
export function isAmount(text: unknown): text is string {
  return typeof text === 'string' && /^[0-9]+(\.[0-9]{1,6})?$/.test(text)
}

const microInOne = 1_000_000n

function microOf(amount: string): bigint {
  if (!isAmount(amount)) {
    throw new PurserError(`${JSON.stringify(amount)} is not an amount; use a string such as "10.00"`)
  }
  const [whole = '', fraction = ''] = amount.split('.')
  return BigInt(whole) * microInOne + BigInt(fraction.padEnd(6, '0'))
}

function textOf(micro: bigint): string {
  const fraction = String(micro % microInOne).padStart(6, '0')
  return `${micro / microInOne}.${fraction.replace(/0{1,4}$/, '')}`
}

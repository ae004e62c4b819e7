declare const unit: unique symbol

/** An amount in millionths of a USDC, for exact sums and comparisons without floating point. */
export type MicroUsdc = bigint & { readonly [unit]: 'micro-usdc' }

const microsInOne = 1_000_000n
const fractionDigits = 6

/**
 * Parses an amount into millionths. The text must match the interface's amount pattern; anything else is a
 * bug and throws a RangeError.
 */
export function parseAmount(text: string): MicroUsdc {
  const match = /^([0-9]+)(?:\.([0-9]{1,6}))?$/.exec(text)
  if (!match) throw new RangeError(`not an amount: ${JSON.stringify(text)}`)
  const [, whole = '0', fraction = ''] = match
  return BigInt(whole + fraction.padEnd(fractionDigits, '0')) as MicroUsdc
}

/** A sum as text: at least two decimals and no more than needed (`0.00`, `12.50`, `0.000001`). */
export function formatSum(sumMicro: MicroUsdc): string {
  const whole = sumMicro / microsInOne
  const fraction = (sumMicro % microsInOne).toString().padStart(fractionDigits, '0')
  return `${whole}.${fraction.slice(0, 2)}${fraction.slice(2).replace(/0+$/, '')}`
}

/** Like `formatSum`, for a difference that may be below zero. */
export function formatSigned(micro: bigint): string {
  const text = formatSum((micro < 0n ? -micro : micro) as MicroUsdc)
  return micro < 0n ? `-${text}` : text
}

/** The sum of two amounts. */
export function addMicro(left: MicroUsdc, right: MicroUsdc): MicroUsdc {
  return (left + right) as MicroUsdc
}

/** The first amount minus the second. */
export function subtractMicro(from: MicroUsdc, taken: MicroUsdc): MicroUsdc {
  return (from - taken) as MicroUsdc
}

const microsInOne = 1_000_000n

/** An amount in millionths; `undefined` if it is invalid. Never a float. */
export function readMicro(text: string): bigint | undefined {
  const match = /^([0-9]+)(?:\.([0-9]{1,6}))?$/.exec(text.trim())
  if (!match) return undefined
  const [, whole = '0', fraction = ''] = match
  return BigInt(whole) * microsInOne + BigInt(fraction.padEnd(6, '0'))
}

/** The text under a field with an invalid amount. */
export const invalidAmount =
  'An amount above zero such as 1000.00, without separators, with at most six decimals.'

/** A sum that may be negative, in millionths; 0 if it is invalid. */
export function readSignedMicro(text: string): bigint {
  return text.startsWith('-') ? -(readMicro(text.slice(1)) ?? 0n) : (readMicro(text) ?? 0n)
}

/** Millionths as text: at least two decimals and no more than needed, like the service's sums. */
export function writeMicro(micro: bigint): string {
  const size = micro < 0n ? -micro : micro
  const fraction = (size % microsInOne).toString().padStart(6, '0')
  return `${micro < 0n ? '-' : ''}${size / microsInOne}.${fraction.slice(0, 2)}${fraction.slice(2).replace(/0+$/, '')}`
}

/** The exact sum of amounts. Invalid amounts count as zero. */
export function sumOf(amounts: Iterable<string>): string {
  let micro = 0n
  for (const amount of amounts) micro += readMicro(amount) ?? 0n
  return writeMicro(micro)
}

/**
 * The amount formatted for display: with thousands separators and at least two decimals, so that decimal
 * points align: `1234567.5` → `1,234,567.50`. No digit is lost.
 */
export function amountInWords(amount: string): string {
  const [whole = '', fraction = ''] = amount.split('.')
  return `${whole.replace(/\B(?=(?:[0-9]{3})+$)/g, ',')}.${fraction.padEnd(2, '0')}`
}

/** The ratio of an amount to the whole, 0 to 1, only for drawing. */
export function shareOf(part: string, whole: string): number {
  const wholeMicro = readMicro(whole) ?? 0n
  const partMicro = readMicro(part) ?? 0n
  if (wholeMicro <= 0n) return partMicro > 0n ? 1 : 0
  const shareOfTenThousand = (partMicro * 10_000n) / wholeMicro
  return Number(shareOfTenThousand > 10_000n ? 10_000n : shareOfTenThousand) / 10_000
}

/** Millionths of an amount's text; undefined-free: call it with what the service or `isAmount` accepts. */
export function microOf(text: string): bigint {
  const [whole = '0', fraction = ''] = text.split('.')
  return BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, '0'))
}

/** Whether the text is an amount as interface 0.1.0 writes it. */
export function isAmount(text: string): boolean {
  return amountPattern.test(text)
}

/** At most twelve digits, and at most six after the point (Amounts). */
export const amountPattern = /^[0-9]{1,12}(\.[0-9]{1,6})?$/

/** A sum with at least two digits after the point, and no more than it needs. */
export function formatSum(micro: bigint): string {
  const fraction = (micro % 1_000_000n)
    .toString()
    .padStart(6, '0')
    .replace(/0{1,4}$/, '')
  return `${micro / 1_000_000n}.${fraction}`
}

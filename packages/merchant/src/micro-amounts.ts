/** A decimal amount with at most six decimals, in millionths. */
export function microOf(amount: string): bigint {
  const [whole = '', decimals = ''] = amount.split('.')
  return BigInt(whole + decimals.padEnd(6, '0'))
}

/** What a merchant, or the service, says of a payment that was made. */
export interface Receipt {
  readonly transaction_id: string
  readonly amount: string
  readonly merchant_domain: string
  readonly nonce: string
}

/** The receipt in `X-Payment-Receipt`, base64url of JSON; undefined when there is none that can be read. */
export function readReceipt(headers: Headers): Receipt | undefined {
  const header = headers.get('x-payment-receipt')
  if (header === null) return undefined
  try {
    const value = JSON.parse(Buffer.from(header, 'base64url').toString('utf8')) as Record<string, unknown>
    const { transaction_id, amount, merchant_domain, nonce } = value
    const receipt = { transaction_id, amount, merchant_domain, nonce }
    return Object.values(receipt).every((field) => typeof field === 'string')
      ? (receipt as Receipt)
      : undefined
  } catch {
    return undefined
  }
}

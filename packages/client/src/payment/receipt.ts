import { decodeJson } from './base64url.ts'

/** What a merchant says was paid: the header `X-Payment-Receipt`, base64url of this as JSON. */
export interface PaymentReceipt {
  /** The transaction of the charge, as `transactions.get` finds it. */
  readonly transaction_id: string
  readonly amount: string
  readonly merchant_domain: string
  /** The nonce of the proof that paid. */
  readonly nonce: string
  readonly currency?: string
  readonly resource?: string
}

/** The longest receipt that is read; far longer than any. */
const maxReceiptLength = 16_384

/**
 * The receipt that a merchant gave with its goods; undefined when there is none that can be read. It is the merchant's
 * word: `payments.getProof(nonce)` is the service's.
 *
 * @example
 * const answer = await fetchPaid('https://api.example.com/data')
 * console.log(readReceipt(answer)?.transaction_id)
 */
export function readReceipt({ headers }: { readonly headers: Headers }): PaymentReceipt | undefined {
  const header = headers.get('x-payment-receipt')
  if (header === null || header.length > maxReceiptLength) return undefined
  const value = decodeJson(header)
  if (typeof value !== 'object' || value === null) return undefined
  const { transaction_id, amount, merchant_domain, nonce, currency, resource } = value as Record<
    string,
    unknown
  >
  const required = { transaction_id, amount, merchant_domain, nonce }
  if (!Object.values(required).every((field) => typeof field === 'string')) return undefined
  return {
    ...(required as Record<keyof typeof required, string>),
    ...(typeof currency === 'string' ? { currency } : {}),
    ...(typeof resource === 'string' ? { resource } : {}),
  }
}

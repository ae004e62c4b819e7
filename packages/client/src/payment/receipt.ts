import { decodeJson } from './base64.ts'

/** A merchant's receipt: the header `X-Payment-Receipt`, which is this as base64url JSON. */
export interface PaymentReceipt {
  /** The transaction of the charge, for `transactions.get`. */
  readonly transaction_id: string
  readonly amount: string
  readonly merchant_domain: string
  /** The nonce of the proof. */
  readonly nonce: string
  readonly currency?: string
  readonly resource?: string
}

/** Max length of a receipt; far longer than any. */
const maxReceiptLength = 16_384

/**
 * The receipt in a response with goods; undefined if there is no valid one. It is the merchant's statement;
 * the service's is `payments.getProof(nonce)`.
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

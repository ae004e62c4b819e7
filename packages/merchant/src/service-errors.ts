import type { RefusalReason } from './challenge.ts'

/** What a merchant has to put right before it can collect, where the service names it (decision 12). */
const collectionCodes = ['seller_not_yours', 'merchant_not_allowed', 'merchant_not_payee']

/**
 * Why the service refuses a proof for good, charging nothing, if that is what an error of the client says.
 * Undefined means that nothing is known: the service may be down, or this merchant's key may be wrong.
 * Errors are told apart by their fields, so that no code of the client is needed.
 */
export function refusalOf(error: unknown): { reason: RefusalReason; isForMerchant: boolean } | undefined {
  const { status, code, items } = fieldsOf(error)
  if (status === 403 && collectionCodes.includes(String(code))) {
    return { reason: String(code), isForMerchant: code !== 'merchant_not_allowed' }
  }
  if (status === 422 && Array.isArray(items) && items.every(isAboutProof)) {
    return { reason: 'malformed_proof', isForMerchant: false }
  }
  return undefined
}

/** When the customer may try again, where the service said so. */
export function retryAfterMsOf(error: unknown): number | undefined {
  const { retryAfterMs } = fieldsOf(error)
  return typeof retryAfterMs === 'number' && retryAfterMs > 0 ? retryAfterMs : undefined
}

function isAboutProof(item: { loc?: unknown }): boolean {
  return Array.isArray(item.loc) && item.loc[1] === 'proof'
}

function fieldsOf(error: unknown): {
  status?: unknown
  code?: unknown
  items?: unknown
  retryAfterMs?: unknown
} {
  return typeof error === 'object' && error !== null ? error : {}
}

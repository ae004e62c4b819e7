import type { RefusalReason } from '../challenge.ts'

/** What a merchant has to put right before it can collect, where the service names it (decision 0016). */
const collectionCodes = ['seller_not_yours', 'merchant_not_allowed', 'merchant_not_payee']

/**
 * Why the service refuses a proof for good, charging nothing, if that is what an error of the client says.
 * Undefined means that it says nothing of the proof: the service may be down, or this merchant's key may be wrong.
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

/**
 * The statuses with which the service turns a verification away before it looks for the payment: the body cannot be
 * read (400, 413, 422), nor the headers (431), or the key may not collect (401, 403). The others leave it open: 404 and
 * 405 come from something in the service's place, 408 and 429 may follow an attempt that was heard, 409 may be one that
 * is still going on.
 */
const turnedAway = [400, 401, 403, 413, 422, 431]

/** Whether an error of the client says that nothing was charged, whoever has to put right what was wrong. */
export function hasChargedNothing(error: unknown): boolean {
  return turnedAway.includes(Number(fieldsOf(error).status))
}

/** When the customer may try again, where the service said so. */
export function retryAfterMsOf(error: unknown): number | undefined {
  const { retryAfterMs } = fieldsOf(error)
  return typeof retryAfterMs === 'number' && retryAfterMs > 0 ? retryAfterMs : undefined
}

/** What a request says that is the customer's word: a proof, or what the pre-flight check is told of it. */
const ofProof: readonly unknown[] = ['proof', 'agent_id', 'mandate_id']

function isAboutProof(item: { loc?: unknown }): boolean {
  return Array.isArray(item.loc) && ofProof.includes(item.loc[1])
}

function fieldsOf(error: unknown): {
  status?: unknown
  code?: unknown
  items?: unknown
  retryAfterMs?: unknown
} {
  return typeof error === 'object' && error !== null ? error : {}
}

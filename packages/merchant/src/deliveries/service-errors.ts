import type { RefusalReason } from '../challenge.ts'

/** What only the owner of the mandate can change. */
const ofMandate = ['merchant_not_allowed', 'resource_not_allowed']

/** Why a merchant may not collect; it must fix most of these itself (decision 16). */
const collectionCodes = [...ofMandate, 'seller_not_yours', 'merchant_not_payee', 'category_mismatch']

/**
 * The reason why the service permanently refuses a proof without charging it, if a client error says so. Undefined if
 * the error says nothing about the proof: the service may be down, or this merchant's key may be wrong. Errors are
 * recognized by their fields, so no code of the client is needed.
 */
export function refusalOf(error: unknown): { reason: RefusalReason; isForMerchant: boolean } | undefined {
  const { status, code, items } = fieldsOf(error)
  if (status === 403 && collectionCodes.includes(String(code))) {
    return { reason: String(code), isForMerchant: !ofMandate.includes(String(code)) }
  }
  if (status === 422 && Array.isArray(items) && items.every(isAboutProof)) {
    return { reason: 'malformed_proof', isForMerchant: false }
  }
  return undefined
}

/**
 * Statuses with which the service rejects a verification before it looks for the payment: unreadable body
 * (400, 413, 422) or headers (431), or a key that may not collect (401, 403). Other statuses leave the
 * outcome unknown: 404 and 405 come from something other than the service, 408 and 429 may follow an attempt
 * that was processed, and 409 may mean that one is still running.
 */
const turnedAway = [400, 401, 403, 413, 422, 431]

/**
 * Whether a client error means that nothing was charged, whatever its cause. The answer of a proxy, which has no code of
 * the service, does not: it may follow an attempt whose reply was lost.
 */
export function hasChargedNothing(error: unknown): boolean {
  const { status, code } = fieldsOf(error)
  return turnedAway.includes(Number(status)) && typeof code === 'string' && !code.startsWith('http_')
}

/** Why an authorized payment can never be captured; in most cases, nothing is charged. */
export type CaptureConflict = 'authorization_expired' | 'authorization_voided' | 'already_captured'

const captureConflicts: readonly CaptureConflict[] = [
  'authorization_expired',
  'authorization_voided',
  'already_captured',
]

/** Why a payment can never be captured, if a client error says so. */
export function captureConflictOf(error: unknown): CaptureConflict | undefined {
  const { status, code } = fieldsOf(error)
  return status === 409 ? captureConflicts.find((one) => one === code) : undefined
}

/** When the customer may retry, if the service said so. */
export function retryAfterMsOf(error: unknown): number | undefined {
  const { retryAfterMs } = fieldsOf(error)
  return typeof retryAfterMs === 'number' && retryAfterMs > 0 ? retryAfterMs : undefined
}

/** The data that the customer controls: a proof, or what is sent to the pre-flight check about it. */
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

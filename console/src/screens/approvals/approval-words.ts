import { compareAmounts, type ApprovalRequest, type MandateDetail, type Session } from '@purser/client'

import { amountInWords } from '../../text/amounts.ts'
import { counted } from '../../text/counts.ts'
import { limitInWords } from '../../text/limits.ts'
import { dayMs, hourMs, minuteMs } from '../../text/times.ts'

/** The host of the resource; unreadable text is returned unchanged. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url
}

/** What is asked for: `12.00 USDC at api.example.com`, or wider terms. */
export function subjectOf({ amount, resource_url }: ApprovalRequest): string {
  if (amount === null || resource_url === null) return 'More budget'
  return `${amountInWords(amount)} USDC at ${hostOf(resource_url)}`
}

/** Why a person is asked. */
export function reasonToAsk(
  { reason, resource_url, amount }: ApprovalRequest,
  mandate: Pick<MandateDetail, 'approval' | 'limits'> | undefined,
): string {
  const above = mandate?.approval?.above
  const limit = mandate?.limits.find(({ id }) => id === reason.limit_id)
  switch (reason.code) {
    case 'above':
      // The mandate may have changed since.
      return above && amount !== null && compareAmounts(amount, above) > 0
        ? `More than ${amountInWords(above)} USDC`
        : 'Above the threshold for approval'
    case 'first_purchase_at_seller':
      return `First purchase from ${hostOf(resource_url ?? 'this seller')} under this mandate`
    case 'limit':
      return limit
        ? `Beyond a limit: ${limitInWords(limit)}`
        : 'Beyond a limit of the mandate or of a shared budget'
    case 'increase':
      return 'The agent asks for wider terms'
    default:
      return reason.code satisfies never
  }
}

/** How many people have approved, if more than one must; empty otherwise. */
export function progressOf({ required, decisions }: ApprovalRequest): string {
  if (required === 1) return ''
  const given = decisions.filter(({ decision }) => decision === 'approved').length
  return `${given} of ${counted(required, 'approval')}`
}

/** Why the caller cannot approve or deny a request; undefined where nothing is in the way. */
export function obstaclesOf(
  { kind, requested_by, decisions, mandate_version }: ApprovalRequest,
  { key_id, role }: Pick<Session, 'key_id' | 'role'>,
  mandate: Pick<MandateDetail, 'version' | 'status'> | undefined,
): { readonly toApprove: string | undefined; readonly toDeny: string | undefined } {
  // All sessions of an account that were started without a key are one person.
  const isCaller = (actor: string) => (key_id === null ? actor.startsWith('session_') : actor === key_id)
  if (isCaller(requested_by)) return neither('You made this request yourself. Another person must decide.')
  if (decisions.some(({ actor, decision }) => isCaller(actor) && decision === 'approved'))
    return onlyDeny('You have approved it. Another person must approve it, too.')
  if (kind === 'increase' && role === 'approver')
    return onlyDeny('Only an owner can approve wider terms. You can deny them.')
  if (mandate?.status === 'revoked') return onlyDeny('The mandate is revoked.')
  if (kind === 'increase' && mandate && mandate.version !== mandate_version)
    return onlyDeny('The mandate was changed after the agent asked, so the agent must ask again.')
  return { toApprove: undefined, toDeny: undefined }
}

function neither(why: string) {
  return { toApprove: why, toDeny: why }
}

function onlyDeny(why: string) {
  return { toApprove: why, toDeny: undefined }
}

/** How long a request can still be decided: `14 min left`. */
export function timeLeftInWords(leftMs: number): string {
  if (!(leftMs > 0)) return 'expired'
  if (leftMs < minuteMs) return `${Math.ceil(leftMs / 1_000)} s left`
  if (leftMs < 2 * hourMs) return `${Math.floor(leftMs / minuteMs)} min left`
  if (leftMs < 2 * dayMs) return `${Math.floor(leftMs / hourMs)} h left`
  return `${Math.floor(leftMs / dayMs)} days left`
}

/** The outcome of a request that needs no decision any more; empty while it is pending. */
export function outcomeOf({ kind, status, nonce }: ApprovalRequest): string {
  switch (status) {
    case 'pending':
      return ''
    case 'approved':
      return kind === 'increase'
        ? 'Approved. The mandate has its new terms.'
        : 'Approved. The agent can pay once, until it expires.'
    case 'denied':
      return kind === 'increase'
        ? 'Denied. The agent may ask again.'
        : 'Denied. The same request is refused until it expires.'
    case 'expired':
      return 'Expired. It was not decided, or not used, in time. The agent must ask again.'
    case 'consumed':
      return nonce === null ? 'Used.' : 'Used. The agent has its proof of payment.'
    default:
      return status satisfies never
  }
}

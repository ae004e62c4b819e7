import type {
  ApprovalKind,
  ApprovalReason as ReasonCode,
  ApprovalStatus,
  ApprovalVerdict,
} from '@purser/wire/approvals'

import type { ExceededLimit, Limit } from './limits.ts'
import { parseAmount, type MicroUsdc } from './money.ts'
import type { ApprovalTerms, MandateTerms, Scope } from './records.ts'

/** How long a payment waits for a decision, and how long its approval can be used. */
export const approvalWindowMs = 15 * 60_000

/** How long a request for an increase waits for a decision. */
export const increaseWindowMs = 7 * 24 * 60 * 60_000

/** Max pending approvals of a mandate. */
export const maxPendingApprovals = 20

/** Why a person must approve a payment. */
export interface ReasonToAsk {
  readonly code: ReasonCode
  readonly limitId: string | null
}

/** What check 12 compares in addition to the mandate. */
export interface ApprovalFacts {
  /** Whether something was bought from the seller before. */
  readonly isKnownSeller: boolean
  /** Whether a person has approved this payment. */
  readonly isApproved: boolean
}

/** A request that a person decides. */
export interface Approval extends Scope {
  readonly id: string
  readonly kind: ApprovalKind
  /** As recorded: see `approvalStatusAt`. */
  readonly status: Exclude<ApprovalStatus, 'expired'>
  readonly agentId: string
  readonly mandateId: string
  /** The version of the mandate when it was requested. */
  readonly mandateVersion: number
  /** Null for an increase. */
  readonly amountText: string | null
  readonly amountMicro: MicroUsdc | null
  readonly resourceUrl: string | null
  readonly reasonCode: ReasonCode
  readonly limitId: string | null
  /** What the agent says; null for a payment. */
  readonly message: string | null
  /** The terms of an increase. */
  readonly change: Increase | null
  /** The key or session that made the request, and the person behind it: see `personOf`. */
  readonly requestedBy: string
  readonly requester: string
  readonly requestedAtMs: number
  /** Until when it can be decided, or used. */
  readonly expiresAtMs: number
  readonly required: number
  readonly decisions: readonly ApprovalDecision[]
  /** The proof that has used it. */
  readonly nonce: string | null
}

export interface ApprovalDecision {
  readonly actor: string
  readonly person: string
  readonly decision: ApprovalVerdict
  readonly note: string | null
  readonly atMs: number
}

/** The terms that an agent requests. Stored as JSON. An empty list of limits removes all of them. */
export type Increase = Partial<
  Pick<MandateTerms, 'maxTotalText' | 'maxPerTransactionText' | 'expiresAtText' | 'expiresAtMs'>
> & { readonly limits?: readonly Limit[] }

/** The terms of an increase, as an amendment has them. */
export function termsOfIncrease(increase: Increase): Partial<MandateTerms> {
  const { maxTotalText, maxPerTransactionText } = increase
  return {
    ...increase,
    ...(maxTotalText !== undefined && { maxTotalMicro: parseAmount(maxTotalText) }),
    ...(maxPerTransactionText !== undefined && {
      maxPerTransactionMicro: parseAmount(maxPerTransactionText),
    }),
  }
}

/** Why a person must approve a payment that passes all other checks; undefined if none must. */
export function reasonToAsk(
  terms: ApprovalTerms | null,
  payment: { readonly amountMicro: MicroUsdc; readonly isKnownSeller: boolean },
  exceeded: readonly ExceededLimit[],
): ReasonToAsk | undefined {
  if (terms && terms.above !== null && !(payment.amountMicro <= parseAmount(terms.above)))
    return { code: 'above', limitId: null }
  if (terms?.firstPurchaseAtSeller && !payment.isKnownSeller)
    return { code: 'first_purchase_at_seller', limitId: null }
  const limit = exceeded.find(({ action }) => action === 'require_approval')
  return limit && { code: 'limit', limitId: limit.id }
}

/**
 * The status at a time: a request that was not decided, or not used, in time has expired. An increase is used
 * when it is approved.
 */
export function approvalStatusAt(
  { kind, status, expiresAtMs }: Pick<Approval, 'kind' | 'status' | 'expiresAtMs'>,
  nowMs: number,
): ApprovalStatus {
  const canExpire = status === 'pending' || (status === 'approved' && kind === 'payment')
  return canExpire && !(expiresAtMs > nowMs) ? 'expired' : status
}

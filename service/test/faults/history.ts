import type { ProofStatus } from '@purser/wire/payments'
import type { ApprovalStatus } from '@purser/wire/approvals'
import type { DenialCode } from '@purser/wire/policy'
import type { VerificationFailure } from '@purser/wire/payments'
import type { MandateStatus } from '@purser/wire/mandates'

/** The requests of a client; amounts in millionths. */
export type Request =
  | { readonly act: 'create-agent' }
  | {
      readonly act: 'create-mandate'
      readonly agentId: string
      readonly maxTotalMicro: bigint
      readonly maxPaymentMicro: bigint
      /** A person must approve payments above this amount; null: none. */
      readonly approveAboveMicro: bigint | null
      /** What its payments may add up to, by a limit of its own; null: no limit. */
      readonly limitMicro: bigint | null
      /** The shared budget that it counts in; null: none. */
      readonly budgetId: string | null
    }
  /** A shared budget with a limit for its lifetime. */
  | { readonly act: 'create-budget'; readonly maxMicro: bigint }
  | BudgetMove
  | BudgetChange
  /** Makes the payments of an agent count in a shared budget, or in none. */
  | { readonly act: 'assign-agent'; readonly agentId: string; readonly budgetId: string | null }
  | { readonly act: 'issue-key'; readonly agentId: string | null }
  | { readonly act: 'revoke-key'; readonly keyId: string }
  | { readonly act: 'revoke-agent'; readonly agentId: string }
  | MandateMove
  | ProofRequest
  | VerifyRequest
  | EvaluateRequest
  | AccountAct
  | AuthorizedAct
  | PersonAct
  | { readonly act: 'void-proof'; readonly nonce: string }
  | { readonly act: 'read-mandate'; readonly mandateId: string }
  | { readonly act: 'look-up'; readonly nonce: string }

export interface MandateMove {
  readonly act: 'pause-mandate' | 'resume-mandate' | 'revoke-mandate'
  readonly mandateId: string
}

export interface BudgetMove {
  readonly act: 'freeze-budget' | 'unfreeze-budget'
  readonly budgetId: string
}

/** Replaces the limit of a shared budget, and may end all open proofs that count in it. */
export interface BudgetChange {
  readonly act: 'change-budget'
  readonly budgetId: string
  readonly maxMicro: bigint
  /** A rolling month counts the same in a short history, but is another limit, which is counted anew. */
  readonly window: 'lifetime' | 'month'
  readonly endsHolds: boolean
}

/** Operations on all mandates of the owner, or on the accounts of the owner and of the collector. */
export type AccountAct =
  | { readonly act: 'stop-all'; readonly name: string }
  /** Undoes the named stop, or every stop if none is named. */
  | { readonly act: 'undo-stop'; readonly name: string | null }
  | { readonly act: 'disable-collector' | 'enable-collector' }
  | { readonly act: 'disable-payer' | 'enable-payer' }
  | { readonly act: 'release-domain' | 'register-seller' }

/** Who pays what, and where. */
interface Payment {
  readonly agentId: string
  readonly mandateId: string
  readonly amountMicro: bigint
  readonly domain: string
}

export interface ProofRequest extends Payment {
  readonly act: 'ask-proof'
  readonly orderId?: string
  readonly idempotencyKey?: string
  /** The approval that a person has given. */
  readonly approvalId?: string
}

export interface EvaluateRequest extends Payment {
  readonly act: 'evaluate'
}

export interface VerifyRequest {
  readonly act: 'verify'
  readonly nonce: string
  readonly domain: string
  readonly idempotencyKey: string
}

/** A payment in two steps, and the refunds of a merchant. */
export type AuthorizedAct =
  | {
      readonly act: 'authorize'
      readonly nonce: string
      readonly domain: string
      readonly idempotencyKey: string
    }
  | {
      readonly act: 'capture-authorized'
      readonly nonce: string
      readonly domain: string
      /** Null for all of it. */
      readonly amountMicro: bigint | null
      readonly idempotencyKey: string
    }
  | { readonly act: 'void-authorized'; readonly nonce: string; readonly domain: string }
  | {
      readonly act: 'refund'
      readonly transactionId: string
      readonly domain: string
      readonly amountMicro: bigint
      readonly idempotencyKey: string
    }

/** Decisions by people, and changes to mandates. */
export type PersonAct =
  | {
      readonly act: 'decide'
      readonly mandateId: string
      readonly approvalId: string
      readonly verdict: 'approved' | 'denied'
    }
  | {
      readonly act: 'amend-mandate'
      readonly mandateId: string
      /** The version that the owner has seen. */
      readonly version: number
      readonly maxPaymentMicro: bigint
      /** Whether its open proofs end. */
      readonly endsHolds?: boolean
    }
  | { readonly act: 'request-increase'; readonly mandateId: string; readonly maxTotalMicro: bigint }

/** How long merchants have to capture what they have authorized. */
export const captureSeconds = 60

/** The answer, or that none came. */
export type Answer =
  | { readonly is: 'created'; readonly id: string }
  | { readonly is: 'done' }
  | { readonly is: 'granted'; readonly nonce: string; readonly isReplay?: boolean }
  | {
      readonly is: 'denied'
      readonly code: DenialCode
      readonly transactionId?: string | undefined
      readonly approvalId?: string | undefined
    }
  | { readonly is: 'decided'; readonly status: ApprovalStatus }
  | { readonly is: 'amended'; readonly version: number }
  | { readonly is: 'requested'; readonly approvalId: string }
  | { readonly is: 'approved'; readonly transactionId: string }
  | { readonly is: 'verified'; readonly transactionId: string; readonly isReplay: boolean }
  | { readonly is: 'authorized'; readonly isReplay: boolean }
  | { readonly is: 'refunded'; readonly refundId: string; readonly isReplay: boolean }
  | { readonly is: 'failed'; readonly reason: VerificationFailure }
  | {
      readonly is: 'mandate'
      readonly status: MandateStatus
      readonly spentMicro: bigint
      readonly heldMicro: bigint
      readonly authorizedMicro: bigint
      readonly version: number
    }
  | { readonly is: 'proof'; readonly status: ProofStatus; readonly transactionId: string | null }
  /** A key that does not work (401). */
  | { readonly is: 'unauthorized' }
  /** The state forbids the operation (409). */
  | { readonly is: 'conflict'; readonly detail: string }
  /** 503: nothing was charged, or a retry will report it. */
  | { readonly is: 'unavailable' }
  /** The connection ended before an answer, or the client stopped waiting. */
  | { readonly is: 'unknown' }
  /** Anything that the interface does not allow here. */
  | { readonly is: 'broken'; readonly text: string }

/** One request with its answer. Times are the service's clock, in milliseconds. */
export interface Call {
  /** The id of the calling key. */
  readonly keyId: string
  readonly request: Request
  readonly beganMs: number
  /** When the answer came, or the client gave up. */
  readonly endedMs: number
  readonly answer: Answer
}

/** A call of one kind of request. */
export type CallOf<Act extends Request['act']> = Call & {
  readonly request: Request & { readonly act: Act }
}

/** The contents of the ledger, read when nothing was in progress any more. */
export interface LedgerContent {
  readonly readAtMs: number
  /** Until when the services were running to sweep expired holds. */
  readonly sweptUntilMs: number
  readonly agents: readonly { readonly id: string; readonly status: string }[]
  readonly mandates: readonly MandateContent[]
  readonly budgets: readonly BudgetContent[]
  /** Limits whose counts are not the sums of their payments. */
  readonly limitFaults: readonly { readonly subjectId: string; readonly fault: string }[]
  readonly holds: readonly HoldContent[]
  readonly approvals: readonly ApprovalContent[]
  readonly versions: readonly VersionContent[]
  /** The stops of all mandates that are still in progress, where that is known. */
  readonly runningStops?: readonly string[] | undefined
  readonly transactions: readonly TransactionContent[]
  readonly events: readonly EventContent[]
  /** The number of denied proofs of each mandate in the ledger; undefined if it does not record them. */
  readonly denials?: readonly { readonly mandateId: string; readonly count: number }[] | undefined
  /** The nonces of proofs that an attempt has denied, where that is known: a rerun may have granted one of them. */
  readonly deniedNonces?: readonly string[] | undefined
  /** The journal and the console's sums of it; undefined if they were not read from one snapshot. */
  readonly activity?: ActivityContent | undefined
  /** Max difference between the clock of any service and the times of the calls. */
  readonly clockSkewMs?: number
}

export interface ActivityContent {
  readonly journal: readonly JournalContent[]
  readonly sums: readonly ActivitySumContent[]
  /** Who was paid under which mandates: `<account> <mandate> <domain>`. */
  readonly paidSellers: readonly string[]
}

export interface JournalContent {
  readonly accountId: string
  readonly environment: string
  readonly kind: string
  readonly mandateId: string | null
  readonly amountMicro: bigint
  readonly count: number
  readonly atMs: number
  /** The reason of a denial. */
  readonly reason: string | null
  /** The domain that was paid, or that was requested. */
  readonly domain: string | null
  /** For a payment, the payer and its category. */
  readonly agentId: string | null
  readonly category: string | null
  /** Whether it was paid to a seller of the account. */
  readonly isRevenue: boolean
}

export interface ActivitySumContent {
  readonly accountId: string
  readonly environment: string
  readonly dimension: string
  readonly subject: string
  readonly startsAtMs: number
  readonly paidCount: number
  readonly paidMicro: bigint
  readonly approvedCount: number
  readonly deniedCount: number
  readonly refundedCount: number
  readonly refundedMicro: bigint
}

export interface MandateContent {
  readonly id: string
  readonly agentId: string
  readonly status: MandateStatus
  readonly maxTotalMicro: bigint
  readonly maxPaymentMicro: bigint
  readonly spentMicro: bigint
  readonly heldMicro: bigint
  readonly authorizedMicro: bigint
  readonly version: number
  readonly approveAboveMicro: bigint | null
  /** The max of its lifetime limit. */
  readonly limitMicro: bigint | null
  readonly budgetId: string | null
}

export interface BudgetContent {
  readonly id: string
  readonly maxMicro: bigint
}

/** What a person was asked to decide. */
export interface ApprovalContent {
  readonly id: string
  readonly mandateId: string
  readonly status: string
  readonly requestedAtMs: number
  /** Null for an increase. */
  readonly amountMicro: bigint | null
  /** The payment that has used it. */
  readonly nonce: string | null
}

/** The terms of a mandate that was amended. */
export interface VersionContent {
  readonly mandateId: string
  readonly version: number
  readonly maxTotalMicro: bigint
  readonly maxPaymentMicro: bigint
}

export interface HoldContent {
  readonly nonce: string
  readonly mandateId: string
  readonly amountMicro: bigint
  readonly status: ProofStatus
  readonly issuedAtMs: number
  readonly expiresAtMs: number
  /** When it was committed, where that is known. */
  readonly writtenAtMs?: number | undefined
  /** When the release of its amount was committed, where that is known; Infinity: never. */
  readonly releasedAtMs?: number | undefined
  readonly transactionId: string | null
  /** The key that captured it, and with which idempotency key. */
  readonly capturedBy: string | null
  readonly idempotencyKey: string | null
  /** The key that authorized it, and with which idempotency key. */
  readonly authorizedBy: string | null
  readonly authorizationKey: string | null
  readonly captureDeadlineMs: number | null
  /** Null if all of it was captured, or nothing. */
  readonly capturedMicro: bigint | null
  readonly refundedMicro: bigint | null
  readonly orderId: string | null
  /** The shared budgets that it counts in. */
  readonly budgetPath: readonly string[] | null
  /** The version of the mandate that admitted it; null for the first one. */
  readonly mandateVersion: number | null
}

/** Whether refunds have given back all that was captured: then retries do not get the answer of the charge any more. */
export function isRefundedWhole({ amountMicro, capturedMicro, refundedMicro }: HoldContent): boolean {
  return (refundedMicro ?? 0n) >= (capturedMicro ?? amountMicro)
}

export interface TransactionContent {
  readonly id: string
  /** A payment between two accounts is recorded in both: the payee's row is a copy. */
  readonly side: 'payer' | 'payee'
  readonly isBetweenAccounts: boolean
  readonly status: string
  readonly mandateId: string
  readonly amountMicro: bigint
  readonly nonce: string | null
  readonly createdAtMs: number
  /** When it was committed, where that is known. */
  readonly writtenAtMs?: number | undefined
}

export interface EventContent {
  readonly type: string
  readonly subjectId: string
  /** The proof that a payment's event names. */
  readonly nonce: string | null
}

/** Everything that a run leaves to be checked. */
export interface Evidence {
  readonly calls: readonly Call[]
  readonly content: LedgerContent
}

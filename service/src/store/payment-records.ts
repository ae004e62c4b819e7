import { checkCollection } from '../domain/collection.ts'
import { normalizeHostName } from '../domain/host-name.ts'
import { checkPolicy, type PolicyDecision, type PolicyFacts } from '../domain/policy.ts'
import { validityWindowMs } from '../domain/proof.ts'
import type { AuditEvent, CollectedMandate, Hold, Mandate, RegisteredSeller } from '../domain/records.ts'
import { type HoldRow, type TransactionRow } from './rows.ts'
import type {
  Capture,
  CaptureAttempt,
  CaptureOutcome,
  LateAttempt,
  LateOutcome,
  ProofOutcome,
  ProposedTransaction,
  RequestKey,
} from './store.ts'

/** What a proof was issued for. */
type IssuedTerms = Pick<HoldRow, 'agent_id' | 'mandate_id' | 'amount_text' | 'currency' | 'resource_url'>

/** What of a hold the decision about a capture looks at. */
type CapturableHold = IssuedTerms &
  Pick<
    HoldRow,
    | 'account_id'
    | 'status'
    | 'expires_at_ms'
    | 'transaction_id'
    | 'captured_by'
    | 'merchant_domain'
    | 'idempotency_key'
  >

/** What a capture finds, read inside its transaction. */
export interface CaptureFacts<FoundHold, FoundMandate> {
  readonly hold: FoundHold | undefined
  readonly mandate: FoundMandate | undefined
  /** The seller registered under the merchant domain, whoever owns it. */
  readonly seller: RegisteredSeller | undefined
  /** Whether an account is disabled: the collector's and the payer's are asked about. */
  readonly isDisabled: (accountId: string) => boolean
}

/** What becomes of a capture: its outcome when nothing is to be written, else what is paid. */
export type CaptureDecision<FoundHold, FoundMandate> =
  | { readonly outcome: CaptureOutcome }
  | {
      readonly hold: FoundHold
      readonly mandate: FoundMandate
      /** The seller as the records of the payment name it: only when one of the parties owns it. */
      readonly seller: RegisteredSeller | undefined
    }

/** The decision about a proof, at the moment when it is issued; open holds count as spent. */
export function decideHold(hold: Hold, facts: PolicyFacts): PolicyDecision {
  const { amountText, amountMicro, issuedAtMs } = hold
  return checkPolicy(facts, { amountText, amountMicro, countHolds: true }, issuedAtMs)
}

/** The answer to a request for a proof whose key has made a hold before: that one, if the two ask for the same. */
export function decideRepeat(hold: Hold, first: Hold): ProofOutcome {
  const asksForTheSame =
    first.agentId === hold.agentId &&
    first.mandateId === hold.mandateId &&
    first.amountText === hold.amountText &&
    first.currency === hold.currency &&
    first.resourceUrl === hold.resourceUrl
  return asksForTheSame ? { decision: 'replayed', hold: first } : { decision: 'key_reused' }
}

/** The decision about an evaluation, at the moment when it is made. */
export function decideEvaluation(proposal: ProposedTransaction, facts: PolicyFacts): PolicyDecision {
  const { amountText, amountMicro, merchantDomain, category, createdAtMs } = proposal
  const seller = { merchantDomain, category }
  return checkPolicy(facts, { amountText, amountMicro, seller, countHolds: false }, createdAtMs)
}

/** The decision about a capture, the same in every store (steps 4 to 8 of a verification). */
export function decideCapture<FoundHold extends CapturableHold, FoundMandate extends CollectedMandate>(
  capture: Capture,
  { hold, mandate, seller, isDisabled }: CaptureFacts<FoundHold, FoundMandate>,
): CaptureDecision<FoundHold, FoundMandate> {
  if (isDisabled(capture.caller.accountId))
    return { outcome: { outcome: 'refused', code: 'invalid_api_key' } }
  // A signed proof without its hold comes from before the store was restored: nothing is held for it.
  if (!hold) return failed('proof_expired')
  // Signed with our secret, but not the proof that was issued: the secret has leaked.
  if (!isIssuedFor(hold, capture)) return failed('invalid_signature')
  if (!mandate) return failed('proof_expired')
  if (hold.transaction_id !== null && isRetry(hold, capture)) {
    return { outcome: { outcome: 'replayed', transactionId: hold.transaction_id } }
  }
  const refusal = checkCollection({
    caller: capture.caller,
    mandate,
    seller,
    merchantDomain: capture.merchantDomain,
    resourceUrl: hold.resource_url,
  })
  if (refusal) return { outcome: { outcome: 'refused', code: refusal } }
  if (hold.status === 'captured') return failed('nonce_reused') // 4
  if (hold.status !== 'open' || !(Number(hold.expires_at_ms) > capture.nowMs)) return failed('proof_expired')
  if (isDisabled(hold.account_id)) return failed('proof_expired')
  const parties = [{ accountId: hold.account_id }, capture.caller]
  return { hold, mandate, seller: visibleSeller(seller, parties) }
}

/** What becomes of a proof whose window is closed, and whether its hold is to be ended for that. */
export function decideLate(
  attempt: LateAttempt,
  hold:
    | (IssuedTerms &
        Pick<
          HoldRow,
          'status' | 'issued_at_ms' | 'transaction_id' | 'captured_by' | 'merchant_domain' | 'idempotency_key'
        >)
    | undefined,
): { readonly outcome: LateOutcome; readonly isEnded: boolean } {
  if (hold && !isIssuedFor(hold, attempt)) {
    return { outcome: { outcome: 'failed', reason: 'proof_expired' }, isEnded: false }
  }
  if (hold && hold.transaction_id !== null && isRetry(hold, attempt)) {
    return { outcome: { outcome: 'replayed', transactionId: hold.transaction_id }, isEnded: false }
  }
  // Of a proof that comes too early, by this service's clock, the hold is still to be captured.
  const isOver = hold !== undefined && attempt.nowMs > Number(hold.issued_at_ms) + validityWindowMs
  return {
    outcome: { outcome: 'failed', reason: 'proof_expired' },
    isEnded: isOver && hold.status === 'open',
  }
}

/** What becomes of a hold that somebody voids; undefined when it has ended already. */
export function decideVoid(
  hold: Pick<HoldRow, 'status' | 'expires_at_ms'>,
  nowMs: number,
): 'voided' | 'expired' | undefined {
  if (hold.status !== 'open') return undefined
  return Number(hold.expires_at_ms) > nowMs ? 'voided' : 'expired'
}

/** The event of a voided proof, with what the proof was for. */
export function eventOfVoid(event: AuditEvent, hold: HoldRow): AuditEvent {
  const { agent_id, mandate_id, amount_text: amount, currency } = hold
  return { ...event, data: { ...event.data, agent_id, mandate_id, amount, currency } }
}

/** Whether a proof says what its hold was made for. */
function isIssuedFor(hold: IssuedTerms, attempt: CaptureAttempt): boolean {
  return (
    hold.agent_id === attempt.agentId &&
    hold.mandate_id === attempt.mandateId &&
    hold.amount_text === attempt.amountText &&
    hold.currency === attempt.currency &&
    hold.resource_url === attempt.resourceUrl
  )
}

/** Whether the same key sends the same proof with the same idempotency key, for the same merchant. */
function isRetry(
  hold: Pick<HoldRow, 'captured_by' | 'idempotency_key' | 'merchant_domain'>,
  attempt: CaptureAttempt,
): boolean {
  return (
    attempt.idempotencyKey !== null &&
    hold.captured_by === attempt.caller.keyId &&
    hold.idempotency_key === attempt.idempotencyKey &&
    hold.merchant_domain === normalizeHostName(attempt.merchantDomain)
  )
}

/** What an evaluation found, beside its decision. */
export interface EvaluationFacts {
  /** The seller registered under the merchant domain, whoever owns it. */
  readonly seller: RegisteredSeller | undefined
  readonly mandate: Mandate | undefined
}

/** A hold that is granted, with what its mandate had spent and what other proofs held of it (check 9). */
export interface GrantedHold extends Hold {
  readonly spentBeforeMicro: bigint
  readonly heldBeforeMicro: bigint
  readonly requestKey?: RequestKey | undefined
}

export function grantHold(
  hold: Hold,
  { spentMicro, heldMicro }: Mandate,
  requestKey: RequestKey | undefined,
): GrantedHold {
  return { ...hold, spentBeforeMicro: spentMicro, heldBeforeMicro: heldMicro, requestKey }
}

/** The row of an evaluation with its outcome. */
export function recordOfEvaluation(
  proposal: ProposedTransaction,
  decision: PolicyDecision,
  { seller: registered, mandate }: EvaluationFacts,
): TransactionRow {
  const isApproved = decision.decision === 'approved'
  const seller = visibleSeller(registered, [proposal])
  return {
    account_id: proposal.accountId,
    id: proposal.id,
    environment: proposal.environment,
    side: 'payer',
    status: decision.decision,
    agent_id: beginningOf(proposal.agentId),
    mandate_id: beginningOf(proposal.mandateId),
    amount_text: proposal.amountText,
    amount_micro: proposal.amountMicro,
    currency: proposal.currency,
    resource_url: proposal.resourceUrl,
    merchant_domain: normalizeHostName(proposal.merchantDomain),
    seller_account_id: seller?.accountId ?? null,
    seller_id: seller?.id ?? null,
    category: proposal.category,
    reason_code: isApproved ? 'within_policy' : decision.code,
    reason_detail: isApproved ? null : decision.detail,
    nonce: null,
    created_at_ms: proposal.createdAtMs,
    failed_check: isApproved ? null : decision.check,
    spent_before_micro: mandate?.agentId === proposal.agentId ? mandate.spentMicro : null,
    collected_by: null,
  }
}

/** No id of ours is nearly as long, and of one that is not ours no more fits into every index (decision 62). */
const longestId = 255

function beginningOf(id: string): string {
  return id.length > longestId ? id.slice(0, longestId).toWellFormed() : id
}

function failed(reason: 'invalid_signature' | 'nonce_reused' | 'proof_expired'): {
  readonly outcome: CaptureOutcome
} {
  return { outcome: { outcome: 'failed', reason } }
}

/** The payer's row of a payment that was decided upon. The payee's is its copy, when that is another account. */
export function recordOfPayment(
  capture: Capture,
  hold: HoldRow,
  seller: RegisteredSeller | undefined,
): TransactionRow {
  return {
    account_id: hold.account_id,
    id: capture.transactionId,
    environment: hold.environment,
    side: 'payer',
    status: 'paid',
    agent_id: hold.agent_id,
    mandate_id: hold.mandate_id,
    amount_text: hold.amount_text,
    amount_micro: hold.amount_micro,
    currency: hold.currency,
    resource_url: hold.resource_url,
    merchant_domain: normalizeHostName(capture.merchantDomain),
    seller_account_id: seller?.accountId ?? null,
    seller_id: seller?.id ?? null,
    category: null,
    reason_code: null,
    reason_detail: null,
    nonce: hold.nonce,
    created_at_ms: capture.nowMs,
    failed_check: null,
    spent_before_micro: null,
    collected_by: capture.caller.keyId,
  }
}

/** The seller, if one of the parties owns it: a stranger's seller is nobody's business. */
export function visibleSeller(
  seller: RegisteredSeller | undefined,
  parties: readonly { readonly accountId: string }[],
): RegisteredSeller | undefined {
  return parties.some(({ accountId }) => accountId === seller?.accountId) ? seller : undefined
}

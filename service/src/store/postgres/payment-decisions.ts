import { normalizeHostName } from '../../domain/host-name.ts'
import type { MicroUsdc } from '../../domain/money.ts'
import type { PolicyDecision } from '../../domain/policy.ts'
import type { Hold, Mandate } from '../../domain/records.ts'
import {
  decideCapture,
  decideEvaluation,
  decideHold,
  decideLate,
  decideRepeat,
  grantHold,
  recordOfEvaluation,
  recordOfPayment,
  type GrantedHold,
} from '../payment-records.ts'
import type { HoldRow, TransactionRow } from '../rows.ts'
import type { CaptureOutcome, ProofOutcome, ProposedTransaction, RequestKey } from '../store.ts'
import {
  holdKey,
  holdOfCapture,
  requestOf,
  type BatchCalls,
  type BatchFacts,
  type LocatedAttempt,
  type LocatedCapture,
  type LocatedLateAttempt,
} from './batch-facts.ts'
import type { CapturedPayment, ExpiredHold } from './payment-statements.ts'

/** An act that moves money or asks whether it may. */
export type Payment =
  | { readonly kind: 'proof'; readonly hold: Hold; readonly requestKey?: RequestKey | undefined }
  | CapturePayment
  | { readonly kind: 'late'; readonly attempt: LocatedLateAttempt }
  | { readonly kind: 'evaluation'; readonly proposal: ProposedTransaction }

interface CapturePayment {
  readonly kind: 'capture'
  readonly capture: LocatedCapture
  /** Whether an earlier attempt may still be on its way, which captures the hold if it finds it as it was. */
  readonly mayBeUnderWay: boolean
  /** Whether the key has been revoked since: then only an earlier attempt can have captured. */
  readonly isKeyRevoked: boolean
}

export type PaymentOutcome = ProofOutcome | CaptureOutcome

/** The account whose money a payment moves. */
export function accountOf(payment: Payment): string {
  switch (payment.kind) {
    case 'proof':
      return payment.hold.accountId
    case 'capture':
      return payment.capture.accountId
    case 'late':
      return payment.attempt.accountId
    case 'evaluation':
      return payment.proposal.accountId
    default:
      return payment satisfies never
  }
}

/** The payments of a batch, by what they do. */
export function callsOf(payments: readonly Payment[]): BatchCalls {
  return {
    proofs: payments.flatMap((one) => (one.kind === 'proof' ? one.hold : [])),
    requests: payments.flatMap((one) =>
      one.kind === 'proof' && one.requestKey ? requestOf(one.hold, one.requestKey) : [],
    ),
    captures: payments.flatMap((one): LocatedAttempt[] => {
      if (one.kind === 'capture') return [one.capture]
      return one.kind === 'late' ? [one.attempt] : []
    }),
    evaluations: payments.flatMap((one) => (one.kind === 'evaluation' ? one.proposal : [])),
  }
}

/** What a batch writes. */
export interface BatchWrites {
  /** By the key of the hold. */
  readonly expired: Map<string, ExpiredHold>
  /** Holds that stay open, but that an earlier attempt, which may be on its way, must not find as they were. */
  readonly overtaken: HoldRow[]
  readonly granted: GrantedHold[]
  readonly captured: CapturedPayment[]
  readonly evaluated: TransactionRow[]
}

/** The ids of the transactions that a batch records, by the account in which they stand. */
export function recordedBy({
  captured,
  evaluated,
}: Pick<BatchWrites, 'captured' | 'evaluated'>): Map<string, string[]> {
  const recorded = new Map<string, string[]>()
  function add(accountId: string, id: string): void {
    const ids = recorded.get(accountId)
    if (ids) ids.push(id)
    else recorded.set(accountId, [id])
  }
  for (const row of evaluated) add(row.account_id, row.id)
  for (const { payer } of captured) {
    add(payer.account_id, payer.id)
    const payee = payer.seller_account_id
    if (payee !== null && payee !== payer.account_id) add(payee, payer.id)
  }
  return recorded
}

/** Decides payments one after the other, each on what those before it leave. */
export function decidePayments(
  payments: readonly Payment[],
  facts: BatchFacts,
): { readonly outcomes: PaymentOutcome[]; readonly writes: BatchWrites } {
  const writes: BatchWrites = { expired: new Map(), overtaken: [], granted: [], captured: [], evaluated: [] }
  return { outcomes: payments.map((payment) => decide(payment, facts, writes)), writes }
}

function decide(payment: Payment, facts: BatchFacts, writes: BatchWrites): PaymentOutcome {
  switch (payment.kind) {
    case 'proof':
      return issueProof(payment, facts, writes)
    case 'capture':
      return capture(payment, facts, writes)
    case 'late':
      return endLate(payment.attempt, facts, writes)
    case 'evaluation':
      return evaluate(payment.proposal, facts, writes)
    default:
      return payment satisfies never
  }
}

function issueProof(
  { hold, requestKey }: Payment & { readonly kind: 'proof' },
  facts: BatchFacts,
  writes: BatchWrites,
): ProofOutcome {
  // Granted by an earlier attempt, whose answer was lost.
  if (facts.holdOf(hold)) return { decision: 'approved' }
  const request = requestKey && requestOf(hold, requestKey)
  const first = request && facts.requestedBefore(request)
  if (first) return decideRepeat(hold, first)
  releaseExpired(hold, facts, writes)
  const mandate = facts.mandateOf(hold)
  const decision = decideHold(hold, { agent: facts.agentOf(hold), mandate })
  if (decision.decision === 'denied' || !mandate) return decision
  writes.granted.push(grantHold(hold, mandate, requestKey))
  if (request) facts.addRequested(request, hold)
  changeSums(facts, mandate, { heldMicro: hold.amountMicro })
  return decision
}

function releaseExpired(hold: Hold, facts: BatchFacts, writes: BatchWrites): void {
  // A mandate of the other environment is not there for this proof, which therefore gives nothing back to it.
  if (!facts.mandateOf(hold)) return
  for (const one of facts.expiredOf(hold.mandateId)) {
    const key = holdKey(one)
    if (one.account_id !== hold.accountId || writes.expired.has(key)) continue
    if (Number(one.expires_at_ms) > hold.issuedAtMs) continue
    if (writes.captured.some(({ hold: captured }) => holdKey(captured) === key)) continue
    expire(one, facts.mandateOf(hold), { facts, writes })
  }
}

/** Ends a hold, and gives its amount back to its mandate. */
function expire(
  hold: ExpiredHold,
  mandate: Mandate | undefined,
  { facts, writes }: { readonly facts: BatchFacts; readonly writes: BatchWrites },
): void {
  writes.expired.set(holdKey(hold), hold)
  if (mandate) changeSums(facts, mandate, { heldMicro: -BigInt(hold.amount_micro) })
}

function capture(
  { capture: call, mayBeUnderWay, isKeyRevoked }: CapturePayment,
  facts: BatchFacts,
  writes: BatchWrites,
): CaptureOutcome {
  const { transactionId } = call
  const found = facts.holdOf(holdOfCapture(call))
  // Captured by an earlier attempt, whose answer was lost.
  if (found?.transaction_id === transactionId) return { outcome: 'captured', transactionId }
  const merchantDomain = normalizeHostName(call.merchantDomain)
  const hold = found && writes.expired.has(holdKey(found)) ? { ...found, status: 'expired' as const } : found
  const decision = isKeyRevoked
    ? { outcome: { outcome: 'refused', code: 'invalid_api_key' } as const }
    : decideCapture(call, {
        hold,
        mandate: hold && facts.collectedMandateOf(hold),
        seller: facts.sellerOf(call.caller.environment, merchantDomain),
        isDisabled: (accountId) => facts.isDisabled(accountId),
      })
  if ('outcome' in decision) {
    if (mayBeUnderWay && hold?.status === 'open') writes.overtaken.push(hold)
    return decision.outcome
  }
  writes.captured.push({
    capture: call,
    hold: decision.hold,
    merchantDomain,
    payer: recordOfPayment(call, decision.hold, decision.seller),
  })
  facts.replaceHold({
    ...decision.hold,
    status: 'captured',
    transaction_id: transactionId,
    captured_by: call.caller.keyId,
    merchant_domain: merchantDomain,
    idempotency_key: call.idempotencyKey,
  })
  const mandate = mandateOf(decision.hold, facts)
  if (mandate) {
    const amountMicro = BigInt(decision.hold.amount_micro)
    changeSums(facts, mandate, { spentMicro: amountMicro, heldMicro: -amountMicro })
  }
  return { outcome: 'captured', transactionId }
}

function endLate(attempt: LocatedLateAttempt, facts: BatchFacts, writes: BatchWrites): CaptureOutcome {
  const hold = facts.holdOf(holdOfCapture(attempt))
  const { outcome, isEnded } = decideLate(attempt, hold)
  if (isEnded && hold && !writes.expired.has(holdKey(hold))) {
    expire(hold, mandateOf(hold, facts), { facts, writes })
  }
  return outcome
}

function evaluate(proposal: ProposedTransaction, facts: BatchFacts, writes: BatchWrites): PolicyDecision {
  const recorded = facts.recordOf(proposal)
  if (recorded) return recordedDecision(recorded)
  const mandate = facts.mandateOf(proposal)
  const decision = decideEvaluation(proposal, { agent: facts.agentOf(proposal), mandate })
  const seller = facts.sellerOf(proposal.environment, normalizeHostName(proposal.merchantDomain))
  writes.evaluated.push(recordOfEvaluation(proposal, decision, { seller, mandate }))
  return decision
}

/** What an earlier attempt decided, whose answer was lost. */
function recordedDecision(row: TransactionRow): PolicyDecision {
  const { reason_code: code, reason_detail: detail, failed_check: check } = row
  if (code === null || code === 'within_policy') return { decision: 'approved' }
  return { decision: 'denied', code, detail: detail ?? '', check: Number(check) }
}

/** The mandate of a hold, where a call of the batch looks at it. */
function mandateOf(hold: HoldRow, facts: BatchFacts): Mandate | undefined {
  const { account_id: accountId, environment, agent_id: agentId, mandate_id: mandateId } = hold
  return facts.mandateOf({ accountId, environment, agentId, mandateId })
}

/** Lets the calls after this one see what it moved. */
function changeSums(
  facts: BatchFacts,
  mandate: Mandate,
  { spentMicro = 0n, heldMicro = 0n }: { readonly spentMicro?: bigint; readonly heldMicro?: bigint },
): void {
  facts.replaceMandate({
    ...mandate,
    spentMicro: (mandate.spentMicro + spentMicro) as MicroUsdc,
    heldMicro: (mandate.heldMicro + heldMicro) as MicroUsdc,
  })
}

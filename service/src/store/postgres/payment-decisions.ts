import { normalizeHostName } from '../../domain/host-name.ts'
import type { MicroUsdc } from '../../domain/money.ts'
import type { PolicyDecision } from '../../domain/policy.ts'
import type { Hold, Mandate } from '../../domain/records.ts'
import {
  decideCapture,
  decideEvaluation,
  decideHold,
  grantHold,
  recordOfEvaluation,
  recordOfPayment,
  type GrantedHold,
} from '../payment-records.ts'
import type { TransactionRow } from '../rows.ts'
import type { CaptureOutcome, ProposedTransaction } from '../store.ts'
import {
  holdKey,
  holdOfCapture,
  type BatchCalls,
  type BatchFacts,
  type LocatedCapture,
} from './batch-facts.ts'
import type { CapturedPayment, ExpiredHold } from './payment-statements.ts'

/** An act that moves money or asks whether it may. */
export type Payment =
  | { readonly kind: 'proof'; readonly hold: Hold }
  | { readonly kind: 'capture'; readonly capture: LocatedCapture }
  | { readonly kind: 'evaluation'; readonly proposal: ProposedTransaction }

export type PaymentOutcome = PolicyDecision | CaptureOutcome

/** The account whose money a payment moves. */
export function accountOf(payment: Payment): string {
  switch (payment.kind) {
    case 'proof':
      return payment.hold.accountId
    case 'capture':
      return payment.capture.accountId
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
    captures: payments.flatMap((one) => (one.kind === 'capture' ? one.capture : [])),
    evaluations: payments.flatMap((one) => (one.kind === 'evaluation' ? one.proposal : [])),
  }
}

/** What a batch writes. */
export interface BatchWrites {
  /** By the key of the hold. */
  readonly expired: Map<string, ExpiredHold>
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
  const writes: BatchWrites = { expired: new Map(), granted: [], captured: [], evaluated: [] }
  return { outcomes: payments.map((payment) => decide(payment, facts, writes)), writes }
}

function decide(payment: Payment, facts: BatchFacts, writes: BatchWrites): PaymentOutcome {
  switch (payment.kind) {
    case 'proof':
      return issueProof(payment.hold, facts, writes)
    case 'capture':
      return capture(payment.capture, facts, writes)
    case 'evaluation':
      return evaluate(payment.proposal, facts, writes)
    default:
      return payment satisfies never
  }
}

function issueProof(hold: Hold, facts: BatchFacts, writes: BatchWrites): PolicyDecision {
  // Granted by an earlier attempt, whose answer was lost.
  if (facts.holdOf(hold)) return { decision: 'approved' }
  releaseExpired(hold, facts, writes)
  const mandate = facts.mandateOf(hold)
  const decision = decideHold(hold, { agent: facts.agentOf(hold), mandate })
  if (decision.decision === 'denied' || !mandate) return decision
  writes.granted.push(grantHold(hold, mandate))
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
    writes.expired.set(key, one)
    const mandate = facts.mandateOf(hold)
    if (mandate) changeSums(facts, mandate, { heldMicro: -BigInt(one.amount_micro) })
  }
}

function capture(call: LocatedCapture, facts: BatchFacts, writes: BatchWrites): CaptureOutcome {
  const { transactionId } = call
  const found = facts.holdOf(holdOfCapture(call))
  // Captured by an earlier attempt, whose answer was lost.
  if (found?.transaction_id === transactionId) return { outcome: 'captured', transactionId }
  const merchantDomain = normalizeHostName(call.merchantDomain)
  const hold = found && writes.expired.has(holdKey(found)) ? { ...found, status: 'expired' as const } : found
  const decision = decideCapture(call, {
    hold,
    mandate: hold && facts.collectedMandateOf(hold),
    seller: facts.sellerOf(call.caller.environment, merchantDomain),
  })
  if ('outcome' in decision) return decision.outcome
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
  const { account_id: accountId, environment, agent_id: agentId, mandate_id: mandateId } = decision.hold
  const mandate = facts.mandateOf({ accountId, environment, agentId, mandateId })
  if (mandate) {
    const amountMicro = BigInt(decision.hold.amount_micro)
    changeSums(facts, mandate, { spentMicro: amountMicro, heldMicro: -amountMicro })
  }
  return { outcome: 'captured', transactionId }
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

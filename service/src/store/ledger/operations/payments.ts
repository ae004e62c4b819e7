import { auditEvent, systemActor } from '../../../domain/audit.ts'
import { exceededLimits, type ExceededLimit } from '../../../domain/limits.ts'
import { addMicro, subtractMicro } from '../../../domain/money.ts'
import { checkPolicy } from '../../../domain/policy.ts'
import { metadataText, type AuditEvent, type Hold, type OptionalFacts } from '../../../domain/records.ts'
import { idOfNonce } from '../../../domain/type-id.ts'
import type { ProofOutcome, RequestKey } from '../../store.ts'
import { lock, look, operation, put, unchanged, type Change, type Facts } from '../operation.ts'
import {
  agents,
  auditEvents,
  evaluations,
  mandates,
  orders,
  payments,
  proofRequests,
  type AgentRow,
  type EvaluationRow,
  type MandateRow,
  type PaymentRow,
} from '../tables.ts'
import {
  approvalGate,
  askForApproval,
  changesOfIssue,
  findApproval,
  sellerReads,
  type Asked,
  type AskingCall,
} from './approvals.ts'
import {
  bookingReads,
  Bookings,
  countsInTooMany,
  isCounted,
  isEndedByBudget,
  statusToCharge,
  type Booking,
} from './bookings.ts'
import { closeMinute, denialCountId, denialId, recordDenial, type Denial } from './denials.ts'
import { decisionOf } from './evaluation-rows.ts'
import { endPayment, endPayments, releaseExpired } from './ended-payments.ts'
import { committedOf, isIssuedFor, statusOf } from './payment-rows.ts'

/** A request for a proof. */
export interface ProofCall extends AskingCall {
  readonly requestKey?: RequestKey | undefined
}

/** With `isStray`, a denial that no mandate of the agent counts: `recordStrayDenial` records it. */
export type IssueOutcome =
  | Exclude<ProofOutcome, Denial>
  | (Denial & Partial<Pick<Asked, 'approval'>> & { readonly isStray: boolean })

/** Records a denial if the policy does not approve the proof. */
export const issueProof = operation<ProofCall, IssueOutcome>('issueProof', {
  reads(call) {
    const { hold } = call
    const { accountId, agentId, mandateId } = hold
    const [request, order] = [requestOf(call), orderOf(hold)]
    return [
      look(agents, { accountId, id: agentId }),
      lock(mandates, { accountId, id: mandateId }),
      ...(request ? [look(proofRequests, request)] : []),
      ...(order ? [look(orders, order)] : []),
    ]
  },

  decide(call, facts) {
    const { hold } = call
    if (facts.written(payments, hold)) return unchanged({ decision: 'approved' })
    const denied = facts.written(evaluations, denialOf(hold))
    if (denied) return unchanged(denyAgain(call, denied, facts))
    const request = requestOf(call)
    const asked = request && facts.row(proofRequests, request)
    const first = asked && facts.row(payments, asked)
    if (first) return unchanged(answerAgain(hold, first, facts))
    const found = facts.row(mandates, { accountId: hold.accountId, id: hold.mandateId })
    const agent = agentOf(hold, facts)
    if (found) readFirst(call, found, agent, facts)
    const ordered = found && answerToOrder(hold, found, facts)
    if (ordered) return { outcome: ordered, changes: request ? keyOfOrder(request, hold, ordered) : [] }
    const bookings = found?.environment === hold.environment ? new Bookings(found, facts) : undefined
    if (bookings) {
      const ends = mustEnd(bookings.mandate, hold, facts)
      if (ends === 'all') endPayments(bookings, facts, hold.issuedAtMs)
      if (ends === 'expired') releaseExpired(bookings, facts, hold.issuedAtMs)
      endOverdue(hold, bookings, facts)
    }
    const mandate = bookings?.mandate
    const limits = bookings?.limitFacts({ ...hold, nowMs: hold.issuedAtMs }, agent)
    const gate = mandate && approvalGate(call, { mandate, agent, limits }, facts)
    const decision = checkPolicy(
      { agent, mandate, limits, approval: gate },
      { ...hold, countHolds: true },
      hold.issuedAtMs,
    )
    if (decision.decision === 'denied') {
      // Another agent's requests do not count as denials of the mandate.
      if (!bookings || mandate?.agentId !== hold.agentId) return unchanged({ ...decision, isStray: true })
      const asked = decision.reason && askForApproval(call, mandate, decision.reason, facts)
      const denial = asked ? withRemark(decision, asked) : decision
      const recorded = recordDenial(mandate, { hold, denial, agent }, facts)
      bookings.mandate = recorded.count
      return {
        outcome: { ...denial, isStray: false },
        changes: [...recorded.changes, ...bookings.changes, ...(asked?.changes ?? [])],
      }
    }
    if (!bookings || !mandate) throw new Error('the policy approves nothing without a mandate')
    const closed = closeMinute(mandate, hold.issuedAtMs, () => denialCountId(hold))
    bookings.mandate = closed.count
    const booking = bookings.hold(hold, agent)
    const reported = bookings.report(decision.exceeded ?? [], booking.bookedAtMs ?? hold.issuedAtMs)
    const changes: Change[] = [
      ...closed.changes,
      ...bookings.changes,
      put(payments, paymentOf(hold, mandate, booking)),
      ...reported.map((limit, index) => put(auditEvents, exceededEvent(hold, limit, index))),
    ]
    const order = orderOf(hold)
    if (order) changes.push(put(orders, { ...order, nonce: hold.nonce }))
    if (gate) changes.push(...changesOfIssue(call, mandate, gate, facts))
    if (request) changes.push(keyOf(request, hold.nonce, hold))
    return { outcome: { decision: 'approved' }, changes }
  },
})

/** Reads, in one step, what the order, the limits and the approval of a payment depend on. */
function readFirst(call: ProofCall, mandate: MandateRow, agent: AgentRow | undefined, facts: Facts): void {
  const { hold } = call
  const order = orderOf(hold)
  const latest = order && facts.row(orders, order)
  facts.read([
    ...(latest ? [look(payments, latest)] : []),
    ...bookingReads(mandate, [], { agent, resourceUrl: hold.resourceUrl }),
    ...sellerReads(mandate, hold),
  ])
}

/** The denial of a payment that a person must approve. */
function withRemark(denial: Denial, { approval, remark }: Asked): Denial & Pick<Asked, 'approval'> {
  return { ...denial, detail: `${denial.detail} ${remark}`, approval }
}

/** The denial recorded by an earlier attempt, with the approval that it requested. */
function denyAgain(call: ProofCall, recorded: EvaluationRow, facts: Facts): IssueOutcome {
  const denial = decisionOf(recorded) as Denial
  const { accountId, mandateId } = call.hold
  const mandate = facts.row(mandates, { accountId, id: mandateId })
  if (denial.code !== 'approval_required' || !mandate) return { ...denial, isStray: false }
  return { ...denial, approval: findApproval(call, mandate, facts), isStray: false }
}

function denialOf(hold: Hold) {
  return { accountId: hold.accountId, id: denialId(hold) }
}

function requestOf({ hold, requestKey }: ProofCall) {
  if (!requestKey) return undefined
  const { accountId, environment } = hold
  return { accountId, environment, callerId: requestKey.callerId, requestKey: requestKey.idempotencyKey }
}

type Request = NonNullable<ReturnType<typeof requestOf>>

/** Records which payment the key of a request has got. */
function keyOf(request: Request, nonce: string, { issuedAtMs: createdAtMs }: Hold): Change {
  return put(proofRequests, { ...request, nonce, createdAtMs })
}

/** Records that a key has got the payment of its order, unless the requests differ in what an order does not compare. */
function keyOfOrder(request: Request, hold: Hold, ordered: IssueOutcome): readonly Change[] {
  const isSame = ordered.decision === 'replayed' && isNotedLike(ordered.hold, hold)
  return isSame ? [keyOf(request, ordered.hold.nonce, hold)] : []
}

function orderOf({ accountId, mandateId, orderId }: Hold) {
  return orderId === null ? undefined : { accountId, mandateId, orderId }
}

/**
 * The response to a request for an order that has a payment: that payment while it is open or authorized. Undefined if the
 * order has none, or its payment has ended without a charge.
 */
function answerToOrder(hold: Hold, mandate: MandateRow, facts: Facts): IssueOutcome | undefined {
  const payment = latestOfOrder(hold, facts)
  if (!payment) return undefined
  const status = statusForOrder(payment, mandate, hold, facts)
  if (status === 'captured') return { decision: 'order_already_paid' }
  if (status !== 'open' && status !== 'authorized') return undefined
  if (!isIssuedFor(payment, hold)) return { decision: 'order_mismatch' }
  return { decision: 'replayed', hold: { ...payment, status } }
}

/** The last payment of an order. Another agent or environment gets the policy's answer. */
function latestOfOrder(hold: Hold, facts: Facts): PaymentRow | undefined {
  const order = orderOf(hold)
  const latest = order && facts.row(orders, order)
  const payment = latest && facts.row(payments, latest)
  return payment?.agentId === hold.agentId && payment.environment === hold.environment ? payment : undefined
}

/** The status of an order's payment. */
function statusForOrder(payment: PaymentRow, mandate: MandateRow, hold: Hold, facts: Facts) {
  return statusToCharge(payment, mandate, agentOf(hold, facts), hold.issuedAtMs, facts)
}

/**
 * Ends the last payment of an order, if its time is over and it has not been ended: it must end before the order gets another
 * proof, since a process with a slower clock could still charge it.
 */
function endOverdue(hold: Hold, bookings: Bookings, facts: Facts): void {
  const payment = latestOfOrder(hold, facts)
  if (payment?.status !== 'open' && payment?.status !== 'authorized') return
  if (statusForOrder(payment, bookings.mandate, hold, facts) !== 'expired') return
  const isReleased = bookings.changes.some(
    ({ table, row }) => table === payments && row['nonce'] === payment.nonce,
  )
  if (!isReleased) endPayment(bookings, payment, 'expired', facts)
}

/**
 * The response to a request whose idempotency key has already made a payment: that payment, if the requests are
 * equal.
 */
function answerAgain(hold: Hold, first: PaymentRow, facts: Facts): IssueOutcome {
  const isSame = isIssuedFor(first, hold) && isNotedLike(first, hold) && first.orderId === hold.orderId
  if (!isSame) return { decision: 'key_reused' }
  const mandate = facts.row(mandates, { accountId: first.accountId, id: first.mandateId })
  const status = mandate ? statusOf(first, mandate, hold.issuedAtMs) : first.status
  return { decision: 'replayed', hold: { ...first, status } }
}

function paymentOf(hold: Hold, mandate: MandateRow, booking: Booking): PaymentRow {
  const { nonce, amountText, amountMicro, resourceUrl } = hold
  return {
    // Keeps the texts that many payments share in memory only once.
    accountId: mandate.accountId,
    nonce,
    environment: mandate.environment,
    agentId: mandate.agentId,
    mandateId: mandate.id,
    amountText,
    amountMicro,
    currency: mandate.currency,
    resourceUrl,
    status: 'open',
    epoch: mandate.epoch,
    issuedAtMs: hold.issuedAtMs,
    expiresAtMs: hold.expiresAtMs,
    spentBeforeMicro: mandate.spentMicro,
    // Authorized amounts are held too.
    heldBeforeMicro: addMicro(mandate.heldMicro, mandate.authorizedMicro),
    transactionId: null,
    capturedBy: null,
    capturedAtMs: null,
    merchantDomain: null,
    idempotencyKey: null,
    sellerAccountId: null,
    sellerId: null,
    capturedMicro: null,
    refundedMicro: null,
    authorizedBy: null,
    authorizationKey: null,
    captureDeadlineMs: null,
    orderId: hold.orderId,
    ...booking,
    mandateVersion: mandate.version === 1 ? null : mandate.version,
    category: hold.category,
    metadata: hold.metadata,
  }
}

/** Whether two requests for a proof agree in what the proof does not contain. */
function isNotedLike(payment: OptionalFacts, hold: OptionalFacts): boolean {
  return payment.category === hold.category && metadataText(payment.metadata) === metadataText(hold.metadata)
}

/** The event of a limit that a payment exceeds without being denied. Its id is derived from the nonce. */
function exceededEvent(hold: Hold, limit: ExceededLimit, index: number): AuditEvent {
  return auditEvent(systemActor, hold, {
    id: idOfNonce('auditEvent', hold.nonce, { byte: 14, bits: index + 1 }),
    type: 'limit.exceeded',
    subjectId: limit.scopeId,
    data: {
      limit_id: limit.id,
      mandate_id: hold.mandateId,
      agent_id: hold.agentId,
      nonce: hold.nonce,
      amount: hold.amountText,
      unit: limit.unit,
      committed: limit.committed,
      max: limit.max,
    },
    atMs: hold.issuedAtMs,
  })
}

/**
 * Which open payments of the mandate must end before a new one is decided: all, if a shared budget has ended
 * them or they count in too many; expired ones, if the budget needs their amounts.
 */
function mustEnd(mandate: MandateRow, hold: Hold, facts: Facts): 'all' | 'expired' | 'nothing' {
  if (isEndedByBudget(mandate, facts) || countsInTooMany(mandate)) return 'all'
  const hasRoom = hold.amountMicro <= subtractMicro(mandate.maxTotalMicro, committedOf(mandate))
  if (!hasRoom) return 'expired'
  const agent = agentOf(hold, facts)
  if (!isCounted(mandate, agent)) return 'nothing'
  const limits = new Bookings(mandate, facts).limitFacts({ ...hold, nowMs: hold.issuedAtMs }, agent)
  return limits && exceededLimits(limits, mandate.id, hold.amountMicro).length > 0 ? 'expired' : 'nothing'
}

function agentOf(
  { accountId, environment, agentId }: Pick<Hold, 'accountId' | 'environment' | 'agentId'>,
  facts: Facts,
) {
  const agent = facts.row(agents, { accountId, id: agentId })
  return agent?.environment === environment ? agent : undefined
}

import { checkCollection, type CollectionRefusal } from '../../../domain/collection.ts'
import { normalizeHostName } from '../../../domain/host-name.ts'
import { addMicro, subtractMicro } from '../../../domain/money.ts'
import { exceededLimits } from '../../../domain/limits.ts'
import { checkPolicy } from '../../../domain/policy.ts'
import { validityWindowMs } from '../../../domain/proof.ts'
import type { Caller, Hold, RegisteredSeller } from '../../../domain/records.ts'
import type {
  CaptureOutcome,
  LateOutcome,
  ProofOutcome,
  ProposedTransaction,
  RequestKey,
} from '../../store.ts'
import {
  lock,
  look,
  put,
  unchanged,
  type Change,
  type Facts,
  type Operation,
  type Read,
} from '../operation.ts'
import {
  accounts,
  agents,
  apiKeys,
  entries,
  evaluations,
  mandates,
  payments,
  proofRequests,
  sellerDomains,
  type MandateRow,
  type PaymentRow,
} from '../tables.ts'
import { bookingReads, Bookings, captureReads, isCounted, isEndedByBudget, type Booking } from './bookings.ts'
import { closeMinuteOf, denialCountId, denialId, recordDenial, type Denial } from './denials.ts'
import { decisionOf } from './evaluation-rows.ts'
import { endPayments, expiredReads, releaseExpired } from './ended-payments.ts'
import { statusOf } from './payment-rows.ts'

/** A request for a proof. */
export interface ProofCall {
  readonly hold: Hold
  readonly requestKey?: RequestKey | undefined
}

/** With `isStray`, a denial that no mandate counts: `recordStrayDenial` records it. */
export type IssueOutcome = Exclude<ProofOutcome, Denial> | (Denial & { readonly isStray: boolean })

/** Issues a proof: holds its amount if the policy approves, otherwise records a denial. */
export const issueProof: Operation<ProofCall, IssueOutcome> = {
  name: 'issueProof',

  reads(call, facts) {
    const { hold } = call
    const request = requestOf(call)
    const reads: Read[] = [
      look(agents, { accountId: hold.accountId, id: hold.agentId }),
      lock(mandates, { accountId: hold.accountId, id: hold.mandateId }),
    ]
    if (facts.isRerun) reads.push(look(payments, hold), look(evaluations, denialOf(hold)))
    if (request) reads.push(look(proofRequests, request))
    if (request && facts.knows(look(proofRequests, request))) {
      const first = facts.row(proofRequests, request)
      if (first) reads.push(look(payments, first))
    }
    const mandate = knownMandate(hold, facts)
    if (!mandate) return reads
    const agent = agentOf(hold, facts)
    const counted = bookingReads(mandate, [], { agent, resourceUrl: hold.resourceUrl })
    reads.push(...counted)
    // Expired payments are read only if they matter: most budgets have room without them.
    if (counted.every((read) => facts.knows(read)) && mustEnd(mandate, hold, facts) !== 'nothing')
      reads.push(...expiredReads(mandate, hold.issuedAtMs, facts))
    return reads
  },

  decide(call, facts) {
    const { hold } = call
    // Issued by an earlier attempt, whose reply was lost.
    if (facts.isRerun && facts.row(payments, hold)) return unchanged({ decision: 'approved' })
    const denied = facts.isRerun && facts.row(evaluations, denialOf(hold))
    if (denied) return unchanged({ ...decisionOf(denied), isStray: false } as IssueOutcome)
    const request = requestOf(call)
    const asked = request && facts.row(proofRequests, request)
    const first = asked && facts.row(payments, asked)
    if (first) return unchanged(answerAgain(hold, first, facts))
    const found = facts.row(mandates, { accountId: hold.accountId, id: hold.mandateId })
    const changes: Change[] = []
    const agent = agentOf(hold, facts)
    const bookings = found?.environment === hold.environment ? new Bookings(found, facts) : undefined
    if (bookings) {
      const ends = mustEnd(bookings.mandate, hold, facts)
      if (ends === 'all') changes.push(...endPayments(bookings, facts, hold.issuedAtMs).changes)
      if (ends === 'expired') changes.push(...releaseExpired(bookings, facts, hold.issuedAtMs).changes)
    }
    const mandate = bookings?.mandate
    const decision = checkPolicy(
      { agent, mandate, limits: bookings?.limitFacts({ ...hold, nowMs: hold.issuedAtMs }, agent) },
      { amountText: hold.amountText, amountMicro: hold.amountMicro, countHolds: true },
      hold.issuedAtMs,
    )
    if (decision.decision === 'denied') {
      if (!bookings || !mandate) return { outcome: { ...decision, isStray: true }, changes }
      const lookedAt = mandate.agentId === hold.agentId ? mandate : undefined
      const counted = { ...hold, mandate }
      const denied = { hold, denial: decision, mandate: lookedAt }
      const recorded = recordDenial(mandate, counted, denied, facts)
      bookings.mandate = recorded.count
      return {
        outcome: { ...decision, isStray: false },
        changes: [...changes, ...recorded.changes, ...bookings.changes],
      }
    }
    if (!bookings || !mandate) throw new Error('the policy approves nothing without a mandate')
    const closed = closeMinuteOf(mandate, hold.issuedAtMs, () => denialCountId(hold))
    bookings.mandate = closed.count
    const booking = bookings.hold(hold, agent)
    changes.push(...closed.changes, ...bookings.changes, put(payments, paymentOf(hold, mandate, booking)))
    if (request) {
      changes.push(put(proofRequests, { ...request, nonce: hold.nonce, createdAtMs: hold.issuedAtMs }))
    }
    return { outcome: decision, changes }
  },
}

/** What a merchant sends: the proof as read from `X-Payment-Proof`, and its payee. */
export interface CaptureCall {
  /** The account that owns the mandate. */
  readonly payerId: string
  readonly caller: Caller
  readonly nonce: string
  readonly agentId: string
  readonly mandateId: string
  readonly amountText: string
  readonly currency: string
  readonly resourceUrl: string
  readonly merchantDomain: string
  readonly idempotencyKey: string | null
  readonly transactionId: string
  readonly nowMs: number
}

/** Captures a payment once: steps 4 to 8 of a verification. */
export const capture: Operation<CaptureCall, CaptureOutcome> = {
  name: 'capture',

  reads: readsOfCapture,

  decide(call, facts) {
    const { payerId, caller, nowMs } = call
    const payment = knownPayment(call, facts)
    // Captured by an earlier attempt, whose reply was lost, whatever has changed since.
    if (payment?.transactionId === call.transactionId) {
      return unchanged({ outcome: 'captured', transactionId: call.transactionId })
    }
    if (isDisabled(caller.accountId, facts) || isRevoked(caller, facts)) {
      return unchanged({ outcome: 'refused', code: 'invalid_api_key' })
    }
    // A signed proof without a payment was issued before the ledger was restored: nothing is held for it.
    if (!payment) return unchanged(failed('proof_expired'))
    // Signed with our secret, but not the issued proof: the secret has leaked.
    if (!isIssuedFor(payment, call)) return unchanged(failed('invalid_signature'))
    const mandate = facts.row(mandates, { accountId: payerId, id: call.mandateId })
    if (!mandate) return unchanged(failed('proof_expired'))
    if (payment.transactionId !== null && isRetry(payment, call)) {
      return unchanged({ outcome: 'replayed', transactionId: payment.transactionId })
    }
    const seller = sellerOf(call, facts)
    const { merchantDomain, resourceUrl } = call
    const refusal = checkCollection({ caller, mandate, seller, merchantDomain, resourceUrl })
    if (refusal) return unchanged(refused(refusal))
    const isEnded = payment.status === 'open' && isEndedByBudget(mandate, facts)
    const status = isEnded ? 'voided' : statusOf(payment, mandate, nowMs)
    if (status === 'captured') return unchanged(failed('nonce_reused')) // 4
    const agent = facts.row(agents, { accountId: payerId, id: call.agentId })
    if (status !== 'open' || agent?.status !== 'active' || isDisabled(payerId, facts)) {
      return unchanged(failed('proof_expired'))
    }
    return {
      outcome: { outcome: 'captured', transactionId: call.transactionId },
      changes: changesOfCapture(call, {
        payment,
        bookings: new Bookings(mandate, facts),
        seller: visibleSeller(seller, [payerId, caller.accountId]),
      }),
    }
  },
}

/** A verification after the proof's window: reports the outcome, and ends the payment if it is still open. */
export const settleLate: Operation<Omit<CaptureCall, 'transactionId'>, LateOutcome> = {
  name: 'settleLate',

  reads: ({ payerId, caller, mandateId, nonce }, facts) => [
    look(accounts, { id: caller.accountId }),
    look(apiKeys, keyOf(caller)),
    lock(mandates, { accountId: payerId, id: mandateId }),
    look(payments, { accountId: payerId, nonce }),
    ...readsOfKnown({ payerId, mandateId, nonce }, facts, (mandate, payment) =>
      bookingReads(mandate, [payment]),
    ),
  ],

  decide(call, facts) {
    const expired = { outcome: 'failed', reason: 'proof_expired' } as const
    const payment = knownPayment(call, facts)
    if (!payment || !isIssuedFor(payment, call)) return unchanged(expired)
    if (isDisabled(call.caller.accountId, facts) || isRevoked(call.caller, facts)) return unchanged(expired)
    if (payment.transactionId !== null && isRetry(payment, call)) {
      return unchanged({ outcome: 'replayed', transactionId: payment.transactionId })
    }
    const mandate = facts.row(mandates, { accountId: call.payerId, id: call.mandateId })
    // If the proof is ahead of this service's clock, its payment may still be captured.
    const isOver = call.nowMs > payment.issuedAtMs + validityWindowMs
    if (!mandate || !isOver || payment.status !== 'open' || payment.epoch !== mandate.epoch)
      return unchanged(expired)
    if (isEndedByBudget(mandate, facts)) return unchanged(expired)
    const bookings = new Bookings(mandate, facts)
    bookings.release(payment)
    return {
      outcome: expired,
      changes: [put(payments, { ...payment, status: 'expired' }), ...bookings.changes],
    }
  },
}

function readsOfCapture(call: CaptureCall, facts: Facts): Read[] {
  const { payerId, caller, nonce, agentId, mandateId } = call
  return [
    look(accounts, { id: caller.accountId }),
    look(accounts, { id: payerId }),
    look(apiKeys, keyOf(caller)),
    look(agents, { accountId: payerId, id: agentId }),
    look(sellerDomains, domainOf({ ...call, environment: caller.environment })),
    lock(mandates, { accountId: payerId, id: mandateId }),
    look(payments, { accountId: payerId, nonce }),
    ...readsOfKnown(call, facts, captureReads),
  ]
}

/** What the mandate and the payment lead to, once they are read. */
function readsOfKnown(
  { payerId: accountId, mandateId, nonce }: Pick<CaptureCall, 'payerId' | 'mandateId' | 'nonce'>,
  facts: Facts,
  readsOf: (mandate: MandateRow, payment: PaymentRow) => readonly Read[],
): readonly Read[] {
  if (!facts.knows(look(mandates, { accountId, id: mandateId }))) return []
  const mandate = facts.row(mandates, { accountId, id: mandateId })
  // Most mandates count nothing but their total.
  if (!mandate || mandate.usage === null) return []
  const payment = facts.row(payments, { accountId, nonce })
  return payment ? readsOf(mandate, payment) : []
}

function changesOfCapture(
  call: CaptureCall,
  facts: {
    readonly payment: PaymentRow
    readonly bookings: Bookings
    readonly seller: { readonly accountId: string; readonly sellerId: string } | undefined
  },
): Change[] {
  const { payment, bookings, seller } = facts
  const { transactionId, caller, nowMs } = call
  const { amountMicro } = payment
  const captured = {
    ...payment,
    status: 'captured' as const, // 5
    transactionId,
    capturedBy: caller.keyId,
    capturedAtMs: nowMs,
    merchantDomain: normalizeHostName(call.merchantDomain),
    idempotencyKey: call.idempotencyKey,
    sellerAccountId: seller?.accountId ?? null,
    sellerId: seller?.sellerId ?? null,
  }
  bookings.spend(payment) // 6
  const entry = {
    accountId: payment.accountId,
    id: transactionId,
    environment: payment.environment,
    kind: 'paid' as const,
    payerId: payment.accountId,
    nonce: payment.nonce,
    mandateId: payment.mandateId,
    amountMicro,
    count: 1,
    atMs: nowMs,
  }
  const changes: Change[] = [put(payments, captured), ...bookings.changes, put(entries, entry)] // 7, 8
  // A payment between two accounts has an entry in both.
  if (seller && seller.accountId !== payment.accountId) {
    changes.push(put(entries, { ...entry, accountId: seller.accountId, kind: 'received' }))
  }
  return changes
}

function denialOf(hold: Hold) {
  return { accountId: hold.accountId, id: denialId(hold) }
}

function requestOf({ hold, requestKey }: ProofCall) {
  if (!requestKey) return undefined
  const { accountId, environment } = hold
  return { accountId, environment, callerId: requestKey.callerId, requestKey: requestKey.idempotencyKey }
}

/**
 * The response to a request whose idempotency key has already made a payment: that payment, if the requests are
 * equal.
 */
function answerAgain(hold: Hold, first: PaymentRow, facts: Facts): IssueOutcome {
  if (!isIssuedFor(first, hold)) return { decision: 'key_reused' }
  const mandate = facts.row(mandates, { accountId: first.accountId, id: first.mandateId })
  const status = mandate ? statusOf(first, mandate, hold.issuedAtMs) : first.status
  return { decision: 'replayed', hold: { ...first, status } }
}

function paymentOf(hold: Hold, mandate: MandateRow, booking: Booking): PaymentRow {
  const { nonce, amountText, amountMicro, resourceUrl } = hold
  return {
    // Memory holds the texts that many payments share only once.
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
    heldBeforeMicro: mandate.heldMicro,
    transactionId: null,
    capturedBy: null,
    capturedAtMs: null,
    merchantDomain: null,
    idempotencyKey: null,
    sellerAccountId: null,
    sellerId: null,
    ...booking,
    mandateVersion: mandate.version === 1 ? null : mandate.version,
  }
}

/**
 * Which open payments of the mandate must end before a new one is judged: all, if a shared budget has ended them; expired
 * ones, if there is no room without them.
 */
function mustEnd(mandate: MandateRow, hold: Hold, facts: Facts): 'all' | 'expired' | 'nothing' {
  if (isEndedByBudget(mandate, facts)) return 'all'
  if (!hasRoom(mandate, hold)) return 'expired'
  const agent = agentOf(hold, facts)
  if (!isCounted(mandate, agent)) return 'nothing'
  const limits = new Bookings(mandate, facts).limitFacts({ ...hold, nowMs: hold.issuedAtMs }, agent)
  return limits && exceededLimits(limits, mandate.id, hold.amountMicro).length > 0 ? 'expired' : 'nothing'
}

/** Whether the budget has room for an amount besides everything held, expired or not. */
function hasRoom(mandate: MandateRow, { amountMicro }: Pick<Hold, 'amountMicro'>): boolean {
  const left = subtractMicro(mandate.maxTotalMicro, addMicro(mandate.spentMicro, mandate.heldMicro))
  return amountMicro <= left
}

function knownMandate({ accountId, mandateId }: Hold, facts: Facts): MandateRow | undefined {
  const key = { accountId, id: mandateId }
  return facts.knows(look(mandates, key)) ? facts.row(mandates, key) : undefined
}

function agentOf(
  { accountId, environment, agentId }: Pick<Hold, 'accountId' | 'environment' | 'agentId'>,
  facts: Facts,
) {
  const agent = facts.row(agents, { accountId, id: agentId })
  return agent?.environment === environment ? agent : undefined
}

function knownPayment({ payerId, nonce, caller }: Omit<CaptureCall, 'transactionId'>, facts: Facts) {
  const payment = facts.row(payments, { accountId: payerId, nonce })
  return payment?.environment === caller.environment ? payment : undefined
}

function isDisabled(accountId: string, facts: Facts): boolean {
  const account = facts.row(accounts, { id: accountId })
  return account !== undefined && account.disabledAtMs !== null
}

/** The caller may have been looked up a while ago. A console session has no key. */
function isRevoked(caller: Caller, facts: Facts): boolean {
  const key = facts.row(apiKeys, keyOf(caller))
  return key !== undefined && key.revokedAtMs !== null
}

function keyOf({ accountId, keyId: id }: Caller) {
  return { accountId, id }
}

function sellerOf({ caller, merchantDomain }: CaptureCall, facts: Facts) {
  const row = facts.row(sellerDomains, domainOf({ environment: caller.environment, merchantDomain }))
  return row && { ...row, id: row.sellerId }
}

function domainOf({
  environment,
  merchantDomain,
}: Pick<ProposedTransaction, 'environment' | 'merchantDomain'>) {
  return { environment, domain: normalizeHostName(merchantDomain) }
}

/** The seller, if one of the parties owns it; another account's seller is not disclosed. */
function visibleSeller<Seller extends Pick<RegisteredSeller, 'accountId'>>(
  seller: Seller | undefined,
  accountIds: readonly string[],
): Seller | undefined {
  return seller && accountIds.includes(seller.accountId) ? seller : undefined
}

type IssuedTerms = Pick<PaymentRow, 'agentId' | 'mandateId' | 'amountText' | 'resourceUrl'> & {
  readonly currency: string
}

/** Whether a proof matches its payment. */
function isIssuedFor(payment: IssuedTerms, terms: IssuedTerms): boolean {
  return (
    payment.agentId === terms.agentId &&
    payment.mandateId === terms.mandateId &&
    payment.amountText === terms.amountText &&
    payment.currency === terms.currency &&
    payment.resourceUrl === terms.resourceUrl
  )
}

/** Whether this is a retry: the same key, proof, idempotency key and merchant. */
function isRetry(payment: PaymentRow, call: Omit<CaptureCall, 'transactionId'>): boolean {
  return (
    call.idempotencyKey !== null &&
    payment.capturedBy === call.caller.keyId &&
    payment.idempotencyKey === call.idempotencyKey &&
    payment.merchantDomain === normalizeHostName(call.merchantDomain)
  )
}

function failed(reason: 'invalid_signature' | 'nonce_reused' | 'proof_expired'): CaptureOutcome {
  return { outcome: 'failed', reason }
}

function refused(code: CollectionRefusal): CaptureOutcome {
  return { outcome: 'refused', code }
}

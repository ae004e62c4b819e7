import { checkCollection } from '../../../domain/collection.ts'
import { normalizeHostName } from '../../../domain/host-name.ts'
import { validityWindowMs } from '../../../domain/proof.ts'
import { clockOffsetOf } from '../../../domain/time/test-clock.ts'
import type { Caller, Scope } from '../../../domain/records.ts'
import type { AttemptRefusal, Capture, CaptureOutcome, LateAttempt, LateOutcome } from '../../store.ts'
import {
  lock,
  look,
  operation,
  put,
  unchanged,
  type Change,
  type Decision,
  type Facts,
  type Read,
} from '../operation.ts'
import {
  accounts,
  agents,
  apiKeys,
  entries,
  mandates,
  payments,
  sellerDomains,
  type EntryRow,
  type MandateRow,
  type PaymentRow,
} from '../tables.ts'
import {
  bookingReads,
  Bookings,
  captureReads,
  isEndedByBudget,
  isEndedLater,
  statusBelowBudgets,
} from './bookings.ts'
import { endPayment } from './ended-payments.ts'
import { capturedOf, collectorOf, isIssuedFor, isRefunded } from './payment-rows.ts'

/** Who pays. */
export interface Payer {
  /** The account that owns the mandate. */
  readonly payerId: string
}

/** An attempt to collect a payment. Its time is that of the machine, without any test clock. */
export type AttemptCall = LateAttempt & Payer

export const capture = operation<Capture & Payer, CaptureOutcome>('capture', {
  reads: readsOfAttempt,

  decide(call, facts) {
    const payment = knownPayment(call, facts)
    // Captured by an earlier attempt whose response was lost, whatever has changed since.
    if (payment?.transactionId === call.transactionId) {
      return unchanged({ outcome: 'captured', transactionId: call.transactionId })
    }
    const checked = checkAttempt(call, facts, replayOfCapture)
    if ('outcome' in checked) return unchanged(checked)
    return {
      outcome: { outcome: 'captured', transactionId: call.transactionId },
      changes: changesOfCapture(call, checked, facts),
    }
  },
})

/** An open payment that the caller may collect. */
export interface Collectable {
  readonly payment: PaymentRow
  readonly bookings: Bookings
  /** The seller that collects, unless its account is none of the parties. */
  readonly seller: { readonly accountId: string; readonly sellerId: string } | undefined
}

interface Replay {
  readonly outcome: 'replayed'
}

/** Recognizes a retry, which gets its answer again. */
type ReplayOf<Found> = (payment: PaymentRow, call: AttemptCall) => Found | undefined

/** The payment of an attempt, with its mandate, unless it is a retry or names another payment. */
function findPayment<Found extends Replay>(
  call: AttemptCall,
  facts: Facts,
  replayOf: ReplayOf<Found>,
): { readonly payment: PaymentRow; readonly mandate: MandateRow } | Found | AttemptRefusal {
  if (!mayCollect(call.caller, facts)) return { outcome: 'refused', code: 'invalid_api_key' }
  const payment = knownPayment(call, facts)
  // A signed proof without a payment was issued before the ledger was restored: nothing is held for it.
  if (!payment) return failed('proof_expired')
  // Signed with our secret, but not the issued proof: the secret has leaked.
  if (!isIssuedFor(payment, call)) return failed('invalid_signature')
  const mandate = facts.row(mandates, { accountId: call.payerId, id: call.mandateId })
  if (!mandate) return failed('proof_expired')
  return replayOf(payment, call) ?? { payment, mandate }
}

/** The payment that an attempt may collect now, or why it may not; shared by `capture` and `authorize`. */
export function checkAttempt<Found extends Replay>(
  call: AttemptCall,
  facts: Facts,
  replayOf: ReplayOf<Found>,
): Collectable | Found | AttemptRefusal {
  const { payerId, caller } = call
  const found = findPayment(call, facts, replayOf)
  if ('outcome' in found) return found
  const { payment, mandate } = found
  const nowMs = timeIn(payerId, call, facts)
  // The route has checked the window by the clock of the machine, which is the right one without a test clock.
  const isInWindow = nowMs === call.nowMs || Math.abs(nowMs - payment.issuedAtMs) <= validityWindowMs
  if (!isInWindow) return failed('proof_expired')
  const seller = sellerOf(call, facts)
  const { merchantDomain, resourceUrl } = call
  const refusal = checkCollection({
    caller,
    mandate,
    seller,
    merchantDomain,
    resourceUrl,
    category: payment.category,
    collectedCategory: call.category ?? null,
  })
  if (refusal) return { outcome: 'refused', code: refusal }
  const agent = facts.row(agents, { accountId: payerId, id: call.agentId })
  facts.read(captureReads(mandate, payment, agent))
  const status = statusBelowBudgets(payment, mandate, nowMs, facts)
  if (status === 'captured' || status === 'authorized') return failed('nonce_reused') // 4
  const isEnded = status !== 'open' || isEndedLater(payment, mandate, agent, facts)
  if (isEnded || agent?.status !== 'active' || isDisabled(payerId, facts)) return failed('proof_expired')
  const bookings = new Bookings(mandate, facts)
  // The seller of an account that is none of the parties is not disclosed.
  const isOfParty = seller?.accountId === payerId || seller?.accountId === caller.accountId
  return { payment, bookings, seller: isOfParty ? seller : undefined }
}

/** Whether a caller, whose lookup may be cached, still has a working key of an enabled account. */
export function mayCollect(caller: Caller, facts: Facts): boolean {
  return !isDisabled(caller.accountId, facts) && !isRevoked(caller, facts)
}

export const settleLate = operation<AttemptCall, LateOutcome>('settleLate', {
  reads: readsOfLateAttempt,
  decide: (call, facts) => settleLateAttempt(call, facts, replayOfCapture),
})

export function readsOfLateAttempt(call: AttemptCall): readonly Read[] {
  return [lock(mandates, { accountId: call.payerId, id: call.mandateId }), ...readsOfCollector(call)]
}

/** The reads of every call of a collector for a payment: the payment, its accounts, and the caller's key. */
export function readsOfCollector(call: Pick<AttemptCall, 'payerId' | 'caller' | 'nonce'>): readonly Read[] {
  const { payerId, caller, nonce } = call
  return [
    look(accounts, { id: caller.accountId }),
    look(accounts, { id: payerId }),
    look(apiKeys, keyOf(caller)),
    look(payments, { accountId: payerId, nonce }),
  ]
}

/**
 * Answers a retry again; otherwise ends the payment, unless it has not expired by the clock that issued it.
 */
export function settleLateAttempt<Found extends Replay>(
  call: AttemptCall,
  facts: Facts,
  replayOf: ReplayOf<Found>,
): Decision<Found | { readonly outcome: 'failed'; readonly reason: 'proof_expired' }> {
  const expired = { outcome: 'failed', reason: 'proof_expired' } as const
  const found = findPayment(call, facts, replayOf)
  if ('outcome' in found) return unchanged(found.outcome === 'replayed' ? found : expired)
  const { payment, mandate } = found
  // If the clock that issued the proof is ahead of this service's, its payment may still be captured.
  const isOver = timeIn(call.payerId, call, facts) > payment.issuedAtMs + validityWindowMs
  if (!isOver || payment.status !== 'open' || payment.epoch !== mandate.epoch) return unchanged(expired)
  facts.read(bookingReads(mandate, [payment]))
  if (isEndedByBudget(mandate, facts)) return unchanged(expired)
  const bookings = new Bookings(mandate, facts)
  endPayment(bookings, payment, 'expired', facts)
  return { outcome: expired, changes: bookings.changes }
}

export function readsOfAttempt(call: AttemptCall): readonly Read[] {
  const { caller, payerId, agentId, merchantDomain } = call
  return [
    ...readsOfLateAttempt(call),
    look(agents, { accountId: payerId, id: agentId }),
    look(sellerDomains, domainOf(caller, merchantDomain)),
  ]
}

function changesOfCapture(
  call: Capture & Payer,
  { payment, bookings, seller }: Collectable,
  facts: Facts,
): Change[] {
  const { transactionId, caller } = call
  const times = timesOf(call, facts)
  const captured = {
    ...payment,
    status: 'captured' as const, // 5
    transactionId,
    capturedBy: caller.keyId,
    capturedAtMs: times.payerMs,
    ...collectedBy(call, seller),
    idempotencyKey: call.idempotencyKey,
  }
  bookings.close(payment, { to: 'spent' }) // 6
  return [put(payments, captured), ...bookings.changes, ...entriesOf(captured, times)] // 7, 8
}

/** Who collects a payment, as stored in its row. */
export function collectedBy(
  { merchantDomain }: Pick<AttemptCall, 'merchantDomain'>,
  seller: Collectable['seller'],
): Pick<PaymentRow, 'merchantDomain' | 'sellerAccountId' | 'sellerId'> {
  return {
    merchantDomain: normalizeHostName(merchantDomain),
    sellerAccountId: seller?.accountId ?? null,
    sellerId: seller?.sellerId ?? null,
  }
}

/** The time of a payment in the account that pays, and in that of the caller, who collects. */
export interface PartyTimes {
  readonly payerMs: number
  readonly callerMs: number
}

/** What a call for a payment says about its time. */
type TimedCall = Pick<AttemptCall, 'caller' | 'nowMs'>

/** The time in an account, whose test clock may be ahead. That of the payer decides about windows and deadlines. */
export function timeIn(accountId: string, { caller, nowMs }: TimedCall, facts: Facts): number {
  return nowMs + clockOffsetOf(facts.row(accounts, { id: accountId }), caller.environment)
}

export function timesOf(call: TimedCall & Payer, facts: Facts): PartyTimes {
  return { payerMs: timeIn(call.payerId, call, facts), callerMs: timeIn(call.caller.accountId, call, facts) }
}

/** The entries of a captured payment: one in each account that it concerns. */
export function entriesOf(
  payment: PaymentRow & { readonly transactionId: string },
  times: PartyTimes,
): readonly Change[] {
  const details = { id: payment.transactionId, amountMicro: capturedOf(payment) }
  return partiesOf(payment, times).map((party) =>
    entryOf(payment, party, { ...details, kind: party.isPayer ? 'paid' : 'received' }),
  )
}

/** An account that a payment concerns, and the time there. */
interface Party {
  readonly accountId: string
  readonly atMs: number
  readonly isPayer: boolean
}

/** The account that pays, and the one that collects, if it is another. */
export function partiesOf(payment: PaymentRow, { payerMs, callerMs }: PartyTimes): readonly Party[] {
  const { accountId } = payment
  const payer = { accountId, atMs: payerMs, isPayer: true }
  const collector = { accountId: collectorOf(payment), atMs: callerMs, isPayer: false }
  return collector.accountId === accountId ? [payer] : [payer, collector]
}

/** The journal entry of a payment in one account. */
export function entryOf(
  { accountId: payerId, environment, nonce, mandateId }: PaymentRow,
  { accountId, atMs }: Party,
  { id, kind, amountMicro }: Pick<EntryRow, 'id' | 'kind' | 'amountMicro'>,
): Change {
  return put(entries, {
    accountId,
    id,
    environment,
    kind,
    payerId,
    nonce,
    mandateId,
    amountMicro,
    count: 1,
    atMs,
  })
}

function knownPayment({ payerId, nonce, caller }: AttemptCall, facts: Facts) {
  const payment = facts.row(payments, { accountId: payerId, nonce })
  return payment?.environment === caller.environment ? payment : undefined
}

function isDisabled(accountId: string, facts: Facts): boolean {
  const account = facts.row(accounts, { id: accountId })
  return account !== undefined && account.disabledAtMs !== null
}

/** The caller's lookup may be cached. A console session has no key. */
function isRevoked(caller: Caller, facts: Facts): boolean {
  const key = facts.row(apiKeys, keyOf(caller))
  return key !== undefined && key.revokedAtMs !== null
}

function keyOf({ accountId, keyId: id }: Caller) {
  return { accountId, id }
}

function sellerOf({ caller, merchantDomain }: AttemptCall, facts: Facts) {
  const row = facts.row(sellerDomains, domainOf(caller, merchantDomain))
  return row && { ...row, id: row.sellerId }
}

/** The key of the registration of a domain. */
export function domainOf({ environment }: Pick<Scope, 'environment'>, merchantDomain: string) {
  return { environment, domain: normalizeHostName(merchantDomain) }
}

/**
 * The answer to a retry: the same key, proof, idempotency key and merchant. None if the whole amount is not charged, because
 * a part was captured or all of it was refunded.
 */
function replayOfCapture(payment: PaymentRow, call: AttemptCall) {
  const { transactionId } = payment
  if (payment.capturedMicro !== null || isRefunded(payment)) return undefined
  const isRetry =
    isRequestOf(call, { callerId: payment.capturedBy, idempotencyKey: payment.idempotencyKey }) &&
    payment.merchantDomain === normalizeHostName(call.merchantDomain)
  return transactionId !== null && isRetry ? { outcome: 'replayed' as const, transactionId } : undefined
}

/** Whether a call repeats an earlier request: with the same key and the same idempotency key. */
export function isRequestOf(
  { caller, idempotencyKey }: Pick<AttemptCall, 'caller' | 'idempotencyKey'>,
  earlier: { readonly callerId: string | null; readonly idempotencyKey: string | null },
): boolean {
  return (
    idempotencyKey !== null && idempotencyKey === earlier.idempotencyKey && caller.keyId === earlier.callerId
  )
}

function failed(reason: 'invalid_signature' | 'nonce_reused' | 'proof_expired'): AttemptRefusal {
  return { outcome: 'failed', reason }
}

import { normalizeHostName } from '../../../domain/host-name.ts'
import type { AuditEvent } from '../../../domain/records.ts'
import type {
  Authorization,
  AuthorizedPayment,
  AuthorizeOutcome,
  Refusal,
  Settlement,
  SettleOutcome,
  VoidOutcome,
} from '../../store.ts'
import {
  lock,
  look,
  operation,
  put,
  refused,
  unchanged,
  type Change,
  type Decision,
  type Facts,
  type Read,
} from '../operation.ts'
import {
  auditEvents,
  authorizationPayers,
  authorizations,
  mandates,
  payments,
  type MandateRow,
  type PaymentRow,
} from '../tables.ts'
import { capturedTextOf, toHold } from '../reads/records.ts'
import { Bookings } from './bookings.ts'
import {
  checkAttempt,
  collectedBy,
  entriesOf,
  isRequestOf,
  mayCollect,
  readsOfAttempt,
  readsOfCollector,
  readsOfLateAttempt,
  settleLateAttempt,
  timeIn,
  timesOf,
  type AttemptCall,
  type Collectable,
  type Payer,
} from './captures.ts'
import { authorizationOf, endAuthorized, endPayment } from './ended-payments.ts'
import { capturedOf, collectorOf, eventDataOf, isRefunded, statusOf } from './payment-rows.ts'

/** The event is recorded in the account that pays. */
interface Recorded {
  readonly event: AuditEvent
}

export const authorize = operation<Authorization & Payer & Recorded, AuthorizeOutcome>('authorize', {
  reads: readsOfAttempt,

  decide(call, facts) {
    if (facts.written(auditEvents, eventOf(call))) {
      const payment = facts.row(payments, { accountId: call.payerId, nonce: call.nonce })!
      return unchanged({ outcome: 'authorized', hold: toHold(payment) })
    }
    const checked = checkAttempt(call, facts, replayOfAuthorization)
    if ('outcome' in checked) return unchanged(checked)
    const nowMs = timeIn(call.payerId, call, facts)
    const authorized = authorizedBy(call, nowMs, checked)
    const { accountId, nonce } = authorized
    checked.bookings.close(authorized, { to: 'authorized' })
    const changes: Change[] = [
      put(payments, authorized),
      ...checked.bookings.changes,
      put(authorizations, authorizationOf(authorized)),
    ]
    if (call.caller.accountId !== accountId) {
      changes.push(put(authorizationPayers, { accountId: call.caller.accountId, nonce, payerId: accountId }))
    }
    changes.push(eventOfMerchant(call, authorized, nowMs))
    return { outcome: { outcome: 'authorized', hold: toHold(authorized) }, changes }
  },
})

export const settleLateAuthorization = operation('settleLateAuthorization', {
  reads: readsOfLateAttempt,
  decide: (call: AttemptCall, facts) => settleLateAttempt(call, facts, replayOfAuthorization),
})

function authorizedBy(
  call: Authorization,
  nowMs: number,
  { payment, bookings, seller }: Collectable,
): PaymentRow {
  const seconds = Math.min(call.captureSeconds, bookings.mandate.maxCaptureSeconds)
  return {
    ...payment,
    status: 'authorized',
    authorizedBy: call.caller.keyId,
    authorizationKey: call.idempotencyKey,
    captureDeadlineMs: nowMs + seconds * 1_000,
    ...collectedBy(call, seller),
  }
}

/** The answer to a retry: the same key, proof, idempotency key and merchant. None if all of it was refunded. */
function replayOfAuthorization(payment: PaymentRow, call: AttemptCall) {
  const isRetry =
    isRequestOf(call, { callerId: payment.authorizedBy, idempotencyKey: payment.authorizationKey }) &&
    payment.merchantDomain === normalizeHostName(call.merchantDomain) &&
    !isRefunded(payment)
  return isRetry ? { outcome: 'replayed' as const, hold: toHold(payment) } : undefined
}

function eventOf({ payerId: accountId, event: { id } }: Payer & Recorded) {
  return { accountId, id }
}

/** A merchant's call for a payment that it has authorized. The caller's own account pays until the payer is known. */
type AuthorizedCall = AuthorizedPayment & Payer
type SettleCall = Settlement & Payer
type VoidCall = AuthorizedCall & Recorded

/** Another account pays: repeat the call for that account. */
export interface PaidElsewhere {
  readonly outcome: 'elsewhere'
  readonly payerId: string
}

/** A stop does not prevent it. */
export const captureAuthorized = operation<SettleCall, SettleOutcome | PaidElsewhere>('captureAuthorized', {
  reads: readsOfAuthorized,

  decide(call, facts) {
    // Captured by an earlier attempt whose response was lost, whatever has changed since.
    const earlier = facts.row(payments, { accountId: call.payerId, nonce: call.nonce })
    if (earlier?.transactionId === call.transactionId) return unchanged(settled('captured', earlier))
    const found = findAuthorized(call, facts)
    if ('changes' in found) return found
    const { payment, mandate } = found
    const amountMicro = call.amountMicro ?? payment.amountMicro
    const times = timesOf(call, facts)
    const status = statusOf(payment, mandate, times.payerMs)
    if (status === 'captured') {
      const isRetry =
        isRequestOf(call, { callerId: payment.capturedBy, idempotencyKey: payment.idempotencyKey }) &&
        capturedOf(payment) === amountMicro &&
        !isRefunded(payment)
      return isRetry ? unchanged(settled('replayed', payment)) : refused('already_captured')
    }
    if (status === 'voided') return refused('authorization_voided')
    if (status !== 'authorized') return refused('authorization_expired')
    if (amountMicro > payment.amountMicro) return refused('amount_exceeds_authorization')
    const captured = {
      ...payment,
      status: 'captured' as const,
      transactionId: call.transactionId,
      capturedBy: call.caller.keyId,
      capturedAtMs: times.payerMs,
      idempotencyKey: call.idempotencyKey,
      capturedMicro: amountMicro < payment.amountMicro ? amountMicro : null,
    }
    const bookings = new Bookings(mandate, facts)
    endAuthorized(bookings, payment, captured, facts)
    return {
      outcome: settled('captured', captured),
      changes: [...bookings.changes, ...entriesOf(captured, times)],
    }
  },
})

export const voidAuthorized = operation<VoidCall, VoidOutcome | PaidElsewhere>('voidAuthorized', {
  reads: readsOfAuthorized,

  decide(call, facts) {
    // Voided by an earlier attempt whose response was lost, whatever has changed since.
    if (facts.written(auditEvents, eventOf(call))) {
      const earlier = facts.row(payments, { accountId: call.payerId, nonce: call.nonce })!
      return unchanged(ended(earlier))
    }
    const found = findAuthorized(call, facts)
    if ('changes' in found) return found
    const { payment, mandate } = found
    const nowMs = timeIn(call.payerId, call, facts)
    const status = statusOf(payment, mandate, nowMs)
    if (status === 'captured') return refused('already_captured')
    if (payment.status !== 'authorized') return unchanged(ended(payment))
    const endedAs = status === 'authorized' ? 'voided' : 'expired'
    const bookings = new Bookings(mandate, facts)
    endPayment(bookings, payment, endedAs, facts)
    const events = status === 'authorized' ? [eventOfMerchant(call, payment, nowMs)] : []
    return { outcome: ended({ ...payment, status: endedAs }), changes: [...bookings.changes, ...events] }
  },
})

function ended(payment: PaymentRow): VoidOutcome {
  return { outcome: 'ended', hold: toHold(payment) }
}

/** The event of a call, in the account that pays. */
function eventOfMerchant({ event }: Recorded, payment: PaymentRow, createdAtMs: number): Change {
  const { accountId, merchantDomain } = payment
  const data = { ...event.data, ...eventDataOf(payment), merchant_domain: merchantDomain }
  return put(auditEvents, { ...event, accountId, data, createdAtMs })
}

function readsOfAuthorized(call: AuthorizedCall): readonly Read[] {
  const { payerId, caller, nonce } = call
  // Its own account may be the payer; otherwise it has recorded which account pays.
  const payer = payerId === caller.accountId ? [look(authorizationPayers, { accountId: payerId, nonce })] : []
  return [...readsOfCollector(call), ...payer]
}

/** The payment that the caller's account has authorized, whatever its status. */
function findAuthorized(
  { payerId, caller, nonce }: AuthorizedCall,
  facts: Facts,
):
  | { readonly payment: PaymentRow; readonly mandate: MandateRow }
  | Decision<PaidElsewhere | Refusal<'not_found' | 'invalid_api_key'>> {
  const key = { accountId: payerId, nonce }
  const elsewhere = payerId === caller.accountId && facts.row(authorizationPayers, key)
  if (elsewhere) return unchanged({ outcome: 'elsewhere', payerId: elsewhere.payerId })
  const payment = facts.row(payments, key)
  const isOwn =
    payment?.environment === caller.environment &&
    payment.captureDeadlineMs !== null &&
    collectorOf(payment) === caller.accountId
  if (!isOwn) return refused(mayCollect(caller, facts) ? 'not_found' : 'invalid_api_key')
  const mandateKey = { accountId: payerId, id: payment.mandateId }
  // The lock comes first: until this call has it, an earlier attempt whose response was lost may still take effect.
  facts.read([lock(mandates, mandateKey), look(authorizations, authorizationOf(payment))])
  if (!mayCollect(caller, facts)) return refused('invalid_api_key')
  const mandate = facts.row(mandates, mandateKey)
  return mandate ? { payment, mandate } : refused('not_found')
}

function settled(outcome: 'captured' | 'replayed', payment: PaymentRow): SettleOutcome {
  const { mandateId, transactionId } = payment
  if (transactionId === null) throw new Error(`${payment.nonce} has no transaction`)
  return { outcome, mandateId, transactionId, amountText: capturedTextOf(payment) }
}

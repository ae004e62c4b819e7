import { addMicro, type MicroUsdc } from '../../../domain/money.ts'
import type { AuditEvent } from '../../../domain/records.ts'
import type { Refund, RefundOutcome } from '../../store.ts'
import { lock, look, operation, put, range, refused, unchanged, type Change } from '../operation.ts'
import {
  auditEvents,
  entries,
  mandates,
  payments,
  refunds,
  type EntryRow,
  type PaymentRow,
} from '../tables.ts'
import { bookingReads, Bookings } from './bookings.ts'
import {
  entryOf,
  mayCollect,
  partiesOf,
  readsOfCollector,
  timesOf,
  type PartyTimes,
  type Payer,
} from './captures.ts'
import { capturedOf, collectorOf, eventDataOf } from './payment-rows.ts'

/** Max refunds of one payment. */
export const maxRefunds = 100

/** The entry of a transaction in an account that says which account paid. It never changes. */
export const findEntry = operation<Pick<EntryRow, 'accountId' | 'id'>, EntryRow | undefined>('findEntry', {
  reads: (key) => [look(entries, key)],
  decide: (key, facts) => unchanged(facts.row(entries, key)),
})

interface RefundCall extends Omit<Refund, 'transactionId'>, Payer {
  readonly nonce: string
  /** One for the account that paid, and one for the account that refunds. */
  readonly events: { readonly payer: AuditEvent; readonly own: AuditEvent }
}

/**
 * Refunds part of a captured payment, for the account that collected it. The sum of its refunds never exceeds
 * what was captured. The amount may be spent again, unless the mandate has ended.
 */
export const refund = operation<RefundCall, RefundOutcome>('refund', {
  reads: readsOfCollector,

  decide(call, facts) {
    const { caller, payerId, nonce, refundId, amountMicro } = call
    const payment = facts.row(payments, { accountId: payerId, nonce })
    // Refunded by an earlier attempt whose response was lost, whatever has changed since.
    if (payment && facts.written(refunds, { accountId: payerId, id: refundId }))
      return unchanged({ outcome: 'refunded', mandateId: payment.mandateId, refundId })
    const mandateKey = { accountId: payerId, id: payment?.mandateId ?? '' }
    // The lock comes first: until this call has it, an earlier attempt whose response was lost may still take effect.
    if (payment && collectorOf(payment) === caller.accountId)
      facts.read([lock(mandates, mandateKey), refundsOf(call)])
    if (!mayCollect(caller, facts)) return refused('invalid_api_key')
    if (payment?.environment !== caller.environment) return refused('not_found')
    if (collectorOf(payment) !== caller.accountId) return refused('seller_not_yours')
    const mandate = facts.row(mandates, mandateKey)
    if (payment.status !== 'captured' || !mandate) return refused('not_refundable')
    const earlier = facts.rows(refundsOf(call))
    // Whatever key of the account it comes with: the API key may have been replaced before a retry.
    const same = earlier.find(({ idempotencyKey }) => idempotencyKey === call.idempotencyKey)
    if (same) {
      const isRetry = same.amountText === call.amountText && same.reason === call.reason
      return isRetry
        ? unchanged({ outcome: 'replayed', mandateId: mandate.id, refundId: same.id })
        : refused('idempotency_key_reused')
    }
    const refundedMicro = addMicro(payment.refundedMicro ?? (0n as MicroUsdc), amountMicro)
    if (!(refundedMicro <= capturedOf(payment))) return refused('refund_exceeds_payment')
    if (earlier.length >= maxRefunds) return refused('too_many_refunds')
    facts.read(bookingReads(mandate, [payment]))
    const bookings = new Bookings(mandate, facts)
    bookings.refund(payment, { amountMicro })
    return {
      outcome: { outcome: 'refunded', mandateId: mandate.id, refundId },
      changes: [
        put(payments, { ...payment, refundedMicro }),
        ...bookings.changes,
        ...recordsOf(call, payment, timesOf(call, facts)),
      ],
    }
  },
})

/** The refund, its entry and its event, in each account that it concerns. */
function recordsOf(call: RefundCall, payment: PaymentRow, times: PartyTimes): readonly Change[] {
  const { refundId: id, events, amountText, amountMicro, reason, idempotencyKey } = call
  const { accountId: payerId, environment, nonce, transactionId, merchantDomain } = payment
  const row = { id, environment, payerId, nonce, amountText, amountMicro, reason, idempotencyKey }
  const terms = eventDataOf({ ...payment, amountText })
  const data = { ...terms, merchant_domain: merchantDomain, refund_of: transactionId }
  return partiesOf(payment, times).flatMap((party) => {
    const { accountId, atMs: createdAtMs, isPayer } = party
    return [
      put(refunds, { ...row, accountId, refundedBy: call.caller.keyId, createdAtMs }),
      entryOf(payment, party, { id, kind: isPayer ? 'refunded' : 'refund_sent', amountMicro }),
      put(auditEvents, { ...(isPayer ? events.payer : events.own), accountId, data, createdAtMs }),
    ]
  })
}

/** The refunds of the payment so far. */
function refundsOf({ payerId: accountId, nonce }: RefundCall) {
  return range(refunds, { where: { accountId, nonce }, orderBy: 'id', limit: maxRefunds })
}

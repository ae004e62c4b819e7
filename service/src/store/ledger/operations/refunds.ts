import { addMicro, type MicroUsdc } from '../../../domain/money.ts'
import type { AuditEvent } from '../../../domain/records.ts'
import type { Refund, RefundOutcome } from '../../store.ts'
import { lock, look, put, range, unchanged, type Change, type Operation } from '../operation.ts'
import {
  accounts,
  apiKeys,
  auditEvents,
  entries,
  mandates,
  payments,
  refunds,
  type EntryRow,
  type PaymentRow,
  type RefundRow,
} from '../tables.ts'
import { bookingReads, Bookings } from './bookings.ts'
import { keyOf, mayCollect, timesOf, type PartyTimes } from './captures.ts'
import { capturedOf } from './payment-rows.ts'

/** Max refunds of one payment. */
export const maxRefunds = 100

/** The entry of a transaction in an account that says which account paid. It never changes. */
export const findEntry: Operation<{ readonly accountId: string; readonly id: string }, EntryRow | undefined> =
  {
    name: 'findEntry',
    reads: (key) => [look(entries, key)],
    decide: (key, facts) => unchanged(facts.row(entries, key)),
  }

export interface RefundCall extends Omit<Refund, 'transactionId'> {
  /** The account that has paid. */
  readonly payerId: string
  readonly nonce: string
  /** One for the account that paid, and one for the account that refunds. */
  readonly events: { readonly payer: AuditEvent; readonly own: AuditEvent }
}

/**
 * Refunds part of a captured payment, for the account that collected it. The sum of its refunds never exceeds
 * what was captured. The amount may be spent again, unless the mandate has ended.
 */
export const refund: Operation<RefundCall, RefundOutcome> = {
  name: 'refund',

  reads: ({ caller, payerId, nonce, refundId }, { isRerun }) => [
    look(accounts, { id: caller.accountId }),
    look(accounts, { id: payerId }),
    look(apiKeys, keyOf(caller)),
    look(payments, { accountId: payerId, nonce }),
    ...(isRerun ? [look(refunds, { accountId: payerId, id: refundId })] : []),
  ],

  decide(call, facts) {
    const { caller, payerId, nonce, refundId, amountMicro } = call
    // Refunded by an earlier attempt whose response was lost, whatever has changed since.
    if (facts.isRerun && facts.row(refunds, { accountId: payerId, id: refundId }))
      return done(refundId, { isReplay: false })
    if (!mayCollect(caller, facts)) return refused('invalid_api_key')
    const payment = facts.row(payments, { accountId: payerId, nonce })
    if (payment?.environment !== caller.environment) return refused('not_found')
    if ((payment.sellerAccountId ?? payment.accountId) !== caller.accountId)
      return refused('seller_not_yours')
    const mandateKey = { accountId: payerId, id: payment.mandateId }
    facts.read([lock(mandates, mandateKey), refundsOf(call)])
    const mandate = facts.row(mandates, mandateKey)
    if (payment.status !== 'captured' || !mandate) return refused('not_refundable')
    const earlier = facts.rows(refundsOf(call))
    // Whatever key of the account it comes with: the API key may have been replaced before a retry.
    const same = earlier.find(({ idempotencyKey }) => idempotencyKey === call.idempotencyKey)
    if (same) {
      const isRetry = same.amountText === call.amountText && same.reason === call.reason
      return isRetry ? done(same.id, { isReplay: true }) : refused('idempotency_key_reused')
    }
    const refundedMicro = addMicro(payment.refundedMicro ?? (0n as MicroUsdc), amountMicro)
    if (!(refundedMicro <= capturedOf(payment))) return refused('refund_exceeds_payment')
    if (earlier.length >= maxRefunds) return refused('too_many_refunds')
    facts.read(bookingReads(mandate, [payment]))
    const times = timesOf(call, facts)
    const bookings = new Bookings(mandate, facts)
    bookings.refund(payment, { amountMicro })
    return {
      outcome: { outcome: 'refunded', refundId },
      changes: [
        put(payments, { ...payment, refundedMicro }),
        ...bookings.changes,
        ...recordsOf(call, payment, times),
        ...eventsOf(call, payment, times),
      ],
    }
  },
}

/** The refund and its entry, in each account that it concerns. */
function recordsOf(
  call: RefundCall,
  { accountId, environment, nonce, mandateId }: PaymentRow,
  { payerMs: atMs, callerMs }: PartyTimes,
): Change[] {
  const { payerId, refundId: id, amountText, amountMicro, reason, idempotencyKey } = call
  const of = { id, environment, payerId, nonce, amountMicro }
  const details = { amountText, reason, idempotencyKey, refundedBy: call.caller.keyId, createdAtMs: atMs }
  const row: RefundRow = { ...of, ...details, accountId }
  const entry: EntryRow = { ...of, accountId, kind: 'refunded', mandateId, count: 1, atMs }
  const changes = [put(refunds, row), put(entries, entry)]
  const { accountId: own } = call.caller
  if (own === accountId) return changes
  return [
    ...changes,
    put(refunds, { ...row, accountId: own, createdAtMs: callerMs }),
    put(entries, { ...entry, accountId: own, kind: 'refund_sent', atMs: callerMs }),
  ]
}

function eventsOf(
  { caller, events, amountText: amount }: RefundCall,
  payment: PaymentRow,
  { payerMs, callerMs }: PartyTimes,
): Change[] {
  const { accountId, agentId, mandateId, currency, transactionId, merchantDomain } = payment
  const terms = { agent_id: agentId, mandate_id: mandateId, amount, currency }
  const data = { ...terms, merchant_domain: merchantDomain, refund_of: transactionId }
  const changes = [put(auditEvents, { ...events.payer, accountId, data, createdAtMs: payerMs })]
  if (caller.accountId === accountId) return changes
  const own = { ...events.own, accountId: caller.accountId, data, createdAtMs: callerMs }
  return [...changes, put(auditEvents, own)]
}

/** The refunds of the payment so far. */
function refundsOf({ payerId: accountId, nonce }: RefundCall) {
  return range(refunds, { where: { accountId, nonce }, orderBy: 'id', limit: maxRefunds })
}

function done(refundId: string, { isReplay }: { readonly isReplay: boolean }) {
  const outcome = isReplay ? ('replayed' as const) : ('refunded' as const)
  return unchanged<RefundOutcome>({ outcome, refundId })
}

function refused(code: Extract<RefundOutcome, { readonly outcome: 'refused' }>['code']) {
  return unchanged<RefundOutcome>({ outcome: 'refused', code })
}

import type { AuditEvent, Scope } from '../../../domain/records.ts'
import { lock, look, operation, portOperation, put, unchanged, type Change } from '../operation.ts'
import { toHold } from '../reads/records.ts'
import { auditEvents, mandates, payments, type BudgetUsageRow } from '../tables.ts'
import { bookingReads, Bookings, statusBelowBudgets } from './bookings.ts'
import { endPayment, endPayments } from './ended-payments.ts'
import { mandatesIn } from './mandates.ts'
import { eventDataOf } from './payment-rows.ts'

export const voidProof = portOperation('voidProof', {
  reads: ([key]) => [look(payments, key)],

  decide([key, { agentId }, event], facts) {
    const payment = facts.row(payments, key)
    if (payment?.environment !== key.environment) return unchanged(undefined)
    if (agentId !== undefined && payment.agentId !== agentId) return unchanged(undefined)
    const mandate = facts.lockedRow(mandates, { accountId: key.accountId, id: payment.mandateId })
    if (!mandate) return unchanged(undefined)
    facts.read(bookingReads(mandate, [payment]))
    const status = statusBelowBudgets(payment, mandate, event.createdAtMs, facts)
    // Also a payment that has expired holds its amount until it is released.
    const isHeld = payment.status === 'open' && (status === 'open' || status === 'expired')
    if (!isHeld) return unchanged(toHold({ ...payment, status }))
    const endedAs = status === 'open' ? 'voided' : 'expired'
    const bookings = new Bookings(mandate, facts)
    endPayment(bookings, payment, endedAs, facts)
    const changes = [...bookings.changes]
    if (status === 'open') {
      changes.push(put(auditEvents, { ...event, data: { ...event.data, ...eventDataOf(payment) } }))
    }
    return { outcome: toHold({ ...payment, status: endedAs }), changes }
  },
})

/** Max mandates in one step, so that no payment waits long for it. */
export const mandatesVoidedAtOnce = 100

/** The mandates of a scope, after an id. */
export interface VoidStep {
  readonly scope: Scope
  readonly afterId: string
  /** Recorded with the count if any payment was ended. */
  readonly event: AuditEvent
}

/** Ends the open payments of a bounded number of mandates; returns the last one that was read, undefined if none is left. */
export const voidPayments = operation<VoidStep, string | undefined>('voidPayments', {
  reads: (step) => [mandatesAfter(step)],

  decide(step, facts) {
    const { event } = step
    const range = mandatesAfter(step)
    const found = facts.rows(range)
    let voided = 0
    const changes: Change[] = []
    const budgets = new Map<string, BudgetUsageRow>()
    const open = found.filter(({ openPayments }) => openPayments > 0)
    facts.each(open, (mandate) => {
      const bookings = new Bookings(mandate, facts, budgets)
      voided += endPayments(bookings, facts, event.createdAtMs)
      changes.push(...bookings.changes)
    })
    const lastId = found.length < range.limit ? undefined : found.at(-1)?.id
    if (voided > 0)
      changes.push(put(auditEvents, { ...event, data: { ...event.data, voided_holds: voided } }))
    return { outcome: lastId, changes }
  },
})

function mandatesAfter({ scope: of, afterId }: VoidStep) {
  return mandatesIn({ of, afterId, limit: mandatesVoidedAtOnce }, { isLocked: true })
}

interface RevocationStep {
  readonly accountId: string
  readonly mandateId: string
  /** The event of the revocation, which counts what it has ended. */
  readonly event: AuditEvent
}

/** Ends the open payments of a mandate whose agent is revoked. */
export const voidPaymentsOfRevoked = operation<RevocationStep, 'voided'>('voidPaymentsOfRevoked', {
  reads: ({ accountId, mandateId, event }) => [
    lock(mandates, { accountId, id: mandateId }),
    lock(auditEvents, event),
  ],

  decide({ accountId, mandateId, event }, facts) {
    const mandate = facts.row(mandates, { accountId, id: mandateId })
    if (!mandate || mandate.openPayments === 0) return unchanged('voided')
    const bookings = new Bookings(mandate, facts)
    const voided = endPayments(bookings, facts, event.createdAtMs)
    const { changes } = bookings
    // A call that continues an interrupted revocation has another event.
    const recorded = facts.row(auditEvents, event)
    if (!recorded) return { outcome: 'voided', changes }
    const data = { ...recorded.data, voided_holds: Number(recorded.data['voided_holds']) + voided }
    return { outcome: 'voided', changes: [...changes, put(auditEvents, { ...recorded, data })] }
  },
})

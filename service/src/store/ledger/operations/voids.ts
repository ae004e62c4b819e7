import type { AuditEvent, Caller, Scope } from '../../../domain/records.ts'
import { mandatesVoidedAtOnce } from '../../store.ts'
import {
  lock,
  look,
  put,
  unchanged,
  type Change,
  type Facts,
  type Operation,
  type RangeRead,
} from '../operation.ts'
import { auditEvents, mandates, payments, type PaymentRow } from '../tables.ts'
import { endPayments, expiredReads } from './mandates.ts'
import { releasePayment, statusOf } from './payment-rows.ts'

export interface VoidCall {
  readonly accountId: string
  readonly environment: Caller['environment']
  readonly nonce: string
  /** Only a payment of this agent, where it is given. */
  readonly agentId?: string | undefined
  readonly event: AuditEvent
}

/** Ends an open payment: its amount is free at once. The outcome is the payment as it then is; undefined when there is none. */
export const voidPayment: Operation<VoidCall, PaymentRow | undefined> = {
  name: 'voidPayment',

  reads({ accountId, nonce }, facts) {
    const payment = look(payments, { accountId, nonce })
    const row = facts.knows(payment) ? facts.row(payments, { accountId, nonce }) : undefined
    return row ? [payment, lock(mandates, { accountId, id: row.mandateId })] : [payment]
  },

  decide({ accountId, environment, nonce, agentId, event }, facts) {
    const payment = facts.row(payments, { accountId, nonce })
    if (payment?.environment !== environment) return unchanged(undefined)
    if (agentId !== undefined && payment.agentId !== agentId) return unchanged(undefined)
    const mandate = facts.row(mandates, { accountId, id: payment.mandateId })
    if (!mandate) return unchanged(undefined)
    const status = statusOf(payment, mandate, event.createdAtMs)
    const ended = { ...payment, status: status === 'open' ? ('voided' as const) : status }
    if (payment.status !== 'open' || payment.epoch !== mandate.epoch) return unchanged(ended)
    const changes: Change[] = [put(payments, ended), put(mandates, releasePayment(mandate, payment))]
    if (status === 'open') {
      const { agentId: agent_id, mandateId: mandate_id, amountText: amount, currency } = payment
      changes.push(
        put(auditEvents, { ...event, data: { ...event.data, agent_id, mandate_id, amount, currency } }),
      )
    }
    return { outcome: ended, changes }
  },
}

/** The mandates of a scope or of an agent, those after an id. */
export interface VoidStep {
  readonly of: Scope | { readonly accountId: string; readonly agentId: string }
  readonly afterId: string
  /** Recorded when any payment was ended, with how many. */
  readonly event: AuditEvent
  /** Whether an earlier step has recorded the event, and this one only adds to how many. */
  readonly isContinued?: boolean
}

export interface VoidProgress {
  readonly voided: number
  /** The last mandate that was looked at; undefined when none is left. */
  readonly lastId: string | undefined
}

/** Ends the open payments of a bounded number of mandates. */
export const voidPayments: Operation<VoidStep, VoidProgress> = {
  name: 'voidPayments',

  reads: (step, facts) => [
    ...readsOfStep(mandatesAfter(step), facts, step.event.createdAtMs),
    ...(step.isContinued ? [lock(auditEvents, keyOfEvent(step.event))] : []),
  ],

  decide(step, facts) {
    const { event } = step
    const { changes, ...progress } = endPaymentsOf(mandatesAfter(step), facts, event.createdAtMs)
    if (progress.voided === 0) return { outcome: progress, changes }
    const recorded = step.isContinued ? facts.row(auditEvents, keyOfEvent(event)) : event
    // Who goes on with what another call has begun does not know its event.
    if (!recorded) return { outcome: progress, changes }
    const before = step.isContinued ? Number(recorded.data['voided_holds'] ?? 0) : 0
    const data = { ...recorded.data, voided_holds: before + progress.voided }
    return { outcome: progress, changes: [...changes, put(auditEvents, { ...recorded, data })] }
  },
}

function keyOfEvent({ accountId, id }: AuditEvent) {
  return { accountId, id }
}

/** What `endPaymentsOf` looks at. */
export function readsOfStep(range: RangeRead, facts: Facts, nowMs: number) {
  const found = facts.knows(range) ? facts.rows(mandates, range) : []
  return [range, ...found.flatMap((mandate) => expiredReads(mandate, nowMs))]
}

/** What ends the open payments of the mandates of a range. */
export function endPaymentsOf(range: RangeRead, facts: Facts, nowMs: number) {
  const found = facts.rows(mandates, range)
  const ended = found
    .filter(({ openPayments }) => openPayments > 0)
    .map((mandate) => endPayments(mandate, facts, nowMs))
  return {
    voided: ended.reduce((sum, one) => sum + one.voided, 0),
    lastId: found.length < range.limit ? undefined : found.at(-1)?.id,
    changes: ended.flatMap(({ changes }) => changes),
  }
}

export function mandatesAfter({ of, afterId }: Pick<VoidStep, 'of' | 'afterId'>): RangeRead {
  return {
    kind: 'range',
    table: mandates,
    where:
      'agentId' in of
        ? { accountId: of.accountId, agentId: of.agentId }
        : { accountId: of.accountId, environment: of.environment },
    orderBy: 'id',
    after: afterId === '' ? undefined : afterId,
    limit: mandatesVoidedAtOnce,
    isLocked: true,
  }
}

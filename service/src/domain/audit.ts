import type { AuditEventType } from '@purser/wire/audit-log'

import { formatSum, type MicroUsdc } from './money.ts'
import type { AuditEvent, Caller, Scope } from './records.ts'

/** The actor without a key: the service itself, at first start. */
export const systemActor = 'system'

/** The contents of an event; the store adds nothing. */
export interface EventDetails {
  readonly id: string
  readonly type: AuditEventType
  readonly subjectId: string
  readonly data: Readonly<Record<string, unknown>>
  readonly atMs: number
}

/**
 * The transaction of a payment event: the event has the id of its transaction, with another prefix. So the ledger
 * stores both as one record, and the log is in order of time without separate event ids.
 */
export function transactionOfEvent(eventId: string): string {
  return `txn${eventId.slice(eventId.indexOf('_'))}`
}

/** The event of a transaction that is a payment. */
export function eventOfTransaction(transactionId: string): string {
  return `event${transactionId.slice(transactionId.indexOf('_'))}`
}

/** The event for a caller's operation, in the log of the changed scope (Events). */
export function auditEvent(
  actor: Pick<Caller, 'keyId'> | typeof systemActor,
  scope: Scope,
  details: EventDetails,
): AuditEvent {
  return {
    accountId: scope.accountId,
    environment: scope.environment,
    id: details.id,
    type: details.type,
    actor: actor === systemActor ? systemActor : actor.keyId,
    subjectId: details.subjectId,
    data: details.data,
    createdAtMs: details.atMs,
  }
}

/** The number of mandates that a stop or resumption covered; each of them has its own event. */
const maxNamed = 100

/** The data of a stop event. */
export function dataOfStop({
  mandateIds,
  voidedHolds,
  failedIds,
  outstanding,
}: {
  readonly mandateIds: readonly string[]
  readonly voidedHolds: number
  readonly failedIds: readonly string[]
  readonly outstanding: { readonly count: number; readonly amountMicro: MicroUsdc }
}): AuditEvent['data'] {
  const failed = { failed_mandates: failedIds.length, failed_mandate_ids: failedIds.slice(0, maxNamed) }
  return {
    paused_mandates: mandateIds.length,
    voided_holds: voidedHolds,
    mandate_ids: mandateIds.slice(0, maxNamed),
    ...(failedIds.length > 0 ? failed : {}),
    ...(outstanding.count > 0 && { outstanding_authorized: toOutstanding(outstanding) }),
  }
}

/** What is authorized, in interface format. */
export function toOutstanding({
  count,
  amountMicro,
}: {
  readonly count: number
  readonly amountMicro: MicroUsdc
}) {
  return { count, amount: formatSum(amountMicro) }
}

/** The data of a resumption event. */
export function dataOfResumption(mandateIds: readonly string[]): AuditEvent['data'] {
  return { resumed_mandates: mandateIds.length, mandate_ids: mandateIds.slice(0, maxNamed) }
}

import type { AuditEventType } from '@purser/wire/audit-log'

import type { AuditEvent, Caller, Scope } from './records.ts'

/** Who acts when nobody holds a key: the service itself, at first start. */
export const systemActor = 'system'

/** What tells one event from another; the store adds nothing to it. */
export interface EventDetails {
  readonly id: string
  readonly type: AuditEventType
  readonly subjectId: string
  readonly data: Readonly<Record<string, unknown>>
  readonly atMs: number
}

/** The event that a caller's act leaves in the log of the scope it changed (Events). */
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

import { Type, type Static } from 'typebox'

import { ownerRoles } from './api-keys.ts'
import { endpoint } from './endpoint.ts'
import { Id, OneOf, Timestamp } from './fields.ts'
import { pageParameters } from './pages.ts'

/** Every change of state that leaves an event (Events). */
export const auditEventTypes = [
  'payment.verified',
  'account.created',
  'api_key.created',
  'api_key.revoked',
  'agent.created',
  'agent.revoked',
  'mandate.created',
  'mandate.paused',
  'mandate.resumed',
  'mandate.revoked',
  'seller.created',
  'agents.stopped',
  'agents.resumed',
  'session.started',
  'session.ended',
] as const
export type AuditEventType = (typeof auditEventTypes)[number]

export const AuditEvent = Type.Object({
  id: Id,
  type: OneOf(auditEventTypes),
  actor: Type.String({ description: 'The id of the key or the session that acted, or `system`.' }),
  subject_id: Id,
  data: Type.Record(Type.String(), Type.Unknown()),
  created_at: Timestamp,
})
export type AuditEvent = Static<typeof AuditEvent>

export const listAuditEvents = endpoint({
  id: 'listAuditEvents',
  method: 'GET',
  path: '/v1/audit-log',
  tag: 'Audit',
  summary: 'Lists audit events, newest first.',
  roles: ownerRoles,
  query: Type.Object({
    ...pageParameters,
    type: Type.Optional(OneOf(auditEventTypes)),
    subject_id: Type.Optional(Type.String()),
  }),
  responses: { 200: Type.Array(AuditEvent) },
  errors: [],
})

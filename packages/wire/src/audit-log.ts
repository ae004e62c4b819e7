import { Type, type Static } from './schema/type.ts'

import { readerRoles } from './roles.ts'
import { endpoint } from './endpoint.ts'
import { described, Id, OneOf, Text, Timestamp } from './fields.ts'
import { PageOf, pageParameters } from './pages.ts'
import { maxLengths } from './lengths.ts'

/** Every state change that records an event (Events). */
export const auditEventTypes = [
  'payment.verified',
  'payment.authorized',
  'payment.refunded',
  'authorization.voided',
  'account.created',
  'account.disabled',
  'account.enabled',
  'api_key.created',
  'api_key.revoked',
  'agent.created',
  'agent.revoked',
  'mandate.created',
  'mandate.amended',
  'approval.requested',
  'approval.approved',
  'approval.denied',
  'approval.consumed',
  'mandate.paused',
  'mandate.resumed',
  'mandate.revoked',
  'limit.exceeded',
  'budget.created',
  'budget.changed',
  'budget.frozen',
  'budget.unfrozen',
  'agent.budget_changed',
  'seller.created',
  'seller.released',
  'seller.verified',
  'proof.voided',
  'proofs.voided',
  'agents.stopped',
  'agents.resumed',
  'test_clock.advanced',
  'session.started',
  'session.ended',
] as const
export type AuditEventType = (typeof auditEventTypes)[number]
export const AuditEventType = OneOf(auditEventTypes)

export const AuditEvent = Type.Object({
  id: described(Id, 'Id of the event.'),
  type: described(AuditEventType, 'What happened.'),
  actor: Text(maxLengths.id, { description: 'Id of the key or session that made the change, or `system`.' }),
  subject_id: described(
    Id,
    'Id of the changed record; for a proof its nonce, for a payment its transaction.',
  ),
  data: Type.Record(Type.String(), Type.Unknown(), {
    description: 'Details of the change; the fields depend on `type`, and there may be none.',
  }),
  created_at: described(Timestamp, 'When it happened.'),
})
export type AuditEvent = Static<typeof AuditEvent>

export const listAuditEvents = endpoint({
  id: 'listAuditEvents',
  method: 'GET',
  path: '/v1/audit-log',
  tag: 'Audit',
  summary:
    'Lists audit events, newest first. Stopping all agents, or resuming them, is one event with the number of mandates and the first 100 of their ids; filter by `type` or `subject_id` to list the event of each mandate.',
  roles: readerRoles,
  query: Type.Object({
    ...pageParameters,
    type: Type.Optional(described(AuditEventType, 'Only events of this type.')),
    subject_id: Type.Optional(described(Id, 'Only events about this record.')),
  }),
  responses: { 200: PageOf(AuditEvent) },
  responseDescriptions: { 200: 'A page of events.' },
  errors: [],
})

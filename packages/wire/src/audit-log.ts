import { Type, type Static } from 'typebox'

import { ownerRoles } from './roles.ts'
import { endpoint } from './endpoint.ts'
import { described, Id, OneOf, Text, Timestamp } from './fields.ts'
import { PageOf, pageParameters } from './pages.ts'
import { maxLengths } from './lengths.ts'

/** Every change of state that leaves an event (Events). */
export const auditEventTypes = [
  'payment.verified',
  'account.created',
  'account.disabled',
  'account.enabled',
  'api_key.created',
  'api_key.revoked',
  'agent.created',
  'agent.revoked',
  'mandate.created',
  'mandate.paused',
  'mandate.resumed',
  'mandate.revoked',
  'seller.created',
  'seller.released',
  'seller.verified',
  'proof.voided',
  'proofs.voided',
  'agents.stopped',
  'agents.resumed',
  'session.started',
  'session.ended',
] as const
export type AuditEventType = (typeof auditEventTypes)[number]
export const AuditEventType = OneOf(auditEventTypes)

export const AuditEvent = Type.Object({
  id: described(Id, 'Id of the event.'),
  type: described(AuditEventType, 'What happened.'),
  actor: Text(maxLengths.id, { description: 'Id of the key or the session that acted, or `system`.' }),
  subject_id: described(Id, 'Id of what was changed; of a proof its nonce, of a payment its transaction.'),
  data: Type.Record(Type.String(), Type.Unknown(), {
    description: 'What else is known of the change; the fields depend on `type`, and may be none.',
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
    'Lists audit events, newest first. A stop of all agents, and a resumption, is one event, which counts the mandates and names the first 100; the event of each mandate is listed when its `type` or `subject_id` is asked for.',
  roles: ownerRoles,
  query: Type.Object({
    ...pageParameters,
    type: Type.Optional(described(AuditEventType, 'Only events of this type.')),
    subject_id: Type.Optional(described(Id, 'Only events about this record.')),
  }),
  responses: { 200: PageOf(AuditEvent) },
  responseDescriptions: { 200: 'A page of events.' },
  errors: [],
})

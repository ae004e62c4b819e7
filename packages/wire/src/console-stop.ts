import { Type, type Static } from 'typebox'

import { ownerRoles } from './api-keys.ts'
import { endpoint } from './endpoint.ts'
import { Id, Nullable } from './fields.ts'

export const Stopped = Type.Object({
  stop_id: Id,
  paused_mandates: Type.Integer(),
  voided_holds: Type.Integer(),
})
export type Stopped = Static<typeof Stopped>

export const stopAgents = endpoint({
  id: 'stopAgents',
  method: 'POST',
  path: '/v1/console/stop',
  tag: 'Console',
  summary:
    'Pauses every active mandate of the account and environment, and ends their open holds. Nothing is authorised after the answer.',
  roles: ownerRoles,
  responses: { 200: Stopped },
  errors: ['invalid_idempotency_key'],
})

export const Resumed = Type.Object({ resumed_mandates: Type.Integer() })
export type Resumed = Static<typeof Resumed>

export const resumeAgents = endpoint({
  id: 'resumeAgents',
  method: 'POST',
  path: '/v1/console/resume',
  tag: 'Console',
  summary: 'Resumes the mandates that a stop paused, unless somebody moved them since.',
  roles: ownerRoles,
  body: Type.Object({
    stop_id: Type.Optional(
      Nullable(Type.String({ maxLength: 100, description: 'One stop; every stop when left out.' })),
    ),
  }),
  responses: { 200: Resumed },
  errors: [],
})

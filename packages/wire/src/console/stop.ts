import { Type, type Static } from 'typebox'

import { ownerRoles } from '../roles.ts'
import { endpoint } from '../endpoint.ts'
import { described, Id, Nullable, Text } from '../fields.ts'
import { maxLengths } from '../lengths.ts'

export const Stopped = Type.Object({
  stop_id: described(Id, 'Id of the stop. Use it to undo the stop.'),
  paused_mandates: Type.Integer({ description: 'Number of mandates paused by the stop.' }),
  voided_holds: Type.Integer({ description: 'Number of open proofs voided by the stop.' }),
})
export type Stopped = Static<typeof Stopped>

export const stopAgents = endpoint({
  id: 'stopAgents',
  method: 'POST',
  path: '/v1/console/stop',
  tag: 'Console',
  summary:
    'Pauses every active mandate of the account and environment, and voids their open proofs. Nothing is authorised after the response.',
  roles: ownerRoles,
  responses: { 200: Stopped },
  responseDescriptions: { 200: 'Every active mandate was paused.' },
  errors: ['invalid_idempotency_key'],
})

export const Resumed = Type.Object({
  resumed_mandates: Type.Integer({ description: 'Number of resumed mandates.' }),
})
export type Resumed = Static<typeof Resumed>

export const resumeAgents = endpoint({
  id: 'resumeAgents',
  method: 'POST',
  path: '/v1/console/resume',
  tag: 'Console',
  summary: 'Resumes the mandates paused by a stop, unless their status was changed since.',
  roles: ownerRoles,
  body: Type.Object(
    {
      stop_id: Type.Optional(
        described(Nullable(Text(maxLengths.id)), 'Id of the stop to undo; null or omitted for every stop.'),
      ),
    },
    { title: 'ResumeRequest' },
  ),
  responses: { 200: Resumed },
  responseDescriptions: {
    200: 'The mandates paused by the stop, and not changed since, are active.',
  },
  errors: [],
})

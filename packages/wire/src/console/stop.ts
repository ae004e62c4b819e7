import { Type, type Static } from 'typebox'

import { ownerRoles } from '../roles.ts'
import { endpoint } from '../endpoint.ts'
import { described, Id, Nullable, Text } from '../fields.ts'
import { maxLengths } from '../lengths.ts'

export const Stopped = Type.Object({
  stop_id: described(Id, 'Id of the stop, by which it is undone.'),
  paused_mandates: Type.Integer({ description: 'Number of mandates that the stop has paused.' }),
  voided_holds: Type.Integer({ description: 'Number of open proofs that it has ended.' }),
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
  responseDescriptions: { 200: 'Every mandate that was active is paused.' },
  errors: ['invalid_idempotency_key'],
})

export const Resumed = Type.Object({
  resumed_mandates: Type.Integer({ description: 'Number of mandates that are active again.' }),
})
export type Resumed = Static<typeof Resumed>

export const resumeAgents = endpoint({
  id: 'resumeAgents',
  method: 'POST',
  path: '/v1/console/resume',
  tag: 'Console',
  summary: 'Resumes the mandates that a stop paused, unless somebody moved them since.',
  roles: ownerRoles,
  body: Type.Object(
    {
      stop_id: Type.Optional(
        described(
          Nullable(Text(maxLengths.id)),
          'Id of the stop that is undone; null or left out for every stop.',
        ),
      ),
    },
    { title: 'ResumeRequest' },
  ),
  responses: { 200: Resumed },
  responseDescriptions: {
    200: 'The mandates that the stop paused, and that nobody moved since, are active.',
  },
  errors: [],
})

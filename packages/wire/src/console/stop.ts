import { Type, type Static } from 'typebox'

import { ownerRoles } from '../roles.ts'
import { endpoint } from '../endpoint.ts'
import { described, Id, Nullable, Text } from '../fields.ts'
import { maxLengths } from '../lengths.ts'

export const Stopped = Type.Object({
  stop_id: described(Id, 'Id of the stop, by which it is undone.'),
  paused_mandates: Type.Integer({ description: 'Number of mandates that the stop has paused.' }),
  voided_holds: Type.Integer({ description: 'Number of open proofs that it has ended.' }),
  failed_mandates: Type.Integer({
    description:
      'Number of mandates that could not be paused yet, because their rows are locked for example. The service keeps trying until they are paused, the stop is undone, or another stop is pressed.',
  }),
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
  responseDescriptions: {
    200: 'Every mandate that was active is paused, but those that `failed_mandates` counts. What an earlier stop has paused is taken over: only the undo of this stop resumes it.',
  },
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
  summary: 'Resumes the mandates that the last stop paused, unless somebody moved them since.',
  roles: ownerRoles,
  body: Type.Object(
    {
      stop_id: Type.Optional(
        described(
          Nullable(Text(maxLengths.id)),
          'Id of the stop that is undone; null or left out for every stop. The undo of one that is not the last resumes nothing.',
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

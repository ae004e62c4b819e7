import { Type, type Static } from '../schema/type.ts'

import { ownerRoles } from '../roles.ts'
import { endpoint } from '../endpoint.ts'
import { described, Id, Nullable, Sum, Text } from '../fields.ts'
import { maxLengths } from '../lengths.ts'

export const Stopped = Type.Object({
  stop_id: described(Id, 'Id of the stop. Use it to undo the stop.'),
  paused_mandates: Type.Integer({ description: 'Number of mandates paused by the stop.' }),
  voided_holds: Type.Integer({ description: 'Number of open proofs voided by the stop.' }),
  failed_mandates: Type.Integer({
    description:
      'Number of mandates that could not be paused yet, for example because their rows are locked. The service keeps trying until they are paused, the stop is undone, or another stop is requested.',
  }),
  outstanding_authorized: Type.Object(
    {
      count: Type.Integer({ description: 'Number of authorized payments.' }),
      amount: described(Sum, 'Their sum in USDC.'),
    },
    {
      title: 'Outstanding',
      description:
        'Authorized payments of the account and environment, which a stop does not end: their merchants may capture them until their deadlines.',
    },
  ),
})
export type Stopped = Static<typeof Stopped>

export const stopAgents = endpoint({
  id: 'stopAgents',
  method: 'POST',
  path: '/v1/console/stop',
  tag: 'Console',
  summary:
    'Pauses every active mandate of the active agents of the account and environment, and voids their open proofs. Every payment is denied after the response.',
  roles: ownerRoles,
  responses: { 200: Stopped },
  responseDescriptions: {
    200: 'Every active mandate was paused, except those counted in `failed_mandates`. Mandates paused by an earlier stop now belong to this one: only undoing this stop resumes them.',
  },
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
  summary: 'Resumes the mandates paused by the last stop, unless their status was changed since.',
  roles: ownerRoles,
  body: Type.Object(
    {
      stop_id: Type.Optional(
        described(
          Nullable(Text(maxLengths.id)),
          'Id of the stop to undo; null or omitted for every stop. Undoing a stop that is not the last one resumes nothing. Without an id, nothing is resumed while a stop still goes through the mandates.',
        ),
      ),
      stop_number: Type.Optional(
        described(
          Nullable(Type.Integer({ minimum: 0 })),
          'Number of the last stop that the caller saw, as in the status: the request is refused if another one has begun since. Null or omitted for whichever stop is the last.',
        ),
      ),
    },
    { title: 'ResumeRequest' },
  ),
  responses: { 200: Resumed },
  responseDescriptions: {
    200: 'The mandates paused by the stop, and not changed since, are active.',
  },
  errors: ['another_stop'],
})

import { Type, type Static } from '../schema/type.ts'

import { readerRoles } from '../roles.ts'
import { endpoint } from '../endpoint.ts'
import { described, Timestamp } from '../fields.ts'

export const ConsoleStatus = Type.Object({
  at: described(Timestamp, "Current time of the service's clock, with the test clock."),
  clock_offset_seconds: Type.Number({
    minimum: 0,
    description: 'How far the test clock of the sandbox is ahead, in seconds. 0 in production.',
  }),
  stopped_mandates: Type.Integer({
    description: 'Number of mandates paused by a stop and still paused.',
  }),
  stop_number: Type.Integer({
    minimum: 0,
    description:
      'Number of stops so far, and so of the last one: a resumption that names it resumes no later stop.',
  }),
  pending_approvals: Type.Integer({
    description: 'Number of approvals that wait for a decision.',
  }),
})
export type ConsoleStatus = Static<typeof ConsoleStatus>

export const getConsoleStatus = endpoint({
  id: 'getConsoleStatus',
  method: 'GET',
  path: '/v1/console/status',
  tag: 'Console',
  summary:
    'Returns whether agents are stopped, and how many approvals wait; a response also means that the database is reachable. Cheap enough to poll every two seconds, and does not count as use of a session.',
  roles: readerRoles,
  responses: { 200: ConsoleStatus },
  responseDescriptions: { 200: 'The database is reachable.' },
  errors: ['query_too_slow'],
})

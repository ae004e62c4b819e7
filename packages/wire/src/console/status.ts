import { Type, type Static } from 'typebox'

import { ownerRoles } from '../roles.ts'
import { endpoint } from '../endpoint.ts'
import { described, Timestamp } from '../fields.ts'

export const ConsoleStatus = Type.Object({
  at: described(Timestamp, "The time on the service's clock."),
  stopped_mandates: Type.Integer({
    description: 'Number of mandates that a stop paused and that are still paused.',
  }),
})
export type ConsoleStatus = Static<typeof ConsoleStatus>

export const getConsoleStatus = endpoint({
  id: 'getConsoleStatus',
  method: 'GET',
  path: '/v1/console/status',
  tag: 'Console',
  summary:
    'Whether agents are stopped; an answer also means that the service reaches its database. Cheap enough to ask every two seconds, and does not count as use of a session.',
  roles: ownerRoles,
  responses: { 200: ConsoleStatus },
  responseDescriptions: { 200: 'The service reaches its database.' },
  errors: ['query_too_slow'],
})

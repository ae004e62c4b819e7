import { Type, type Static } from '../schema/type.ts'

import { readerRoles } from '../roles.ts'
import { endpoint } from '../endpoint.ts'
import { described, Environment, Text } from '../fields.ts'
import { NamedTransaction } from './transactions.ts'
import { maxLengths } from '../lengths.ts'
import { PageOf } from '../pages.ts'

/** The data of one event `transactions`, oldest first. */
export const FeedEvent = Type.Object({
  transactions: described(PageOf(NamedTransaction), 'New transactions, oldest first.'),
  has_gap: Type.Boolean({
    description: 'Whether older transactions were skipped; the list of transactions has all of them.',
  }),
})
export type FeedEvent = Static<typeof FeedEvent>

/** Why the service ended a feed: the data of the event `end`. */
export const feedEnds = ['signed_out', 'service_stopping'] as const
export type FeedEnd = (typeof feedEnds)[number]

export const streamTransactions = endpoint({
  id: 'streamTransactions',
  method: 'GET',
  path: '/v1/console/feed',
  tag: 'Console',
  summary: 'Streams transactions as server-sent events, resumed after `Last-Event-ID`.',
  roles: readerRoles,
  query: Type.Object({
    environment: Type.Optional(
      described(
        Environment,
        'Same as the header `X-Purser-Environment`, for browsers, which cannot set headers here.',
      ),
    ),
    last_event_id: Type.Optional(
      Text(maxLengths.feedPlace, {
        description: 'Same as the header `Last-Event-ID`, for clients that cannot set it.',
      }),
    ),
  }),
  produces: 'text/event-stream',
  responses: { 200: FeedEvent },
  responseDescriptions: {
    200: 'A continuous stream of server-sent events. Each event `transactions` has this object as its data; an event `end` says why the service ends the stream.',
  },
  errors: ['too_many_streams'],
})

import { Type, type Static } from 'typebox'

import { ownerRoles } from '../roles.ts'
import { endpoint } from '../endpoint.ts'
import { described, Environment, Text } from '../fields.ts'
import { NamedTransaction } from './transactions.ts'
import { maxLengths } from '../lengths.ts'
import { PageOf } from '../pages.ts'

/** The data of one event `transactions`, oldest first. */
export const FeedEvent = Type.Object({
  transactions: described(PageOf(NamedTransaction), 'What was recorded, oldest first.'),
  has_gap: Type.Boolean({
    description:
      'Whether more was recorded before these than the feed carries; the list of transactions has all.',
  }),
})
export type FeedEvent = Static<typeof FeedEvent>

/** Why a feed ends from this side: the data of the event `end`. */
export const feedEnds = ['signed_out', 'service_stopping'] as const
export type FeedEnd = (typeof feedEnds)[number]

export const streamTransactions = endpoint({
  id: 'streamTransactions',
  method: 'GET',
  path: '/v1/console/feed',
  tag: 'Console',
  summary: 'Server-sent events: transactions as they happen, resumed after `Last-Event-ID`.',
  roles: ownerRoles,
  query: Type.Object({
    environment: Type.Optional(
      described(
        Environment,
        'As the header `X-Purser-Environment`, for a browser, which cannot set one here.',
      ),
    ),
    last_event_id: Type.Optional(
      Text(maxLengths.feedPlace, { description: 'As the header `Last-Event-ID`, for who cannot set one.' }),
    ),
  }),
  produces: 'text/event-stream',
  responses: { 200: FeedEvent },
  responseDescriptions: {
    200: 'A stream of server-sent events that does not end by itself. Each event `transactions` has this object as its data; an event `end` says why the service ends the stream.',
  },
  errors: ['too_many_streams'],
})

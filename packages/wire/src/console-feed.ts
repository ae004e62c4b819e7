import { Type, type Static } from 'typebox'

import { ownerRoles } from './api-keys.ts'
import { endpoint } from './endpoint.ts'
import { environments, OneOf } from './fields.ts'
import { Transaction } from './transactions.ts'

/** The data of one event `transactions`, oldest first. */
export const FeedEvent = Type.Object({
  transactions: Type.Array(Transaction),
  has_gap: Type.Boolean({
    description: 'More happened before these than the feed carries; the list of transactions has all.',
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
    environment: Type.Optional(OneOf(environments)),
    last_event_id: Type.Optional(Type.String({ description: 'As the header, for who cannot set one.' })),
  }),
  produces: 'text/event-stream',
  responses: { 200: FeedEvent },
  errors: ['too_many_streams'],
})

import { Type, type Static } from '../schema/type.ts'

import { endpoint } from '../endpoint.ts'
import { described, NetSum, Nullable, OneOf, Sum, Text, Timestamp } from '../fields.ts'
import { maxItems, maxLengths } from '../lengths.ts'
import { readerRoles } from '../roles.ts'

/** The periods of the spending screen. */
export const spendingPeriods = ['24h', '7d', '30d'] as const

/** What spending can be split by. */
export const spendingSplits = ['agent', 'seller', 'category'] as const

const maxBuckets = 30

export const TimeZone = Type.String({
  format: 'time-zone',
  maxLength: maxLengths.word,
  examples: ['Europe/Berlin'],
})

const NetSums = Type.Array(NetSum, { maxItems: maxBuckets })

export const SpendingBucket = Type.Object({
  starts_at: described(Timestamp, 'Start of the bucket.'),
  ends_at: described(Timestamp, 'End of the bucket, which may be later than now.'),
  spent: NetSum,
  paid_count: Type.Integer({ description: 'Number of payments.' }),
  paid_total: described(Sum, 'Sum of those payments in USDC.'),
  refunded_count: Type.Integer({ description: 'Number of refunds, of payments in any bucket.' }),
  refunded_total: described(Sum, 'Sum of those refunds in USDC.'),
  denied_count: Type.Integer({ description: 'Number of denied evaluations and refused proofs.' }),
})
export type SpendingBucket = Static<typeof SpendingBucket>

export const SpendingPart = Type.Object({
  subject: Text(maxLengths.description, {
    description: 'Id of the agent, domain of the seller, or the category.',
  }),
  name: described(
    Nullable(Text(maxLengths.name)),
    'Name of the agent, if the parts are agents; null otherwise.',
  ),
  spent: described(NetSum, 'Payments minus refunds in the period.'),
  buckets: described(NetSums, 'The same for each bucket.'),
})
export type SpendingPart = Static<typeof SpendingPart>

export const SpendingSplit = Type.Object({
  by: described(OneOf(spendingSplits), 'What the parts are.'),
  parts: Type.Array(SpendingPart, {
    maxItems: maxItems.spendingParts,
    description: 'The five with most spending, most first.',
  }),
  rest: Type.Object(
    {
      spent: described(NetSum, 'Payments minus refunds of all others in the period.'),
      buckets: described(NetSums, 'The same for each bucket.'),
    },
    {
      title: 'SpendingRest',
      description: 'All others. For categories, this includes payments without a category.',
    },
  ),
})

export const Spending = Type.Object({
  at: described(Timestamp, 'The time of the figures.'),
  period: described(OneOf(spendingPeriods), 'The period, as requested.'),
  starts_at: described(Timestamp, 'Start of the period.'),
  ends_at: described(Timestamp, 'End of the period: that of the current quarter of an hour.'),
  spent: described(NetSum, 'Payments minus refunds in the period.'),
  paid_count: Type.Integer({ description: 'Number of payments in the period.' }),
  buckets: Type.Array(SpendingBucket, {
    maxItems: maxBuckets,
    description: 'Hours for `24h`, days in `time_zone` otherwise; oldest first. The last one is incomplete.',
  }),
  previous: Type.Object(
    {
      starts_at: described(Timestamp, 'Start of the previous period.'),
      ends_at: described(Timestamp, 'Its end: on the last day, the same time of day as now.'),
      spent: described(NetSum, 'Payments minus refunds in the previous period.'),
      paid_count: Type.Integer({ description: 'Number of payments in the previous period.' }),
      buckets: described(NetSums, 'Payments minus refunds in each bucket of the previous period.'),
    },
    { title: 'PreviousSpending', description: 'The period before, as long as this one is so far.' },
  ),
  split: described(Nullable(SpendingSplit), 'The parts of the sums; null if none were requested.'),
})
export type Spending = Static<typeof Spending>

export const getSpending = endpoint({
  id: 'getSpending',
  method: 'GET',
  path: '/v1/console/spending',
  tag: 'Console',
  summary:
    'Returns what was spent in a period and in the one before, in total and by agent, seller or category.',
  roles: readerRoles,
  query: Type.Object({
    period: Type.Optional(
      described(OneOf(spendingPeriods), 'The last 24 hours, or 7 or 30 days with today; `24h` by default.'),
    ),
    time_zone: Type.Optional(
      described(TimeZone, 'The time zone in which days start, as an IANA name; `UTC` by default.'),
    ),
    split: Type.Optional(described(OneOf(spendingSplits), 'What to split the sums by; nothing by default.')),
  }),
  responses: { 200: Spending },
  responseDescriptions: { 200: 'The sums of the account in one environment.' },
  errors: ['query_too_slow'],
})

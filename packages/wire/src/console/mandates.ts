import { Type, type Static } from '../schema/type.ts'

import { readerRoles } from '../roles.ts'
import { Activity } from './overview.ts'
import { TimeZone } from './spending.ts'
import { endpoint } from '../endpoint.ts'
import { described, Id, Name, OneOf, Sum, Text } from '../fields.ts'
import { Budget } from '../limits/budgets.ts'
import { LimitUsages } from '../limits/limits.ts'
import { Mandate, mandateStatuses } from '../mandates.ts'
import { PageOf, pageParameters } from '../pages.ts'
import { ProofRecord } from '../payments.ts'
import { maxItems, maxLengths } from '../lengths.ts'

/** A mandate with additional fields for tables. */
export const ListedMandate = Type.Object({
  ...Mandate.properties,
  agent_name: described(Name, 'Name of its agent.'),
  is_agent_revoked: Type.Boolean({
    description: 'Whether its agent is revoked, so that nothing can be spent regardless of `status`.',
  }),
  is_stopped: Type.Boolean({ description: 'Whether it was paused by stopping all agents.' }),
})
export type ListedMandate = Static<typeof ListedMandate>

/** The status filter of a list of mandates. Mandates of a revoked agent are neither active nor paused. */
export const listedStatuses = [...mandateStatuses, 'expired', 'agent_revoked'] as const
export type ListedStatus = (typeof listedStatuses)[number]
export const ListedStatus = OneOf(listedStatuses)

const MandateParams = Type.Object({ mandate_id: described(Id, 'Id of the mandate.') })

export const listConsoleMandates = endpoint({
  id: 'listConsoleMandates',
  method: 'GET',
  path: '/v1/console/mandates',
  tag: 'Console',
  summary:
    'Lists mandates, newest first. A page may have fewer items than requested although `Link` has a next page.',
  roles: readerRoles,
  query: Type.Object({
    ...pageParameters,
    agent_id: Type.Optional(described(Id, 'Only mandates of this agent.')),
    budget_id: Type.Optional(
      described(
        Id,
        'Only mandates below this shared budget, at any level; not those that are only below it through their agents.',
      ),
    ),
    status: Type.Optional(described(ListedStatus, 'Only mandates in this state.')),
    q: Type.Optional(
      Text(maxLengths.search, {
        description: 'Only mandates with this text in their purpose, ignoring case.',
      }),
    ),
  }),
  responses: { 200: PageOf(ListedMandate) },
  responseDescriptions: { 200: 'A page of mandates.' },
  errors: ['query_too_slow'],
})

export const MandateDetail = Type.Object({
  ...ListedMandate.properties,
  usage: LimitUsages,
  budgets: Type.Array(Budget, {
    maxItems: maxItems.budgetsAbove,
    description: 'The shared budgets that its payments count in, nearest first.',
  }),
  paid_count: Type.Integer({ description: 'Number of verified payments.' }),
  denied_count: Type.Integer({ description: 'Number of denied evaluations.' }),
  open_holds: Type.Array(ProofRecord, {
    maxItems: maxItems.openHolds,
    description:
      'Open proofs, soonest expiry first, at most 100; `held_total` includes all. One that a frozen budget has ended is `voided`: it holds its amount until the mandate requests a proof, or until it would have expired.',
  }),
})
export type MandateDetail = Static<typeof MandateDetail>

export const getConsoleMandate = endpoint({
  id: 'getConsoleMandate',
  method: 'GET',
  path: '/v1/console/mandates/{mandate_id}',
  tag: 'Console',
  summary: 'Returns a mandate with its open holds, the usage of its limits, and its shared budgets.',
  roles: readerRoles,
  params: MandateParams,
  responses: { 200: MandateDetail },
  responseDescriptions: { 200: 'The mandate.' },
  errors: ['not_found', 'query_too_slow'],
})

/** The bucket widths of spend over time. */
export const spendSteps = ['hour', 'day'] as const
export const SpendStep = OneOf(spendSteps)

export const MandateSpend = Type.Object({
  mandate_id: described(Id, 'Id of the mandate.'),
  step: described(SpendStep, 'Width of a bucket.'),
  spent_before: described(Sum, 'Sum in USDC of payments before the first bucket.'),
  buckets: Type.Array(Activity, {
    maxItems: maxItems.buckets,
    description: 'The buckets, oldest first, including empty ones.',
  }),
})
export type MandateSpend = Static<typeof MandateSpend>

export const getMandateSpend = endpoint({
  id: 'getMandateSpend',
  method: 'GET',
  path: '/v1/console/mandates/{mandate_id}/spend',
  tag: 'Console',
  summary: 'Returns the spend of a mandate over time.',
  roles: readerRoles,
  params: MandateParams,
  query: Type.Object({
    starts_at: Type.Optional(
      Type.String({
        format: 'date-time',
        maxLength: maxLengths.timestamp,
        description:
          'Start of the first bucket, as a time with a time zone, rounded down to a quarter of an hour; at the latest now. By default, the last bucket is the current one.',
      }),
    ),
    step: Type.Optional(described(SpendStep, 'Width of a bucket; `day` by default.')),
    time_zone: Type.Optional(
      described(
        TimeZone,
        'With `day`: buckets are the days of this time zone, given as an IANA name; the first is the day of `starts_at`. By default, each has 24 hours.',
      ),
    ),
    buckets: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: maxItems.buckets,
        default: 30,
        description: 'Number of buckets.',
      }),
    ),
  }),
  responses: { 200: MandateSpend },
  responseDescriptions: { 200: 'The spend, in buckets.' },
  errors: ['not_found', 'query_too_slow'],
})

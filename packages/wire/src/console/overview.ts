import { Type, type Static } from '../schema/type.ts'

import { readerRoles } from '../roles.ts'
import { endpoint } from '../endpoint.ts'
import { described, Id, Name, NetSum, Nullable, Purpose, Sum, Text, Timestamp } from '../fields.ts'
import { LimitScope } from '../limits/limits.ts'
import { DenialCode, denialCodes } from '../policy.ts'
import { maxItems, maxLengths } from '../lengths.ts'
import { TimeZone } from './spending.ts'

/** The activity in one bucket of time. Amounts are sums of payments. */
export const Activity = Type.Object({
  starts_at: described(Timestamp, 'Start of the bucket.'),
  paid_count: Type.Integer({ description: 'Number of verified payments.' }),
  paid_total: described(Sum, 'Sum of those payments in USDC; refunds are not deducted.'),
  refunded_count: Type.Integer({ description: 'Number of refunds, of payments in any bucket.' }),
  refunded_total: described(Sum, 'Sum of those refunds in USDC.'),
  approved_count: Type.Integer({ description: 'Number of approved evaluations.' }),
  denied_count: Type.Integer({ description: 'Number of denied evaluations and refused proofs.' }),
})
export type Activity = Static<typeof Activity>

/** An active mandate, and when its budget runs out at the rate of the last 24 hours. */
export const NearBudget = Type.Object({
  mandate_id: described(Id, 'Id of the mandate.'),
  agent_id: described(Id, 'Agent of the mandate.'),
  agent_name: described(Name, 'Name of that agent.'),
  purpose: Purpose,
  max_spend_total: described(Sum, 'Total budget in USDC, as provided.'),
  spent_total: described(Sum, 'Sum of its verified payments in USDC.'),
  held_total: described(Sum, 'Sum in USDC held by its open proofs.'),
  authorized_total: described(Sum, 'Sum in USDC of its authorized payments.'),
  remaining_budget: described(Sum, '`max_spend_total` minus `spent_total` in USDC.'),
  spent_last_day: described(NetSum, 'Payments minus refunds in USDC since `last_day_starts_at`.'),
  exhausted_at: described(
    Nullable(Timestamp),
    'When the budget runs out at the rate of the last 24 hours; null if nothing was spent in them, or if the mandate expires before.',
  ),
  expires_at: described(Timestamp, 'When the mandate expires, as provided.'),
})
export type NearBudget = Static<typeof NearBudget>

/** The steps to a first purchase, each done or not. */
export const Checklist = Type.Object({
  agent: Type.Boolean({ description: 'Whether there is an agent.' }),
  mandate: Type.Boolean({ description: 'Whether there is a mandate.' }),
  seller: Type.Boolean({ description: 'Whether there is a seller.' }),
  proof: Type.Boolean({ description: 'Whether a proof was issued.' }),
  paid: Type.Boolean({ description: 'Whether a payment was verified.' }),
})
export type Checklist = Static<typeof Checklist>

export const Overview = Type.Object({
  at: described(Timestamp, 'The time of the figures.'),
  day_starts_at: described(Timestamp, 'When today began: midnight in `time_zone`.'),
  spent_today: described(NetSum, 'Payments minus refunds in USDC since `day_starts_at`.'),
  paid_today: Type.Integer({ description: 'Number of payments since `day_starts_at`.' }),
  remaining: described(
    Sum,
    'Total budgets minus the amounts spent, in USDC, of active, unexpired mandates of agents that are not revoked.',
  ),
  active_mandates: Type.Integer({ description: 'Number of those mandates.' }),
  open_holds: Type.Object(
    {
      count: Type.Integer({ description: 'Number of open proofs; 10,000 means 10,000 or more.' }),
      amount: described(Sum, 'Sum in USDC held by them.'),
    },
    { title: 'OpenHolds', description: 'Proofs that can still be charged.' },
  ),
  authorized: Type.Object(
    {
      count: Type.Integer({ description: 'Number of authorized payments.' }),
      amount: described(Sum, 'Their sum in USDC.'),
    },
    {
      title: 'AuthorizedPayments',
      description: 'Payments that their merchants may capture until their deadlines.',
    },
  ),
  last_day_starts_at: described(Timestamp, 'Start of the last 24 hours, at a quarter of an hour.'),
  denied_last_day: Type.Integer({
    description:
      'Number of denied evaluations and refused proofs in the last 24 hours. Of the proofs refused under one mandate, the first ten of each minute are transactions and are counted in `denial_reasons`.',
  }),
  hours: Type.Array(Activity, {
    maxItems: 24,
    description: '24 buckets of one hour, oldest first; the last one is incomplete.',
  }),
  nearest_budgets: Type.Array(NearBudget, {
    maxItems: maxItems.nearestBudgets,
    description: 'Active mandates, closest to their limit first.',
  }),
  denial_reasons: Type.Array(
    Type.Object(
      {
        reason_code: described(DenialCode, 'The check that failed.'),
        denied_count: Type.Integer({ description: 'Number of transactions denied for it.' }),
      },
      { title: 'DenialCount', description: 'Number of denials for one reason.' },
    ),
    {
      maxItems: denialCodes.length,
      description: 'Denials of the last 24 hours by reason, most frequent first.',
    },
  ),
  stopped_mandates: Type.Integer({
    description: 'Number of mandates paused by a stop and still paused.',
  }),
  frozen_budgets: Type.Integer({
    description: 'Number of frozen shared budgets, below which no new payment is made.',
  }),
  full_limits: Type.Object(
    {
      mandates: Type.Integer({ description: 'Number of active mandates with such a limit of their own.' }),
      budgets: Type.Integer({
        description: 'Number of shared budgets with such a limit that are not frozen.',
      }),
      named: Type.Array(
        Type.Object(
          {
            scope: described(LimitScope, 'Whether it is a mandate or a shared budget.'),
            id: described(Id, 'Id of the mandate or the shared budget.'),
            name: Text(maxLengths.purpose, {
              description: 'Purpose of the mandate, or name of the shared budget.',
            }),
          },
          { title: 'FullLimit', description: 'A mandate or a shared budget with a full limit.' },
        ),
        { maxItems: maxItems.nearestBudgets, description: 'The first five of them.' },
      ),
    },
    {
      title: 'FullLimits',
      description:
        'Limits with the action `deny`, counted together for all sellers, that admit no payment now; of the 1,000 mandates and 1,000 shared budgets that changed last.',
    },
  ),
  checklist: described(Checklist, 'The steps to a first purchase, each done or not.'),
})
export type Overview = Static<typeof Overview>

export const getOverview = endpoint({
  id: 'getOverview',
  method: 'GET',
  path: '/v1/console/overview',
  tag: 'Console',
  summary: 'Returns the overview: spend, budgets, denials and stops.',
  roles: readerRoles,
  query: Type.Object({
    time_zone: Type.Optional(
      described(TimeZone, 'The time zone in which today begins, as an IANA name; `UTC` by default.'),
    ),
  }),
  responses: { 200: Overview },
  responseDescriptions: { 200: 'The figures of the account in one environment.' },
  errors: ['query_too_slow'],
})

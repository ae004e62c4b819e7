import { Type, type Static } from 'typebox'

import { ownerRoles } from '../roles.ts'
import { endpoint } from '../endpoint.ts'
import { described, Id, Name, Nullable, Purpose, Sum, Timestamp } from '../fields.ts'
import { DenialCode, denialCodes } from '../policy.ts'
import { maxItems, maxLengths } from '../lengths.ts'

/** What happened in one stretch of time. Amounts are sums of what was paid. */
export const Activity = Type.Object({
  starts_at: described(Timestamp, 'When the bucket begins.'),
  paid_count: Type.Integer({ description: 'Number of verified payments.' }),
  paid_total: described(Sum, 'Sum of those payments in USDC.'),
  approved_count: Type.Integer({ description: 'Number of evaluations that were approved.' }),
  denied_count: Type.Integer({ description: 'Number of evaluations and proofs that were denied.' }),
})
export type Activity = Static<typeof Activity>

/** An active mandate, and when its budget ends if it is spent as in the last 24 hours. */
export const NearBudget = Type.Object({
  mandate_id: described(Id, 'Id of the mandate.'),
  agent_id: described(Id, 'Agent that the mandate is for.'),
  agent_name: described(Name, 'Name of that agent.'),
  purpose: Purpose,
  max_spend_total: described(Sum, 'Total budget in USDC, as it was written.'),
  spent_total: described(Sum, 'Sum of its verified payments in USDC.'),
  held_total: described(Sum, 'Sum in USDC that its open proofs hold.'),
  remaining_budget: described(Sum, '`max_spend_total` minus `spent_total` in USDC.'),
  spent_last_day: described(Sum, 'Sum in USDC of what was paid since `last_day_starts_at`.'),
  exhausted_at: described(
    Nullable(Timestamp),
    'When the budget ends if it is spent as in the last 24 hours; null when nothing was paid in them, or the mandate expires before.',
  ),
  expires_at: described(Timestamp, 'When the mandate ends, as it was written.'),
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
  at: described(Timestamp, 'The moment that the figures are of.'),
  day_starts_at: described(Timestamp, 'When today began, as it was asked for.'),
  spent_today: described(Sum, 'Sum in USDC of what was paid since `day_starts_at`.'),
  paid_today: Type.Integer({ description: 'Number of payments since `day_starts_at`.' }),
  remaining: described(
    Sum,
    'Total budgets minus what is spent, in USDC, over mandates that are active and not expired, of agents that are not revoked.',
  ),
  active_mandates: Type.Integer({ description: 'Number of those mandates.' }),
  open_holds: Type.Object(
    {
      count: Type.Integer({ description: 'Number of open proofs; 10,000 means that many or more.' }),
      amount: described(Sum, 'Sum in USDC that they hold.'),
    },
    { title: 'OpenHolds', description: 'The proofs that can still be charged.' },
  ),
  last_day_starts_at: described(Timestamp, 'When the last 24 hours begin, at a quarter of an hour.'),
  denied_last_day: Type.Integer({
    description:
      'Number of evaluations and proofs that were denied in them. Of the proofs of one mandate the first ten of a minute are transactions, and counted in `denial_reasons`.',
  }),
  hours: Type.Array(Activity, {
    maxItems: 24,
    description: '24 buckets of one hour, oldest first; the last one is not over.',
  }),
  nearest_budgets: Type.Array(NearBudget, {
    maxItems: maxItems.nearestBudgets,
    description: 'Active mandates, the one closest to its limit first.',
  }),
  denial_reasons: Type.Array(
    Type.Object(
      {
        reason_code: described(DenialCode, 'The check that failed.'),
        denied_count: Type.Integer({ description: 'Number of transactions that were denied for it.' }),
      },
      { title: 'DenialCount', description: 'How often one reason stood in the way.' },
    ),
    {
      maxItems: denialCodes.length,
      description: 'Denials of the last 24 hours by reason, the most frequent first.',
    },
  ),
  stopped_mandates: Type.Integer({
    description: 'Number of mandates that a stop paused and that are still paused.',
  }),
  checklist: described(Checklist, 'The steps to a first purchase, each done or not.'),
})
export type Overview = Static<typeof Overview>

export const getOverview = endpoint({
  id: 'getOverview',
  method: 'GET',
  path: '/v1/console/overview',
  tag: 'Console',
  summary: 'Whether anything is wrong, and how much is gone.',
  roles: ownerRoles,
  query: Type.Object({
    day_starts_at: Type.Optional(
      Type.String({
        format: 'date-time',
        maxLength: maxLengths.timestamp,
        description:
          'When today began for whoever looks, as time with its zone, rounded down to a quarter of an hour; midnight UTC when left out.',
      }),
    ),
  }),
  responses: { 200: Overview },
  responseDescriptions: { 200: 'The figures of the account in one environment.' },
  errors: ['query_too_slow'],
})

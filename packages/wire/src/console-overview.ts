import { Type, type Static } from 'typebox'

import { ownerRoles } from './api-keys.ts'
import { endpoint } from './endpoint.ts'
import { Id, Nullable, OneOf, Sum, Timestamp } from './fields.ts'
import { denialCodes } from './policy.ts'

/** What happened in one stretch of time. Amounts are sums of what was paid. */
export const Activity = Type.Object({
  starts_at: Timestamp,
  paid_count: Type.Integer(),
  paid_total: Sum,
  approved_count: Type.Integer(),
  denied_count: Type.Integer(),
})
export type Activity = Static<typeof Activity>

/** An active mandate, and when its budget ends if it is spent as in the last 24 hours. */
export const NearBudget = Type.Object({
  mandate_id: Id,
  agent_id: Id,
  agent_name: Type.String(),
  purpose: Type.String(),
  max_spend_total: Type.String(),
  spent_total: Sum,
  held_total: Sum,
  remaining_budget: Sum,
  /** What was paid in the last 24 hours. */
  spent_last_day: Sum,
  exhausted_at: Type.Unsafe<string | null>({
    ...Nullable(Timestamp),
    description: 'Null when nothing was paid in the last 24 hours, or the mandate expires before.',
  }),
  expires_at: Timestamp,
})
export type NearBudget = Static<typeof NearBudget>

/** The steps to a first purchase, each done or not. */
export const Checklist = Type.Object({
  agent: Type.Boolean(),
  mandate: Type.Boolean(),
  seller: Type.Boolean(),
  proof: Type.Boolean(),
  paid: Type.Boolean(),
})
export type Checklist = Static<typeof Checklist>

export const Overview = Type.Object({
  /** The moment that the figures are of. */
  at: Timestamp,
  day_starts_at: Timestamp,
  spent_today: Sum,
  paid_today: Type.Integer(),
  /** Total minus spent, over mandates that are active and not expired, of agents that are not revoked. */
  remaining: Sum,
  active_mandates: Type.Integer(),
  /** Open holds; a count of 10,000 means that many or more. */
  open_holds: Type.Object({ count: Type.Integer(), amount: Sum }),
  /** The last 24 hours begin at a quarter of an hour. */
  last_day_starts_at: Timestamp,
  denied_last_day: Type.Integer({
    description: 'Denied evaluations and refused proofs: those of denial_reasons.',
  }),
  /** 24 stretches of one hour, oldest first; the last one is not over. */
  hours: Type.Array(Activity),
  nearest_budgets: Type.Array(NearBudget),
  /** Denied evaluations and refused proofs of the last 24 hours, by reason, most frequent first. */
  denial_reasons: Type.Array(
    Type.Object({
      reason_code: OneOf(denialCodes),
      evaluations: Type.Integer(),
      proofs: Type.Integer({
        description: 'Refused proofs are counted a few seconds late, and a crash may lose the latest.',
      }),
    }),
  ),
  /** Mandates that a stop paused and that are still paused. */
  stopped_mandates: Type.Integer(),
  checklist: Checklist,
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
        description: 'When today began for whoever looks, at a quarter of an hour; midnight UTC by default.',
      }),
    ),
  }),
  responses: { 200: Overview },
  errors: ['query_too_slow'],
})

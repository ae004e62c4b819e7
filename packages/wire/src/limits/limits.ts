import { Type, type Static } from '../schema/type.ts'

import {
  Amount,
  described,
  Id,
  Name,
  Nullable,
  OneOf,
  PaymentAmount,
  Text,
  Timestamp,
  noOtherFields,
} from '../fields.ts'
import { maxItems, maxLengths } from '../lengths.ts'

/** The units of calendar windows. */
export const calendarUnits = ['day', 'week', 'month', 'year'] as const
export const weekDays = [
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
  'sunday',
] as const

/**
 * What happens to a payment that does not fit. `deny`: it is refused. `require_approval`: it needs an approval. `notify`: it is
 * approved, and an event is recorded once a period.
 */
export const limitActions = ['deny', 'require_approval', 'notify'] as const
export const limitSubjects = ['seller', 'resource'] as const

export const CalendarWindow = Type.Object(
  {
    calendar: described(
      OneOf(calendarUnits),
      'Unit of the periods, which start at midnight in `time_zone`; or at the first instant of a day without midnight.',
    ),
    time_zone: Type.String({
      format: 'time-zone',
      maxLength: maxLengths.word,
      description: 'IANA time zone, such as `Europe/Berlin`.',
      examples: ['Europe/Berlin'],
    }),
    week_start: Type.Optional(
      described(OneOf(weekDays), 'First day of a week; only for weeks. Default `monday`.'),
    ),
    day_of_month: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 31,
        description:
          'The number of the day on which a month starts; only for months. In shorter months it is the last day. Default 1.',
      }),
    ),
  },
  { title: 'CalendarWindow', ...noOtherFields },
)

export const RollingWindow = Type.Object(
  {
    rolling_seconds: Type.Integer({
      minimum: 60,
      maximum: 2_678_400,
      description:
        'Length in seconds of a window that always ends now. It never admits more than the max in any such window, and counts at most 1/24 longer.',
    }),
  },
  { title: 'RollingWindow', ...noOtherFields },
)

/** The time over which a limit counts. */
export const LimitWindow = Type.Union([
  CalendarWindow,
  RollingWindow,
  Type.Literal('lifetime', { description: 'All payments ever made.' }),
])
export type LimitWindow = Static<typeof LimitWindow>

const MaxCount = Type.Integer({
  minimum: 1,
  maximum: 1_000_000_000,
  description: 'Max number of payments in a window.',
})

/** A requested limit. At least one max is needed. */
export const NewLimit = Type.Object(
  {
    window: described(
      LimitWindow,
      'When it counts: calendar periods, the last seconds, or `lifetime`. Payments count when their proof is issued.',
    ),
    max_amount: Type.Optional(
      described(
        Nullable(PaymentAmount),
        'Max sum of the payments in a window in USDC, as decimal text; null or omitted for none.',
      ),
    ),
    max_count: Type.Optional(
      described(Nullable(MaxCount), 'Max number of payments in a window; null or omitted for none.'),
    ),
    per: Type.Optional(
      described(
        Nullable(OneOf(limitSubjects)),
        'Counted separately for each host of a resource (`seller`), or for each normalized URL without its query (`resource`); null or omitted for all together. Not for shared budgets.',
      ),
    ),
    action: Type.Optional(
      described(
        OneOf(limitActions),
        'What happens to a payment that does not fit: `deny` (default) refuses it, `require_approval` asks a person, `notify` approves it and records an event once a period, and again after a change of the limit; with `per`, for the first host or URL that exceeds it.',
      ),
    ),
  },
  noOtherFields,
)
export type NewLimit = Static<typeof NewLimit>

export const Limit = Type.Object({
  id: described(Id, 'Id of the limit. It stays when only its max or action changes.'),
  window: described(LimitWindow, 'When it counts.'),
  max_amount: described(Nullable(Amount), 'Max sum in a window in USDC; null for none.'),
  max_count: described(Nullable(MaxCount), 'Max number of payments in a window; null for none.'),
  per: described(
    Nullable(OneOf(limitSubjects)),
    'Counts separately for each `seller` or `resource`; null for all together.',
  ),
  action: described(OneOf(limitActions), 'What happens to a payment that does not fit.'),
})
export type Limit = Static<typeof Limit>

export const NewLimits = Type.Array(NewLimit, {
  maxItems: maxItems.limits,
  description: 'Limits over time, in addition to the other limits; an empty list means none.',
  examples: [[{ window: { calendar: 'day', time_zone: 'Europe/Berlin' }, max_amount: '20.00' }]],
})
export const Limits = Type.Array(Limit, {
  maxItems: maxItems.limits,
  description: 'Limits over time; empty if there are none.',
})

/** The owner of the limit. */
export const limitScopes = ['mandate', 'budget'] as const

export const LimitScope = described(
  OneOf(limitScopes),
  'Whether it is a limit of the mandate or of a shared budget.',
)

/** The usage of a limit. */
export const LimitUsage = Type.Object({
  limit_id: described(Id, 'Id of the limit.'),
  scope: LimitScope,
  scope_id: described(Id, 'Id of the mandate or of the budget.'),
  period_starts_at: described(
    Nullable(Timestamp),
    'Start of the time whose payments count now; null for `lifetime`.',
  ),
  resets_at: described(
    Nullable(Timestamp),
    'When the next counted payment stops counting; null if none will.',
  ),
  committed: described(
    Nullable(Type.String({ maxLength: maxLengths.amount })),
    'What counts in USDC: held, authorized and spent, minus what was given back. Null for limits `per` seller or resource.',
  ),
  count: described(
    Nullable(Type.Integer({ minimum: 0 })),
    'Number of payments that count; null for limits `per` seller or resource.',
  ),
  max_amount: described(Nullable(Amount), 'Max sum in USDC; null for none.'),
  max_count: described(Nullable(MaxCount), 'Max number of payments; null for none.'),
})
export type LimitUsage = Static<typeof LimitUsage>

/** The usage of a mandate's limits, and of those of its budgets. */
export const LimitUsages = Type.Array(LimitUsage, {
  maxItems: maxItems.limitUsages,
  description: 'Usage of each limit: those of the mandate, then those of its shared budgets, nearest first.',
})

/** The limit that refuses a payment. */
export const RefusingLimit = Type.Object(
  {
    id: described(Id, 'Id of the limit.'),
    scope: LimitScope,
    scope_id: described(Id, 'Id of the mandate or of the budget.'),
    unit: described(OneOf(['amount', 'count']), 'Whether the amount or the number of payments is too high.'),
    max: Text(maxLengths.amount, {
      description: 'The max: an amount in USDC as decimal text, or a number as digits.',
    }),
    committed: Text(maxLengths.amount, { description: 'What counts so far, in the same unit.' }),
    resets_at: described(
      Nullable(Timestamp),
      'When there is room for this payment if nothing else is bought; null if never.',
    ),
  },
  { title: 'RefusingLimit', description: 'The limit that refuses the payment; only for checks 10 and 11.' },
)

/** The shared budget that refuses a payment. */
export const RefusingBudget = Type.Object(
  {
    id: described(Id, 'Id of the budget.'),
    name: described(Name, 'Name of the budget.'),
  },
  { title: 'RefusingBudget', description: 'The shared budget that refuses the payment; only for check 11.' },
)

/** What a refusal contains in addition to its reason. */
export const refusalDetails = {
  limit: Type.Optional(RefusingLimit),
  budget: Type.Optional(RefusingBudget),
}

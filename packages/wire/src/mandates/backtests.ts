import { Type, type Static } from '../schema/type.ts'

import { endpoint } from '../endpoint.ts'
import {
  AmountText,
  Category,
  described,
  Domain,
  Id,
  Nullable,
  OneOf,
  ReasonDetail,
  Sum,
  Text,
  Timestamp,
} from '../fields.ts'
import { maxItems, maxLengths } from '../lengths.ts'
import { NewLimits } from '../limits/limits.ts'
import { MandateAmendment } from '../mandates.ts'
import { decisions, ReasonCode } from '../policy.ts'
import { ownerRoles } from '../roles.ts'

/**
 * Why records are not judged. `shared_budget`: denied by a budget that other mandates count in.
 * `only_counted`: denied proofs beyond ten per minute have no record. `not_reproduced`: the current terms do
 * not lead to the recorded decision, because requests were concurrent, or an amount was released at an
 * unknown time.
 */
export const notJudgedReasons = ['shared_budget', 'only_counted', 'not_reproduced'] as const
export type NotJudgedReason = (typeof notJudgedReasons)[number]

const { end_holds: _endHolds, budget_id: _budgetId, ...draftedTerms } = MandateAmendment.properties

/** The terms to try; omitted ones are the mandate's. */
export const MandateDraft = Type.Object({ ...draftedTerms, limits: Type.Optional(NewLimits) })

export const BacktestRequest = Type.Object({
  draft: described(MandateDraft, 'The terms to try; omitted ones are the mandate’s.'),
  from: Type.Optional(
    described(
      Timestamp,
      'Only records at or after this time, with a time zone. By default 30 days before `to`.',
    ),
  ),
  to: Type.Optional(described(Timestamp, 'Only records before this time, with a time zone. By default now.')),
})

export const BacktestDecision = Type.Object({
  decision: described(OneOf(decisions), 'The decision.'),
  reason_code: described(ReasonCode, 'The check that denied it; `within_policy` if it was approved.'),
  reason_detail: described(Nullable(ReasonDetail), 'The amount and the limit; null if it was approved.'),
})

export const BacktestExample = Type.Object({
  kind: described(
    OneOf(['evaluation', 'proof', 'payment']),
    '`payment`: an issued proof. `proof`: a denied one. `evaluation`: a decision of evaluate.',
  ),
  transaction_id: described(
    Nullable(Id),
    'Transaction of the record; null for a payment that was not charged.',
  ),
  nonce: described(Nullable(Text(maxLengths.uuid)), 'UUID of the proof of a payment; null for a decision.'),
  created_at: described(Timestamp, 'When it was decided.'),
  amount: described(AmountText, 'Amount in USDC, as requested.'),
  resource_url: Text(maxLengths.url, { description: 'URL of the resource.' }),
  merchant_domain: described(
    Nullable(Domain),
    'Domain of the seller; null for a payment that was not charged.',
  ),
  category: described(Nullable(Category), 'Category of the payment; null if there was none.'),
  recorded: described(BacktestDecision, 'What was decided.'),
  drafted: described(BacktestDecision, 'What the draft decides.'),
})

export const BacktestCheck = Type.Object({
  check: Text(maxLengths.word, { description: 'Number of the check, such as `9` or `6a`.' }),
  reason_code: described(ReasonCode, 'Code of the denial, before or after.'),
  evaluations: Type.Integer({ minimum: 0, description: 'Number of evaluations.' }),
  payments: Type.Integer({ minimum: 0, description: 'Number of proofs, issued or denied.' }),
  amount: described(Sum, 'Sum of those proofs in USDC.'),
})

export const BacktestFlips = Type.Object({
  evaluations: Type.Integer({ minimum: 0, description: 'Number of evaluations.' }),
  payments: Type.Integer({ minimum: 0, description: 'Number of proofs, issued or denied.' }),
  amount: described(Sum, 'Sum of those proofs in USDC.'),
  by_check: Type.Array(BacktestCheck, {
    maxItems: maxItems.backtestChecks,
    description: 'The same by the check that denies, before or after.',
  }),
  examples: Type.Array(BacktestExample, {
    maxItems: maxItems.backtestExamples,
    description: 'The first ones, at most 10.',
  }),
})

export const Backtest = Type.Object({
  from: described(Timestamp, 'From when on records were judged.'),
  to: described(Timestamp, 'Up to when records were judged.'),
  is_complete: Type.Boolean({
    description:
      'Whether everything up to the requested time was judged. Otherwise there are too many records: continue from `to`.',
  }),
  judged: Type.Integer({
    minimum: 0,
    description: 'Number of judged records: evaluations and proofs.',
  }),
  to_denied: described(BacktestFlips, 'Approved records that the draft denies.'),
  to_approved: described(BacktestFlips, 'Denied records that the draft approves.'),
  not_judged: Type.Array(
    Type.Object(
      {
        reason: described(
          OneOf(notJudgedReasons),
          '`shared_budget`: denied by a budget that other mandates count in, too. `only_counted`: denied proofs without a record. `not_reproduced`: their circumstances are not known exactly.',
        ),
        count: Type.Integer({ minimum: 1, description: 'Number of records.' }),
      },
      { title: 'BacktestNotJudged' },
    ),
    { maxItems: notJudgedReasons.length, description: 'Records that were not judged, by reason.' },
  ),
})
export type Backtest = Static<typeof Backtest>

export const backtestMandate = endpoint({
  id: 'backtestMandate',
  method: 'POST',
  path: '/v1/mandates/{mandate_id}/backtests',
  tag: 'Mandates',
  summary:
    'Tries other terms on the history of a mandate: which decisions would have been different. Changes nothing.',
  roles: ownerRoles,
  params: Type.Object({ mandate_id: described(Id, 'Id of the mandate.') }),
  body: BacktestRequest,
  responses: { 200: Backtest },
  responseDescriptions: { 200: 'What the draft would have decided differently.' },
  errors: ['not_found', 'query_too_slow'],
  errorDescriptions: { store_unavailable: 'the store is unavailable; nothing was changed' },
})

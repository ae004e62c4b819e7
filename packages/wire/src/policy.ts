import { Type, type Static } from './schema/type.ts'

import { refusalDetails } from './limits/limits.ts'
import { ownerRoles } from './roles.ts'
import { endpoint } from './endpoint.ts'
import {
  Category,
  described,
  Domain,
  HttpUrl,
  Id,
  Metadata,
  Nullable,
  OneOf,
  PaymentAmount,
  ReasonDetail,
  UsdcByDefault,
} from './fields.ts'

/** Policy denial reason codes (Errors). */
export const denialCodes = [
  'agent_revoked',
  'mandate_expired',
  'merchant_not_allowed',
  'resource_not_allowed',
  'amount_exceeds_per_transaction_limit',
  'total_budget_exceeded',
  'velocity_limit_exceeded',
  'shared_budget_exceeded',
  'budget_frozen',
  'approval_required',
] as const
export type DenialCode = (typeof denialCodes)[number]
export const DenialCode = OneOf(denialCodes)

/** The reason for a decision. */
export const ReasonCode = OneOf(['within_policy', ...denialCodes])

export const decisions = ['approved', 'denied'] as const

/** A proposed payment: the request of evaluate and of verify-agent. */
export const ProposedPayment = Type.Object({
  agent_id: described(Id, 'Agent that would pay.'),
  mandate_id: described(Id, 'Mandate that it would pay from.'),
  merchant_domain: described(Domain, 'Domain of the seller, compared with `allowed_sellers`.'),
  amount: PaymentAmount,
  currency: UsdcByDefault,
  resource_url: described(
    HttpUrl,
    'URL of the resource, compared with `allowed_resources`; recorded, but not fetched.',
  ),
  category: Type.Optional(
    described(
      Nullable(Category),
      'Category of the payment, compared with `allowed_categories`; null or omitted for none.',
    ),
  ),
})
export type ProposedPayment = Static<typeof ProposedPayment>

/** The request of evaluate. */
export const EvaluateRequest = Type.Object({
  ...ProposedPayment.properties,
  metadata: Type.Optional(described(Metadata, 'Your own texts for the transaction, by name.')),
  dry_run: Type.Optional(
    Type.Boolean({
      description:
        'Whether only to decide: nothing is recorded, and `transaction_id` is null. Default false.',
    }),
  ),
})
export type EvaluateRequest = Static<typeof EvaluateRequest>

const decisionId = described(
  Nullable(Id),
  'Transaction that records the decision; null for a dry run, which records nothing.',
)

export const Approval = Type.Object({
  decision: Type.Literal('approved', { description: 'Always `approved`.' }),
  reason_code: Type.Literal('within_policy', { description: 'Always `within_policy`.' }),
  reason_detail: Type.Null({ description: 'Always null for an approval.' }),
  agent_id: described(Id, 'Agent of the request.'),
  mandate_id: described(Id, 'Mandate of the request.'),
  transaction_id: decisionId,
})

export const Denial = Type.Object({
  decision: Type.Literal('denied', { description: 'Always `denied`.' }),
  reason_code: described(DenialCode, 'The first check that failed.'),
  reason_detail: ReasonDetail,
  agent_id: described(Id, 'Agent of the request.'),
  mandate_id: described(Id, 'Mandate of the request.'),
  transaction_id: decisionId,
  ...refusalDetails,
})

export const evaluate = endpoint({
  id: 'evaluate',
  method: 'POST',
  path: '/v1/policy/evaluate',
  tag: 'Policy',
  summary: 'Runs all policy checks and records the outcome as a transaction.',
  roles: [...ownerRoles, 'agent'],
  body: EvaluateRequest,
  responses: { 200: Approval, 402: Denial },
  responseDescriptions: {
    200: 'Every check passed. Nothing is held or charged.',
    402: 'A check failed: `reason_code` is the check, `reason_detail` says what would help.',
  },
  errors: [],
})

import { Type, type Static } from 'typebox'

import { ownerRoles } from './api-keys.ts'
import { endpoint } from './endpoint.ts'
import { HttpUrl, Id, Nullable, OneOf, PaymentAmount, UsdcByDefault } from './fields.ts'

/** Policy denial reason codes (Errors). */
export const denialCodes = [
  'agent_revoked',
  'mandate_expired',
  'merchant_not_allowed',
  'amount_exceeds_per_transaction_limit',
  'total_budget_exceeded',
] as const
export type DenialCode = (typeof denialCodes)[number]

export const decisions = ['approved', 'denied'] as const

/** A proposed payment: the request of evaluate and of verify-agent. */
export const ProposedPayment = Type.Object({
  agent_id: Type.String(),
  mandate_id: Type.String(),
  merchant_domain: Type.String({ examples: ['api.example.com'] }),
  amount: PaymentAmount,
  currency: UsdcByDefault,
  resource_url: HttpUrl,
  category: Type.Optional(Nullable(Type.String())),
})
export type ProposedPayment = Static<typeof ProposedPayment>

export const Approval = Type.Object({
  decision: Type.Literal('approved'),
  reason_code: Type.Literal('within_policy'),
  reason_detail: Type.Null(),
  agent_id: Id,
  mandate_id: Id,
  transaction_id: Id,
})

export const Denial = Type.Object({
  decision: Type.Literal('denied'),
  reason_code: OneOf(denialCodes),
  reason_detail: Type.String({ description: 'What was asked for, the limit, and what would help.' }),
  agent_id: Id,
  mandate_id: Id,
  transaction_id: Id,
})

export const evaluate = endpoint({
  id: 'evaluate',
  method: 'POST',
  path: '/v1/policy/evaluate',
  tag: 'Policy',
  summary: 'Runs every policy check, creates a transaction and records the outcome.',
  roles: [...ownerRoles, 'agent'],
  body: ProposedPayment,
  responses: { 200: Approval, 402: Denial },
  errors: [],
})

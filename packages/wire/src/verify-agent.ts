import { Type, type Static } from 'typebox'

import { agentStatuses } from './agents.ts'
import { ownerRoles } from './api-keys.ts'
import { endpoint } from './endpoint.ts'
import { Id, OneOf } from './fields.ts'
import { denialCodes, ProposedPayment } from './policy.ts'

/** What can be odd about a payment that policy allows; each is described in docs/guides/risk.md. */
export const riskFlags = [
  'budget_nearly_spent',
  'expiry_near',
  'first_purchase_at_seller',
  'recent_denials',
  'unusual_rate',
] as const
export type RiskFlag = (typeof riskFlags)[number]

export const AgentReport = Type.Object({
  verified: Type.Boolean(),
  authorized: Type.Boolean(),
  payment_ready: Type.Boolean(),
  agent: Type.Object({
    id: Id,
    name: Type.String(),
    capabilities: Type.Array(Type.String()),
    status: OneOf([...agentStatuses, 'unknown']),
  }),
  mandate: Type.Object({
    id: Id,
    purpose: Type.String(),
    currency: Type.String(),
    remaining_budget: Type.String(),
    expires_at: Type.String(),
  }),
  risk: Type.Object({
    score: Type.Integer({ minimum: 0, maximum: 100 }),
    flags: Type.Array(OneOf(riskFlags)),
  }),
  recommendation: OneOf(['accept', 'deny']),
  reason_code: OneOf(['within_policy', ...denialCodes]),
})
export type AgentReport = Static<typeof AgentReport>

export const verifyAgent = endpoint({
  id: 'verifyAgent',
  method: 'POST',
  path: '/v1/verify-agent',
  tag: 'Verification',
  summary: 'Runs the policy checks and records nothing.',
  roles: [...ownerRoles, 'agent', 'merchant'],
  body: ProposedPayment,
  responses: { 200: AgentReport, 403: AgentReport },
  errors: [],
})

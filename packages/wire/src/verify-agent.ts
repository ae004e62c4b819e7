import { Type, type Static } from './schema/type.ts'

import { agentStatuses } from './agents.ts'
import { ownerRoles } from './roles.ts'
import { endpoint } from './endpoint.ts'
import { Capabilities, described, Id, Name, OneOf, Purpose, Sum, Text } from './fields.ts'
import { ProposedPayment, ReasonCode } from './policy.ts'
import { maxLengths } from './lengths.ts'

/** What can be unusual about a payment that policy allows; see docs/guides/risk.md. */
export const riskFlags = [
  'budget_nearly_spent',
  'expiry_near',
  'first_purchase_at_seller',
  'recent_denials',
  'unusual_rate',
] as const
export type RiskFlag = (typeof riskFlags)[number]
export const RiskFlag = OneOf(riskFlags)

export const AgentReport = Type.Object({
  verified: Type.Boolean({ description: 'Whether the agent exists and is active.' }),
  authorized: Type.Boolean({ description: 'Whether every check passed.' }),
  payment_ready: Type.Boolean({ description: 'Whether the agent can pay under this mandate.' }),
  agent: Type.Object(
    {
      id: described(Id, 'Id of the agent, as requested.'),
      name: described(Name, 'Name of the agent; `unknown` if there is no such agent.'),
      capabilities: described(
        Capabilities,
        'What the agent says it can do; empty if there is no such agent.',
      ),
      status: described(
        OneOf([...agentStatuses, 'unknown']),
        'Status of the agent; `unknown` if there is no such agent.',
      ),
    },
    { title: 'ReportedAgent', description: 'The agent in question.' },
  ),
  mandate: Type.Object(
    {
      id: described(Id, 'Id of the mandate, as requested.'),
      purpose: described(Purpose, 'What the budget is for; empty if there is no such mandate.'),
      currency: Text(maxLengths.word, { description: 'Currency of the amounts; always `USDC`.' }),
      remaining_budget: described(
        Sum,
        'Total budget minus the amount spent, in USDC; `0` if there is no such mandate.',
      ),
      expires_at: Text(maxLengths.timestamp, {
        description: 'When the mandate expires, as provided; empty if there is no such mandate.',
      }),
    },
    { title: 'ReportedMandate', description: 'The mandate in question.' },
  ),
  risk: Type.Object(
    {
      score: Type.Integer({
        minimum: 0,
        maximum: 100,
        description: 'From 0 (nothing unusual) to 100; it does not affect any decision.',
      }),
      flags: Type.Array(RiskFlag, {
        maxItems: riskFlags.length,
        description: 'What is unusual about the payment; empty if nothing is.',
      }),
    },
    { title: 'Risk', description: 'How unusual the payment is for this agent and mandate.' },
  ),
  recommendation: described(OneOf(['accept', 'deny']), '`accept` when `authorized`, `deny` otherwise.'),
  reason_code: described(ReasonCode, '`within_policy`, or the first check that failed.'),
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
  responseDescriptions: {
    200: 'Every check passed.',
    403: 'A check failed: `reason_code` is the check.',
  },
  errors: [],
})

import { Type, type Static } from '../schema/type.ts'

import { Agent } from '../agents.ts'
import { readerRoles } from '../roles.ts'
import { endpoint } from '../endpoint.ts'
import { described, Id, Sum } from '../fields.ts'
import { PageOf, pageParameters } from '../pages.ts'

/** An agent with its spend, and what revoking it would stop. */
export const AgentSummary = Type.Object({
  ...Agent.properties,
  spent_total: described(Sum, 'Sum of its verified payments in USDC, under all mandates.'),
  held_total: described(Sum, 'Sum in USDC held by its open proofs; revoking the agent releases it.'),
  open_holds: Type.Integer({
    description: 'Number of its open proofs; 10,000 means 10,000 or more.',
  }),
  authorized_total: described(
    Sum,
    'Sum in USDC of its authorized payments, which merchants may capture until their deadlines, even if the agent is revoked.',
  ),
  authorized_payments: Type.Integer({ description: 'Number of its authorized payments.' }),
  active_mandates: Type.Integer({
    description: 'Number of its active, unexpired mandates.',
  }),
  remaining_budget: described(Sum, 'Remaining budget of its active mandates in USDC.'),
  working_keys: Type.Integer({
    description: 'Number of unrevoked API keys bound to it. Those of a revoked agent can read, but not pay.',
  }),
})
export type AgentSummary = Static<typeof AgentSummary>

export const listConsoleAgents = endpoint({
  id: 'listConsoleAgents',
  method: 'GET',
  path: '/v1/console/agents',
  tag: 'Console',
  summary: 'Lists agents with their spend, newest first.',
  roles: readerRoles,
  query: Type.Object(pageParameters),
  responses: { 200: PageOf(AgentSummary) },
  responseDescriptions: { 200: 'A page of agents.' },
  errors: ['query_too_slow'],
})

export const getConsoleAgent = endpoint({
  id: 'getConsoleAgent',
  method: 'GET',
  path: '/v1/console/agents/{agent_id}',
  tag: 'Console',
  summary: 'Returns an agent with its spend, and what revoking it would stop.',
  roles: readerRoles,
  params: Type.Object({ agent_id: described(Id, 'Id of the agent.') }),
  responses: { 200: AgentSummary },
  responseDescriptions: { 200: 'The agent.' },
  errors: ['not_found', 'query_too_slow'],
})

import { Type, type Static } from 'typebox'

import { Agent } from '../agents.ts'
import { ownerRoles } from '../roles.ts'
import { endpoint } from '../endpoint.ts'
import { described, Id, Sum } from '../fields.ts'
import { PageOf, pageParameters } from '../pages.ts'

/** An agent with what it has spent, and what revoking it would stop. */
export const AgentSummary = Type.Object({
  ...Agent.properties,
  spent_total: described(Sum, 'Sum of its verified payments in USDC, under all mandates.'),
  held_total: described(Sum, 'Sum in USDC that its open proofs hold; revoking the agent ends them.'),
  open_holds: Type.Integer({
    description: 'Number of its open proofs; 10,000 means that many or more.',
  }),
  active_mandates: Type.Integer({
    description: 'Number of its mandates that are active and not expired.',
  }),
  remaining_budget: described(Sum, 'What is left in USDC of its active mandates.'),
  working_keys: Type.Integer({
    description: 'Number of API keys of the role `agent` that are bound to it and not revoked.',
  }),
})
export type AgentSummary = Static<typeof AgentSummary>

export const listConsoleAgents = endpoint({
  id: 'listConsoleAgents',
  method: 'GET',
  path: '/v1/console/agents',
  tag: 'Console',
  summary: 'Agents with their spend, newest first.',
  roles: ownerRoles,
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
  summary: 'One agent with its spend, and what revoking it would stop.',
  roles: ownerRoles,
  params: Type.Object({ agent_id: described(Id, 'Id of the agent.') }),
  responses: { 200: AgentSummary },
  responseDescriptions: { 200: 'The agent.' },
  errors: ['not_found', 'query_too_slow'],
})

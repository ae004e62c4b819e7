import { Type, type Static } from 'typebox'

import { Agent } from './agents.ts'
import { ownerRoles } from './api-keys.ts'
import { endpoint } from './endpoint.ts'
import { Sum } from './fields.ts'
import { pageParameters } from './pages.ts'

/** An agent with what it has spent, and what revoking it would stop. */
export const AgentSummary = Type.Object({
  ...Agent.properties,
  spent_total: Sum,
  /** What its open proofs hold; a revocation ends them. */
  held_total: Sum,
  open_holds: Type.Integer({ description: 'At most 10,000 are counted.' }),
  active_mandates: Type.Integer(),
  /** What is left of its active mandates. */
  remaining_budget: Sum,
  working_keys: Type.Integer({
    description: 'Keys of the role `agent` that are bound to it and not revoked.',
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
  responses: { 200: Type.Array(AgentSummary) },
  errors: ['query_too_slow'],
})

export const getConsoleAgent = endpoint({
  id: 'getConsoleAgent',
  method: 'GET',
  path: '/v1/console/agents/{agent_id}',
  tag: 'Console',
  summary: 'One agent with its spend, and what revoking it would stop.',
  roles: ownerRoles,
  params: Type.Object({ agent_id: Type.String() }),
  responses: { 200: AgentSummary },
  errors: ['not_found', 'query_too_slow'],
})

import { Type, type Static } from 'typebox'

import { ownerRoles } from './api-keys.ts'
import { endpoint } from './endpoint.ts'
import { Id, Nullable, OneOf, Timestamp } from './fields.ts'
import { PageQuery } from './pages.ts'

export const agentStatuses = ['active', 'revoked'] as const
export type AgentStatus = (typeof agentStatuses)[number]

export const Agent = Type.Object({
  id: Id,
  name: Type.String(),
  description: Nullable(Type.String()),
  capabilities: Type.Array(Type.String()),
  status: OneOf(agentStatuses),
  created_at: Timestamp,
  revoked_at: Nullable(Timestamp),
})
export type Agent = Static<typeof Agent>

export const NewAgent = Type.Object({
  name: Type.String({ examples: ['research-bot'] }),
  description: Type.Optional(Nullable(Type.String())),
  capabilities: Type.Optional(Type.Array(Type.String(), { default: [] })),
})

const AgentParams = Type.Object({ agent_id: Type.String() })

export const createAgent = endpoint({
  id: 'createAgent',
  method: 'POST',
  path: '/agents',
  tag: 'Agents',
  summary: 'Creates an agent.',
  roles: ownerRoles,
  body: NewAgent,
  responses: { 201: Agent },
  errors: [],
})

export const listAgents = endpoint({
  id: 'listAgents',
  method: 'GET',
  path: '/agents',
  tag: 'Agents',
  summary: 'Lists agents, newest first.',
  roles: [...ownerRoles, 'agent'],
  query: PageQuery,
  responses: { 200: Type.Array(Agent) },
  errors: [],
})

export const getAgent = endpoint({
  id: 'getAgent',
  method: 'GET',
  path: '/agents/{agent_id}',
  tag: 'Agents',
  summary: 'One agent.',
  roles: [...ownerRoles, 'agent'],
  params: AgentParams,
  responses: { 200: Agent },
  errors: ['not_found'],
})

export const revokeAgent = endpoint({
  id: 'revokeAgent',
  method: 'PATCH',
  path: '/agents/{agent_id}/revoke',
  tag: 'Agents',
  summary: 'Revokes an agent for good, and ends its open holds at once.',
  roles: ownerRoles,
  params: AgentParams,
  responses: { 200: Agent },
  errors: ['not_found'],
})

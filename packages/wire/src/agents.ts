import { Type, type Static } from 'typebox'

import { ownerRoles } from './roles.ts'
import { endpoint } from './endpoint.ts'
import { Capabilities, described, Id, Name, Nullable, OneOf, Text, Timestamp } from './fields.ts'
import { PageOf, PageQuery } from './pages.ts'
import { maxItems, maxLengths } from './lengths.ts'

export const agentStatuses = ['active', 'revoked'] as const
export type AgentStatus = (typeof agentStatuses)[number]
export const AgentStatus = OneOf(agentStatuses)

export const Agent = Type.Object({
  id: described(Id, 'Id of the agent.'),
  name: described(Name, 'Name of the agent, for people to read.'),
  description: described(
    Nullable(Text(maxLengths.description)),
    'What the agent does, in free text; null when it was not given.',
  ),
  capabilities: Capabilities,
  status: described(AgentStatus, 'Whether the agent can spend: never again once it is `revoked`.'),
  created_at: described(Timestamp, 'When the agent was created.'),
  revoked_at: described(Nullable(Timestamp), 'When it was revoked; null while it is active.'),
})
export type Agent = Static<typeof Agent>

export const NewAgent = Type.Object({
  name: Text(maxLengths.name, {
    description: 'Name of the agent, for people to read; several may have the same.',
    examples: ['research-bot'],
  }),
  description: Type.Optional(
    described(
      Nullable(Text(maxLengths.description)),
      'What the agent does, in free text; null or left out for none.',
    ),
  ),
  capabilities: Type.Optional(
    Type.Array(Capabilities.items, {
      maxItems: maxItems.capabilities,
      default: [],
      description: 'What the agent says it can do; for people to read, and checked by nothing.',
      examples: [['search']],
    }),
  ),
})

const AgentParams = Type.Object({ agent_id: described(Id, 'Id of the agent.') })

export const createAgent = endpoint({
  id: 'createAgent',
  method: 'POST',
  path: '/agents',
  tag: 'Agents',
  summary: 'Creates an agent.',
  roles: ownerRoles,
  body: NewAgent,
  responses: { 201: Agent },
  responseDescriptions: { 201: 'The agent was created; it is active.' },
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
  responses: { 200: PageOf(Agent) },
  responseDescriptions: { 200: "A page of agents. An agent's key sees its own agent only." },
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
  responseDescriptions: { 200: 'The agent.' },
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
  responseDescriptions: { 200: 'The agent, which is revoked now or was before.' },
  errors: ['not_found'],
})

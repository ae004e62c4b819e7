import { Type, type Static } from './schema/type.ts'

import { ownerRoles, readerRoles } from './roles.ts'
import { endpoint } from './endpoint.ts'
import { Capabilities, described, Id, Name, Nullable, OneOf, Text, Timestamp } from './fields.ts'
import { PageOf, PageQuery } from './pages.ts'
import { maxItems, maxLengths } from './lengths.ts'

export const agentStatuses = ['active', 'revoked'] as const
export type AgentStatus = (typeof agentStatuses)[number]
export const AgentStatus = OneOf(agentStatuses)

export const Agent = Type.Object({
  id: described(Id, 'Id of the agent.'),
  name: described(Name, 'Display name of the agent.'),
  description: described(
    Nullable(Text(maxLengths.description)),
    'What the agent does, as free text; null if not provided.',
  ),
  capabilities: Capabilities,
  budget_id: described(
    Nullable(Id),
    'Shared budget that the payments of all its mandates count in; null for none.',
  ),
  status: described(AgentStatus, 'Whether the agent can spend. A `revoked` agent never can again.'),
  created_at: described(Timestamp, 'When the agent was created.'),
  revoked_at: described(Nullable(Timestamp), 'When the agent was revoked; null while it is active.'),
})
export type Agent = Static<typeof Agent>

export const NewAgent = Type.Object({
  name: Text(maxLengths.name, {
    description: 'Display name of the agent; need not be unique.',
    examples: ['research-bot'],
  }),
  description: Type.Optional(
    described(
      Nullable(Text(maxLengths.description)),
      'What the agent does, as free text; null or omitted for none.',
    ),
  ),
  capabilities: Type.Optional(
    Type.Array(Capabilities.items, {
      maxItems: maxItems.capabilities,
      default: [],
      description: 'What the agent says it can do; informational, not checked.',
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
  responseDescriptions: { 201: 'The agent was created and is active.' },
  errors: [],
})

export const listAgents = endpoint({
  id: 'listAgents',
  method: 'GET',
  path: '/agents',
  tag: 'Agents',
  summary: 'Lists agents, newest first.',
  roles: [...readerRoles, 'agent'],
  query: PageQuery,
  responses: { 200: PageOf(Agent) },
  responseDescriptions: { 200: "A page of agents. An agent's key sees only its own agent." },
  errors: [],
})

export const getAgent = endpoint({
  id: 'getAgent',
  method: 'GET',
  path: '/agents/{agent_id}',
  tag: 'Agents',
  summary: 'One agent.',
  roles: [...readerRoles, 'agent'],
  params: AgentParams,
  responses: { 200: Agent },
  responseDescriptions: { 200: 'The agent.' },
  errors: ['not_found'],
})

export const AgentChanges = Type.Object({
  budget_id: described(
    Nullable(Text(maxLengths.id)),
    'Shared budget that the payments of all its mandates count in from now on, with all budgets above it; null for none. The open proofs of the agent end if they are older than the last freeze of such a budget, or than the last change with `end_holds`.',
  ),
  expected_budget_id: Type.Optional(
    described(
      Nullable(Text(maxLengths.id)),
      'Shared budget that the change is based on, null for none: if the agent is in another one meanwhile, nothing changes. By default, it is not compared.',
    ),
  ),
})

export const updateAgent = endpoint({
  id: 'updateAgent',
  method: 'PATCH',
  path: '/v1/agents/{agent_id}',
  tag: 'Agents',
  summary: 'Assigns an agent to a shared budget. Earlier payments keep counting where they were booked.',
  roles: ownerRoles,
  params: AgentParams,
  body: AgentChanges,
  responses: { 200: Agent },
  responseDescriptions: { 200: 'The agent.' },
  errors: ['not_found', 'budget_not_found', 'version_mismatch'],
  errorDescriptions: { version_mismatch: 'the agent is in another shared budget than `expected_budget_id`' },
})

export const revokeAgent = endpoint({
  id: 'revokeAgent',
  method: 'PATCH',
  path: '/agents/{agent_id}/revoke',
  tag: 'Agents',
  summary: 'Revokes an agent permanently, and voids its open proofs at once.',
  roles: ownerRoles,
  params: AgentParams,
  responses: { 200: Agent },
  responseDescriptions: { 200: 'The agent is revoked, by this request or an earlier one.' },
  errors: ['not_found'],
})

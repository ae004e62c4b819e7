import {
  createAgent,
  getAgent,
  listAgents,
  revokeAgent,
  updateAgent,
  type Agent as WireAgent,
} from '@purser/wire/agents'

import type { Agent } from '../domain/records.ts'
import { timeIn } from '../domain/time/test-clock.ts'
import { created, ok, refuse } from '../http/answers.ts'
import { answerPage } from '../http/pagination.ts'
import type { Serve } from '../http/serve.ts'
import {
  eventBy,
  ownAgentOnly,
  speaksFor,
  toNullableTimestamp,
  toTimestamp,
  type RouteContext,
} from './context.ts'

export function serveAgents(serve: Serve, { store, now, ids }: RouteContext): void {
  serve(createAgent, async ({ caller, body }) => {
    const nowMs = timeIn(caller, now)
    const agent: Agent = {
      accountId: caller.accountId,
      environment: caller.environment,
      id: ids.next('agent'),
      name: body.name,
      description: body.description ?? null,
      capabilities: body.capabilities ?? [],
      budgetPath: null,
      status: 'active',
      createdAtMs: nowMs,
      revokedAtMs: null,
    }
    const event = eventBy({ ids, now }, caller, 'agent.created', agent.id, {
      data: { name: agent.name },
      atMs: nowMs,
    })
    await store.createAgent(agent, event)
    return created(toWire(agent))
  })

  serve(listAgents, ({ caller, query, url }) =>
    answerPage(query, url, (page) => store.listAgents(caller, ownAgentOnly(caller), page), toWire),
  )

  serve(getAgent, async ({ caller, params }) => {
    if (!speaksFor(caller, params.agent_id)) return refuse('not_found')
    const agent = await store.findAgent({ ...caller, id: params.agent_id })
    return agent ? ok(toWire(agent)) : refuse('not_found')
  })

  serve(updateAgent, async ({ caller, params, body }) => {
    const data = { budget_id: body.budget_id }
    const event = eventBy({ ids, now }, caller, 'agent.budget_changed', params.agent_id, { data })
    const assigned = { budgetId: body.budget_id, expectedId: body.expected_budget_id }
    const agent = await store.assignAgent({ ...caller, id: params.agent_id }, assigned, event)
    return typeof agent === 'string' ? refuse(agent) : ok(toWire(agent))
  })

  serve(revokeAgent, async ({ caller, params }) => {
    const event = eventBy({ ids, now }, caller, 'agent.revoked', params.agent_id)
    const agent = await store.revokeAgent({ ...caller, id: params.agent_id }, event)
    return agent === 'not_found' ? refuse('not_found') : ok(toWire(agent))
  })
}

/** As the interface writes it. */
export function toWire(agent: Agent): WireAgent {
  return {
    id: agent.id,
    name: agent.name,
    description: agent.description,
    capabilities: [...agent.capabilities],
    budget_id: agent.budgetPath?.[0] ?? null,
    status: agent.status,
    created_at: toTimestamp(agent.createdAtMs),
    revoked_at: toNullableTimestamp(agent.revokedAtMs),
  }
}

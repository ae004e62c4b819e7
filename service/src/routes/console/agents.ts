import { getConsoleAgent, listConsoleAgents, type AgentSummary } from '@purser/wire/console/agents'

import { formatSum } from '../../domain/money.ts'
import { timeIn } from '../../domain/time/test-clock.ts'
import { ok, refuse } from '../../http/answers.ts'
import { answerPage } from '../../http/pagination.ts'
import type { Serve } from '../../http/serve.ts'
import type { ConsoleAgent } from '../../store/console/store.ts'
import { toWire as toWireAgent } from '../agents.ts'
import type { RouteContext } from '../context.ts'

export function serveConsoleAgents(serve: Serve, { store, now }: Pick<RouteContext, 'store' | 'now'>): void {
  serve(listConsoleAgents, ({ caller, query, url }) =>
    answerPage(query, url, (page) => store.listConsoleAgents(caller, timeIn(caller, now), page), toWire),
  )

  serve(getConsoleAgent, async ({ caller, params }) => {
    const agent = await store.findConsoleAgent({ ...caller, id: params.agent_id }, timeIn(caller, now))
    return agent ? ok(toWire(agent)) : refuse('not_found')
  })
}

function toWire(agent: ConsoleAgent): AgentSummary {
  return {
    ...toWireAgent(agent),
    spent_total: formatSum(agent.spentMicro),
    held_total: formatSum(agent.heldMicro),
    open_holds: agent.openHolds,
    authorized_total: formatSum(agent.authorizedMicro),
    authorized_payments: agent.authorizedPayments,
    active_mandates: agent.activeMandates,
    remaining_budget: formatSum(agent.remainingMicro),
    working_keys: agent.workingKeys,
  }
}

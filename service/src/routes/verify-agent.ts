import { verifyAgent, type AgentReport } from '@purser/wire/verify-agent'

import { formatSum, parseAmount } from '../domain/money.ts'
import { checkPolicy, remainingBudget } from '../domain/policy.ts'
import { assessRisk, noRisk } from '../domain/risk.ts'
import { timeIn } from '../domain/time/test-clock.ts'
import { refuse } from '../http/answers.ts'
import type { Serve } from '../http/serve.ts'
import type { AgentFacts } from '../store/store.ts'
import { speaksFor, type RouteContext } from './context.ts'

export function serveVerifyAgent(serve: Serve, { store, now }: RouteContext): void {
  serve(verifyAgent, async ({ caller, body }) => {
    if (!speaksFor(caller, body.agent_id)) return refuse('insufficient_scope')
    const nowMs = timeIn(caller, now)
    const facts = await store.readAgentFacts({
      caller,
      agentId: body.agent_id,
      mandateId: body.mandate_id,
      merchantDomain: body.merchant_domain,
      nowMs,
    })
    const { agent, mandate } = facts
    const purchase = { resourceUrl: body.resource_url, issuedAtMs: nowMs }
    const isKnownSeller =
      mandate?.approval?.firstPurchaseAtSeller === true && (await store.isKnownSeller(mandate, purchase))
    const isLimited = mandate && (mandate.limits ?? mandate.budgetPath ?? agent?.budgetPath ?? null) !== null
    const limits = isLimited
      ? await store.readLimits({
          accountId: mandate.accountId,
          agentId: mandate.agentId,
          mandateId: mandate.id,
          resourceUrl: body.resource_url,
          atMs: nowMs,
        })
      : undefined
    const decision = checkPolicy(
      { agent, mandate, limits, approval: { isKnownSeller, isApproved: false } },
      {
        amountText: body.amount,
        amountMicro: parseAmount(body.amount),
        resourceUrl: body.resource_url,
        category: body.category ?? null,
        seller: { merchantDomain: body.merchant_domain },
        countHolds: false,
      },
      nowMs,
    )
    const isAuthorized = decision.decision === 'approved'
    const risk = facts.risk ? assessRisk(facts.risk, nowMs) : noRisk
    const report: AgentReport = {
      verified: facts.agent?.status === 'active',
      authorized: isAuthorized,
      payment_ready: isAuthorized,
      agent: reportAgent(facts, body.agent_id),
      mandate: reportMandate(facts, body.mandate_id),
      risk,
      recommendation: isAuthorized ? 'accept' : 'deny',
      reason_code: isAuthorized ? 'within_policy' : decision.code,
    }
    return { status: isAuthorized ? 200 : 403, body: report }
  })
}

function reportAgent({ agent }: AgentFacts, askedId: string): AgentReport['agent'] {
  if (!agent) return { id: askedId, name: 'unknown', capabilities: [], status: 'unknown' }
  return { id: agent.id, name: agent.name, capabilities: [...agent.capabilities], status: agent.status }
}

function reportMandate({ mandate }: AgentFacts, askedId: string): AgentReport['mandate'] {
  if (!mandate) {
    return { id: askedId, purpose: '', currency: 'USDC', remaining_budget: '0', expires_at: '' }
  }
  return {
    id: mandate.id,
    purpose: mandate.purpose,
    currency: mandate.currency,
    remaining_budget: formatSum(remainingBudget(mandate)),
    expires_at: mandate.expiresAtText,
  }
}

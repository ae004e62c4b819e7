import { evaluate } from '@purser/wire/policy'

import { parseAmount } from '../domain/money.ts'
import { timeIn } from '../domain/time/test-clock.ts'
import { ok, refuse } from '../http/answers.ts'
import type { Serve } from '../http/serve.ts'
import { metadataOf, speaksFor, type RouteContext } from './context.ts'
import { refusalDetailsOf } from './limits.ts'

export function servePolicy(serve: Serve, { store, now, ids, decisions }: RouteContext): void {
  serve(evaluate, async ({ caller, body }) => {
    if (!speaksFor(caller, body.agent_id)) return refuse('insufficient_scope')
    const { dry_run: isDryRun = false } = body
    const transactionId = ids.next('transaction')
    const decision = await store.evaluate({
      accountId: caller.accountId,
      environment: caller.environment,
      id: transactionId,
      agentId: body.agent_id,
      mandateId: body.mandate_id,
      amountText: body.amount,
      amountMicro: parseAmount(body.amount),
      currency: body.currency ?? 'USDC',
      resourceUrl: body.resource_url,
      merchantDomain: body.merchant_domain,
      category: body.category ?? null,
      metadata: metadataOf(body),
      isDryRun,
      createdAtMs: timeIn(caller, now),
    })
    const echo = {
      agent_id: body.agent_id,
      mandate_id: body.mandate_id,
      transaction_id: isDryRun ? null : transactionId,
    }
    switch (decision.decision) {
      case 'approved':
        if (!isDryRun) decisions?.countEvaluation(caller.environment, 'approved')
        return ok({ decision: 'approved', reason_code: 'within_policy', reason_detail: null, ...echo })
      case 'denied':
        if (!isDryRun) decisions?.countEvaluation(caller.environment, 'denied', decision.code)
        return {
          status: 402,
          body: {
            decision: 'denied',
            reason_code: decision.code,
            reason_detail: decision.detail,
            ...echo,
            ...refusalDetailsOf(decision),
          },
        }
      default:
        return decision satisfies never
    }
  })
}

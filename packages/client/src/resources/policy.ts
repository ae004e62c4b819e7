import type { CallOptions } from '../options.ts'
import type { Send } from '../send.ts'
import type { AgentReport, Approval, Denial, EvaluateRequest, ProposedPayment } from '../wire-types.ts'

export type Policy = ReturnType<typeof policy>

/** A decision with its transaction. */
export type RecordedDecision = (Approval | Denial) & { readonly transaction_id: string }

/**
 * Decides whether a payment would be allowed, and records the decision; nothing is held or charged. With `dry_run: true`
 * nothing is recorded. Retried, so a lost response may cause a second record.
 *
 * @example
 * const { decision, reason_detail } = await purser.policy.evaluate({ ...payment, dry_run: true })
 */
export interface Evaluate {
  (body: EvaluateRequest & { dry_run?: false }, options?: CallOptions): Promise<RecordedDecision>
  (body: EvaluateRequest, options?: CallOptions): Promise<Approval | Denial>
}

export function policy(send: Send): { readonly evaluate: Evaluate } {
  const evaluate = async (body: EvaluateRequest, options?: CallOptions) => {
    const refusal = { status: 402, field: 'decision' }
    const request = {
      method: 'POST',
      path: '/v1/policy/evaluate',
      body,
      refusal,
      isRepeatable: true,
    } as const
    const reply = await send(request, options)
    return reply.body as RecordedDecision
  }
  return { evaluate }
}

/** The pre-flight check, which records nothing. */
export function verifyAgent(send: Send) {
  return async (body: ProposedPayment, options?: CallOptions): Promise<AgentReport> => {
    const refusal = { status: 403, field: 'authorized' }
    const request = { method: 'POST', path: '/v1/verify-agent', body, refusal, isRepeatable: true } as const
    return (await send(request, options)).body as AgentReport
  }
}

import type { CallOptions } from '../options.ts'
import type { Send } from '../send.ts'
import type { AgentReport, Approval, Denial, EvaluateRequest, ProposedPayment } from '../wire-types.ts'

export type Policy = ReturnType<typeof policy>

export function policy(send: Send) {
  return {
    /**
     * Decides whether a payment would be allowed, and records the decision; nothing is held or charged.
     * Retried, so a lost response may cause a second record.
     */
    evaluate: async (body: EvaluateRequest, options?: CallOptions): Promise<Approval | Denial> => {
      const refusal = { status: 402, field: 'decision' }
      const request = {
        method: 'POST',
        path: '/v1/policy/evaluate',
        body,
        refusal,
        isRepeatable: true,
      } as const
      const reply = await send(request, options)
      return reply.body as Approval | Denial
    },
  }
}

/** The pre-flight check, which records nothing. */
export function verifyAgent(send: Send) {
  return async (body: ProposedPayment, options?: CallOptions): Promise<AgentReport> => {
    const refusal = { status: 403, field: 'authorized' }
    const request = { method: 'POST', path: '/v1/verify-agent', body, refusal, isRepeatable: true } as const
    return (await send(request, options)).body as AgentReport
  }
}

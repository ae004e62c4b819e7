import { errorOf } from '../error-answers.ts'
import type { CallOptions } from '../options.ts'
import { path } from '../path.ts'
import { randomKey } from '../random-key.ts'
import type { Reply, Send } from '../send.ts'
import type {
  NotVerified,
  Proof,
  ProofDenial,
  ProofRecord,
  ProofRequest,
  Verified,
  VerifyRequest,
} from '../wire-types.ts'

/** A proof, or why there is none. */
export type ProofDecision = { readonly decision: 'approved'; readonly proof: Proof } | ProofDenial

/** A charge, or why there is none. `replayed` is true when this key had already collected it. */
export type Verification = (Verified & { readonly replayed: boolean }) | NotVerified

export interface VerifyOptions extends CallOptions {
  /**
   * Tells a retry from a replay: the same proof with the same key gets the first answer again. One is made for each
   * call when left out, which covers the retries of that call; pass your own to cover your own retries too.
   */
  readonly idempotencyKey?: string | undefined
}

export type Payments = ReturnType<typeof payments>

export function payments(send: Send) {
  return {
    /** Asks for a signed proof, which holds its amount; sandbox only. Sent once, never again by itself. */
    requestProof: async (body: ProofRequest, options?: CallOptions): Promise<ProofDecision> => {
      const refusal = { status: 402, field: 'decision' }
      const { body: answer } = await send(
        { method: 'POST', path: '/v1/payments/proof', body, refusal },
        options,
      )
      return 'proof' in (answer as object)
        ? { decision: 'approved', proof: (answer as { proof: Proof }).proof }
        : (answer as ProofDenial)
    },

    /** Has a proof verified, which charges it, once. Retried with the same key, so a lost reply costs nothing. */
    verify: async (body: VerifyRequest, options: VerifyOptions = {}): Promise<Verification> => {
      const { idempotencyKey = randomKey(), ...call } = options
      const asked = { method: 'POST', path: '/v1/payments/verify' } as const
      const reply = await send(
        {
          ...asked,
          body,
          headers: { 'idempotency-key': idempotencyKey },
          isRepeatable: true,
          refusal: { status: 402, field: 'verified' },
        },
        call,
      )
      if (isCharge(reply)) {
        return { ...reply.body, replayed: reply.headers.get('idempotent-replayed') === 'true' }
      }
      const answer = reply.body as NotVerified | { readonly verified?: unknown }
      if (reply.status === 402 && answer.verified === false) return answer as NotVerified
      throw errorOf(reply, `${asked.method} ${asked.path}`)
    },

    /** What has become of a proof: for whoever lost the reply. */
    getProof: async (nonce: string, options?: CallOptions): Promise<ProofRecord> =>
      (await send({ method: 'GET', path: path`/v1/payments/proofs/${nonce}` }, options)).body as ProofRecord,
  }
}

/** Goods leave on this answer, so nothing but a clear yes is one. */
function isCharge(reply: Reply): reply is Reply & { readonly body: Verified } {
  const { verified, transaction_id: id } = reply.body as { verified?: unknown; transaction_id?: unknown }
  return reply.status === 200 && verified === true && typeof id === 'string'
}

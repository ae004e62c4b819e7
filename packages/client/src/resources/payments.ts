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

/** A proof, or why there is none. `replayed` is true when this key had been given the proof before. */
export type ProofDecision =
  { readonly decision: 'approved'; readonly proof: Proof; readonly replayed: boolean } | ProofDenial

export interface ProofOptions extends CallOptions {
  /**
   * The same request with the same key gets the same proof, and holds its amount once. One is made for each call when left
   * out, which covers the retries of that call; pass your own, and keep it, to get the same proof after a crash, too. 1 to
   * 255 printable ASCII characters. A key that was used for another request throws an `ApiError` with the code
   * `idempotency_key_reused`.
   */
  readonly idempotencyKey?: string | undefined
}

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
    /**
     * Asks for a signed proof, which holds its amount; sandbox only. Retried with the same key, so a lost reply holds
     * nothing twice.
     *
     * @example
     * const granted = await purser.payments.requestProof(payment, { idempotencyKey: 'order-1001' })
     * if (granted.decision === 'approved') console.log(granted.proof.nonce, granted.replayed)
     */
    requestProof: async (body: ProofRequest, options: ProofOptions = {}): Promise<ProofDecision> => {
      const { idempotencyKey = randomKey(), ...call } = options
      const { body: answer, headers } = await send(
        {
          method: 'POST',
          path: '/v1/payments/proof',
          body,
          headers: { 'idempotency-key': idempotencyKey },
          isRepeatable: true,
          refusal: { status: 402, field: 'decision' },
        },
        call,
      )
      if (!('proof' in (answer as object))) return answer as ProofDenial
      const { proof } = answer as { proof: Proof }
      return { decision: 'approved', proof, replayed: isReplayed(headers) }
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
        return { ...reply.body, replayed: isReplayed(reply.headers) }
      }
      const answer = reply.body as NotVerified | { readonly verified?: unknown }
      if (reply.status === 402 && answer.verified === false) return answer as NotVerified
      throw errorOf(reply, `${asked.method} ${asked.path}`)
    },

    /** What has become of a proof: for whoever lost the reply. */
    getProof: async (nonce: string, options?: CallOptions): Promise<ProofRecord> =>
      (await send({ method: 'GET', path: path`/v1/payments/proofs/${nonce}` }, options)).body as ProofRecord,

    /**
     * Voids an open proof: its amount is free at once, and nobody can charge it any more. Resolves to the proof as it then
     * is, `voided`, or `expired` when its time was over. Throws a `ConflictError` with the code `proof_captured` when it
     * has been charged, and a `NotFoundError` for a proof that is not yours. Safe to repeat, so it is retried.
     *
     * @example
     * const { status } = await purser.payments.voidProof(proof.nonce) // 'voided'
     */
    voidProof: async (nonce: string, options?: CallOptions): Promise<ProofRecord> => {
      const request = {
        method: 'POST',
        path: path`/v1/payments/proofs/${nonce}/void`,
        isRepeatable: true,
      } as const
      return (await send(request, options)).body as ProofRecord
    },
  }
}

function isReplayed(headers: Headers): boolean {
  return headers.get('idempotent-replayed') === 'true'
}

/** Goods leave on this answer, so nothing but a clear yes is one. */
function isCharge(reply: Reply): reply is Reply & { readonly body: Verified } {
  const { verified, transaction_id: id } = reply.body as { verified?: unknown; transaction_id?: unknown }
  return reply.status === 200 && verified === true && typeof id === 'string'
}

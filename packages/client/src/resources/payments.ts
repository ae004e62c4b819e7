import { errorOf } from '../error-answers.ts'
import type { CallOptions } from '../options.ts'
import { path } from '../path.ts'
import { randomKey } from '../random-key.ts'
import type { Reply, Request, Send } from '../send.ts'
import type {
  AuthorizeRequest,
  Authorization,
  Authorized,
  CaptureRequest,
  Captured,
  NotAuthorized,
  NotVerified,
  Proof,
  ProofDenial,
  ProofRecord,
  ProofRequest,
  Verified,
  VerifyRequest,
} from '../wire-types.ts'

/** A proof, or the denial. `replayed` is true if the proof was already issued for this key. */
export type ProofDecision =
  | { readonly decision: 'approved'; readonly proof: Proof; readonly replayed: boolean }
  | ProofDenial

export interface ProofOptions extends CallOptions {
  /**
   * The same request with the same key gets the same proof, and holds its amount once. By default a new key
   * is used for each call and its retries; store your own key to get the same proof even after a crash. 1 to
   * 255 printable ASCII characters. A key that was used for another request throws an `ApiError` with the
   * code `idempotency_key_reused`.
   */
  readonly idempotencyKey?: string | undefined
}

/** A charge, or the refusal. `replayed` is true if this key had already collected it. */
export type Verification = (Verified & { readonly replayed: boolean }) | NotVerified

export interface VerifyOptions extends CallOptions {
  /**
   * Distinguishes a retry from a replay: the same proof with the same key gets the first response again. By
   * default a new key is used for each call and its retries; pass your own to cover your own retries too.
   */
  readonly idempotencyKey?: string | undefined
}

/** An authorization, or the refusal. `replayed` is true if this key had already made it. */
export type AuthorizationDecision = (Authorized & { readonly replayed: boolean }) | NotAuthorized

/** The charge of an authorized payment. `replayed` is true if this key had already made it. */
export type Capture = Captured & { readonly replayed: boolean }

export type Payments = ReturnType<typeof payments>

export function payments(send: Send) {
  /** Sends a request that takes effect once for its idempotency key, so it is retried. */
  function sendOnce(
    asked: string,
    body: object,
    { idempotencyKey = randomKey(), ...call }: VerifyOptions,
    refusal?: Request['refusal'],
  ): Promise<Reply> {
    const headers = { 'idempotency-key': idempotencyKey }
    return send({ method: 'POST', path: asked, body, headers, isRepeatable: true, refusal }, call)
  }

  return {
    /**
     * Requests a signed proof, which holds its amount; sandbox only. Retried with the same key, so a lost
     * response holds nothing twice.
     *
     * @example
     * const granted = await purser.payments.requestProof(payment, { idempotencyKey: 'order-1001' })
     * if (granted.decision === 'approved') console.log(granted.proof.nonce, granted.replayed)
     */
    requestProof: async (body: ProofRequest, options: ProofOptions = {}): Promise<ProofDecision> => {
      const refusal = { status: 402, field: 'decision' }
      const { body: answer, headers } = await sendOnce('/v1/payments/proof', body, options, refusal)
      if (!('proof' in (answer as object))) return answer as ProofDenial
      const { proof } = answer as { proof: Proof }
      return { decision: 'approved', proof, replayed: isReplayed(headers) }
    },

    /**
     * Verifies a proof, which charges it once. Retried with the same key, so a lost response costs nothing.
     *
     * @example
     * const charge = await purser.payments.verify(
     *   { proof, merchant_domain: 'api.example.com', expected_amount: '4.00' },
     *   { idempotencyKey: 'order-1001' },
     * )
     * if (charge.verified) console.log(charge.transaction_id)
     */
    verify: async (body: VerifyRequest, options: VerifyOptions = {}): Promise<Verification> => {
      const asked = '/v1/payments/verify'
      const reply = await sendOnce(asked, body, options, { status: 402, field: 'verified' })
      if (isCharge(reply)) {
        return { ...reply.body, replayed: isReplayed(reply.headers) }
      }
      const answer = reply.body as NotVerified | { readonly verified?: unknown }
      if (reply.status === 402 && answer.verified === false) return answer as NotVerified
      throw errorOf(reply, `POST ${asked}`)
    },

    /**
     * Verifies a proof and reserves its amount without charging it: capture the payment before its deadline, or
     * void it. Retried with the same key, so a lost response reserves nothing twice.
     *
     * @example
     * const decision = await purser.payments.authorize(
     *   { proof, merchant_domain: 'api.example.com', expected_amount: '4.00' },
     *   { idempotencyKey: 'order-1001' },
     * )
     * if (decision.authorized) await purser.payments.capture(proof.nonce, { amount: '2.50' })
     */
    authorize: async (
      body: AuthorizeRequest,
      options: VerifyOptions = {},
    ): Promise<AuthorizationDecision> => {
      const asked = '/v1/payments/authorize'
      const reply = await sendOnce(asked, body, options, { status: 402, field: 'authorized' })
      const answer = reply.body as Authorized | NotAuthorized | { readonly authorized?: unknown }
      if (reply.status === 200 && answer.authorized === true) {
        return { ...(answer as Authorized), replayed: isReplayed(reply.headers) }
      }
      if (reply.status === 402 && answer.authorized === false) return answer as NotAuthorized
      throw errorOf(reply, `POST ${asked}`)
    },

    /**
     * Charges an authorized payment, once: `amount`, or all of it. The rest is released at once. Throws a
     * `ConflictError` with the code `authorization_expired`, `authorization_voided`, `already_captured` or
     * `amount_exceeds_authorization`; then nothing was charged by this call. Retried with the same key.
     *
     * @example
     * const { transaction_id, amount } = await purser.payments.capture(proof.nonce, { amount: '2.50' })
     */
    capture: async (
      nonce: string,
      body: CaptureRequest = {},
      options: VerifyOptions = {},
    ): Promise<Capture> => {
      const asked = path`/v1/payments/${nonce}/capture`
      const reply = await sendOnce(asked, body, options)
      if (isCharge(reply)) return { ...(reply.body as Captured), replayed: isReplayed(reply.headers) }
      throw errorOf(reply, `POST ${asked}`)
    },

    /**
     * Voids an authorized payment: its amount is released at once, and it can no longer be charged. Throws a
     * `ConflictError` with the code `already_captured` if it was charged. Safe to repeat, so it is retried.
     *
     * @example
     * const { status } = await purser.payments.void(proof.nonce) // 'voided', or 'expired'
     */
    void: async (nonce: string, options?: CallOptions): Promise<Authorization> => {
      const request = { method: 'POST', path: path`/v1/payments/${nonce}/void`, isRepeatable: true } as const
      return (await send(request, options)).body as Authorization
    },

    /**
     * The state of a proof, for example after a lost response: what it holds, and what was charged. Throws a
     * `NotFoundError` if the key cannot see it.
     *
     * @example
     * const { status, transaction_id } = await purser.payments.getProof(proof.nonce)
     */
    getProof: async (nonce: string, options?: CallOptions): Promise<ProofRecord> =>
      (await send({ method: 'GET', path: path`/v1/payments/proofs/${nonce}` }, options)).body as ProofRecord,

    /**
     * Voids an open proof: its amount is released at once, and it can no longer be charged. Resolves to the
     * proof, now `voided`, or `expired` if it had expired. Throws a `ConflictError` with the code
     * `proof_captured` if it has been charged, and a `NotFoundError` for a proof that is not yours. Safe to
     * repeat, so it is retried.
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

/** Goods are delivered on this response, so only a clear success counts. */
function isCharge(reply: Reply): reply is Reply & { readonly body: Verified } {
  const { verified, transaction_id: id } = reply.body as { verified?: unknown; transaction_id?: unknown }
  return reply.status === 200 && verified === true && typeof id === 'string'
}

import { compareAmounts, formatAmount } from '../amounts.ts'
import type { Sleep } from '../options.ts'
import type { Purser } from '../purser.ts'
import { maxRetriesLimit } from '../retries.ts'
import type { Denial, Proof, ProofDenial } from '../wire-types.ts'
import { isCollectedByHost, isForAddress, readChallenge, type PaymentChallenge } from './challenge.ts'
import { skipReasons, withDecision, type PaymentDecision, type SkipReason } from './decision.ts'
import { sendPaid } from './paid-request.ts'
import {
  addressOf,
  headersOf,
  isRepeatable,
  methodOf,
  signalOf,
  type FetchArguments,
} from './repeatable-request.ts'

/** Who pays, out of what, and how much at the most. */
export interface PaymentOptions {
  /** A client with the agent's key. */
  readonly client: Pick<Purser, 'policy' | 'payments'>
  readonly agentId: string
  readonly mandateId: string
  /** The most that one request may cost, such as `5.00`; the mandate's own limits hold besides. */
  readonly maxAmount?: string | undefined
  /** Told what became of each 402, before anything is sent again. When it throws, nothing is bought. */
  readonly onDecision?: ((decision: PaymentDecision) => void | Promise<void>) | undefined
  /** How often a paid request without an answer is sent again, with the same proof; 2 when left out. */
  readonly maxRetries?: number | undefined
  /** As in `PurserOptions`, for tests. */
  readonly random?: (() => number) | undefined
  readonly sleep?: Sleep | undefined
}

/**
 * A fetch that pays. A 402 with a challenge is evaluated, paid within the mandate, and the request sent again, once,
 * with its proof. Whatever is not paid is handed back as the 402 that it was, and `paymentDecisionOf(answer)` says why.
 * One call buys once: one proof, whose nonce names the purchase. Bodies are not read, only challenges.
 *
 * Rejects as the given fetch does; with the errors of the client when Purser cannot decide; and with a
 * `PaymentUncertainError` when the paid request gets no answer.
 */
export function wrapFetchWithPayment(
  fetch: typeof globalThis.fetch,
  options: PaymentOptions,
): typeof globalThis.fetch {
  const { client, agentId, mandateId, onDecision } = options
  const maxAmount = options.maxAmount === undefined ? undefined : formatAmount(options.maxAmount)
  const maxRetries = Math.min(options.maxRetries ?? 2, maxRetriesLimit)

  return async (input, init) => {
    const request: FetchArguments = { input, init }
    const answer = await fetch(input, init)
    if (answer.status !== 402) return answer
    try {
      const address = addressOf(request) || answer.url
      const challenge = await readChallenge(answer)
      const why = challenge ? whyNot(request, address, answer, challenge, maxAmount) : 'no_challenge'
      if (!challenge || why) {
        const decision = skipped(why ?? 'no_challenge', challenge, address)
        await onDecision?.(decision)
        return withDecision(answer, decision)
      }
      const payment = await pay(challenge, signalOf(request))
      await onDecision?.(payment.decision)
      if (!payment.proof) return withDecision(answer, payment.decision)
      await answer.body?.cancel()
      const paid = await sendPaid(request, payment.proof, { ...options, fetch, maxRetries })
      return withDecision(paid, payment.decision)
    } catch (error) {
      // The answer is handed to nobody, so nobody else would let go of its connection.
      if (!answer.bodyUsed) await answer.body?.cancel().catch(() => {})
      throw error
    }
  }

  /** Has the payment evaluated, which knows the merchant and the category, and then asks for a proof of it. */
  async function pay(
    challenge: PaymentChallenge,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly decision: PaymentDecision; readonly proof?: Proof }> {
    const { amount, currency, resource, merchant_domain, category = null } = challenge
    const payment = { agent_id: agentId, mandate_id: mandateId, amount, currency, resource_url: resource }
    const evaluation = await client.policy.evaluate({ ...payment, merchant_domain, category }, { signal })
    if (evaluation.decision === 'denied') return { decision: denied(challenge, evaluation) }
    const granted = await client.payments.requestProof(payment, { signal })
    if (granted.decision === 'denied') return { decision: denied(challenge, granted) }
    const { proof } = granted
    return { decision: { outcome: 'approved', challenge, nonce: proof.nonce }, proof }
  }
}

function denied(
  challenge: PaymentChallenge,
  { reason_code, reason_detail }: Denial | ProofDenial,
): PaymentDecision {
  return { outcome: 'denied', challenge, reason_code, reason_detail }
}

function skipped(why: SkipReason, challenge: PaymentChallenge | undefined, address: string): PaymentDecision {
  const addresses =
    why === 'other_resource' && challenge && address
      ? ` (${new URL(challenge.resource).href}, not ${address})`
      : ''
  return { outcome: 'skipped', why, detail: skipReasons[why] + addresses, challenge }
}

/** Why this 402 is not to be paid, before anybody is asked; undefined when nothing speaks against it. */
function whyNot(
  request: FetchArguments,
  address: string,
  answer: Response,
  challenge: PaymentChallenge,
  maxAmount: string | undefined,
): SkipReason | undefined {
  if (headersOf(request).has('x-payment-proof')) return 'already_paying'
  if (methodOf(request) === 'HEAD') return 'head_request'
  if (answer.redirected) return 'redirected'
  if (!isForAddress(challenge, address)) return 'other_resource'
  if (!isCollectedByHost(challenge)) return 'other_merchant'
  if (maxAmount !== undefined && compareAmounts(challenge.amount, maxAmount) > 0) return 'over_max_amount'
  if (!isRepeatable(request)) return 'body_cannot_be_repeated'
  return undefined
}

import { compareAmounts, formatAmount } from '../amounts.ts'
import { PurserError } from '../errors.ts'
import type { Sleep } from '../options.ts'
import type { Purser } from '../purser.ts'
import type { ApprovalReference, Denial, Proof, ProofDenial } from '../wire-types.ts'
import { awaitApproval, requestApprovedProof } from './approved-proof.ts'
import { isCollectedByHost, isForAddress, readChallenge, type PaymentChallenge } from './challenge.ts'
import { skipReasons, withDecision, type PaymentDecision, type SkipReason } from './decision.ts'
import { abandonProof, finishPayment } from './finish-payment.ts'
import { payerOf } from './payer.ts'
import { paymentResultOf } from './payment-result.ts'
import { unlessAborted } from '../timers.ts'
import { fingerprintOf, openPurchase, replayed, type Purchase } from './purchase.ts'
import type { PurchaseStore } from './purchase-store.ts'
import {
  addressOf,
  headersOf,
  keepRequest,
  methodOf,
  signalOf,
  type FetchArguments,
  type KeptRequest,
} from './repeatable-request.ts'
import { PaymentNotChargedError } from './uncertain-payment.ts'

/** The payer, the mandate, and the limits. */
export interface PaymentOptions {
  /** A client with the agent's key. */
  readonly client: Pick<Purser, 'policy' | 'payments'> &
    Partial<Pick<Purser, 'agents' | 'mandates' | 'approvals'>>
  /** The agent that pays; by default the only one that the key sees. */
  readonly agentId?: string | undefined
  /** The mandate to pay from; by default the agent's only usable one. */
  readonly mandateId?: string | undefined
  /** The max price of one request, such as `5.00`; the mandate's own limits also apply. */
  readonly maxAmount?: string | undefined
  /**
   * Called before any call to Purser, so that a refusal costs and holds nothing. `challenge` has the price,
   * the resource and the seller. Return `false` or `{ refuse: 'why' }` to refuse; `true` or nothing to
   * continue. If it throws, nothing is bought.
   */
  readonly onPaymentRequired?:
    | ((challenge: PaymentChallenge) => PaymentAnswer | Promise<PaymentAnswer>)
    | undefined
  /**
   * Receives the decision about each 402, before the request is sent again. If it throws, nothing is bought.
   */
  readonly onDecision?: ((decision: PaymentDecision) => void | Promise<void>) | undefined
  /**
   * Called when a person must approve the payment: `approval.url` is where an owner decides. Return `{ waitMs
   * }` to wait this long for the decision, at most until the approval expires, and to pay once it is given;
   * return nothing not to wait. Nothing is held meanwhile. Without this callback, or without a decision in
   * time, the 402 is returned; a later call uses the approval.
   */
  readonly onApprovalRequired?:
    | ((required: ApprovalRequired) => ApprovalAnswer | Promise<ApprovalAnswer>)
    | undefined
  /**
   * Stores purchases, so that calls with the same `purchaseId` never pay twice and get the goods that were
   * paid for, even after a crash: `createPurchaseMemory()`, or `openPurchaseFiles(folder)` of
   * `@purser/client/purchase-files`. Processes that share it need the same mandate and `metadata`.
   */
  readonly purchases?: PurchaseStore | undefined
  /**
   * Max number of retries of a paid request, with the same proof, if the merchant does not answer or answers
   * 408, 425, 429 or 5xx; default 4, max 10.
   */
  readonly maxRetries?: number | undefined
  /** Your own texts for the transactions of these payments, by name: at most 20, of 40 and 500 characters. */
  readonly metadata?: Record<string, string> | undefined
  /** Max milliseconds until the response to a paid request begins; default 60,000. */
  readonly timeout?: number | undefined
  /** As in `PurserOptions`, for tests. */
  readonly random?: (() => number) | undefined
  readonly sleep?: Sleep | undefined
}

/** An approval that a payment needs. */
export interface ApprovalRequired {
  readonly approval: ApprovalReference
  readonly challenge: PaymentChallenge
}

/** How long to wait for a decision. */
export type ApprovalAnswer = { readonly waitMs: number } | undefined | void

/** Whether to pay. */
export type PaymentAnswer = boolean | { readonly refuse: string } | undefined | void

/** The additional options of a paying fetch. */
export interface PayingInit extends RequestInit {
  /**
   * Your own id for the purchase, up to 255 characters; the same id is the same purchase. Needs `purchases`.
   */
  readonly purchaseId?: string | undefined
}

/** A paying fetch. */
export type PayingFetch = (
  input: Parameters<typeof globalThis.fetch>[0],
  init?: PayingInit,
) => Promise<Response>

/** Max bytes of goods to buffer and store with a purchase; larger goods are streamed and not stored. */
const maxKeptBytes = 8 * 1024 * 1024

const maxPurchaseIdLength = 255

/**
 * A paying fetch. It evaluates a 402 with a challenge, pays it within the mandate, and sends the request
 * again with the proof until the goods arrive. If it does not pay, it returns the original 402, and
 * `paymentDecisionOf(answer)` says why. One call buys once, with one proof; with `purchaseId`, all calls with
 * the same id buy once. Without an id, no bodies are read except challenges.
 *
 * Rejects like the given fetch; with the client's errors if Purser cannot decide; with a
 * `PaymentUncertainError` if a proof was sent and no goods arrived; and with a `PurchaseConflictError` if the
 * purchase id was used for another request.
 *
 * @example
 * const fetchPaid = wrapFetchWithPayment(fetch, { client, maxAmount: '5.00' })
 * const answer = await fetchPaid('https://api.example.com/data')
 */
export function wrapFetchWithPayment(fetch: typeof globalThis.fetch, options: PaymentOptions): PayingFetch {
  const { client, onPaymentRequired, onApprovalRequired, onDecision, purchases } = options
  const maxAmount = options.maxAmount === undefined ? undefined : formatAmount(options.maxAmount)
  const payer = payerOf(options)
  const running = new Map<string, Promise<unknown>>()

  return async (input, given) => {
    if (given?.purchaseId === undefined) {
      const request: FetchArguments = { input, init: given }
      // Without a purchase there is no concurrent process, so there is a response.
      return (await fetchOnce(request, keepRequest(request))) as Response
    }
    const { purchaseId, ...init } = given
    const request: FetchArguments = { input, init }
    if (!purchases) throw new PurserError('purchaseId needs the option purchases, a store for purchases')
    if (purchaseId === '' || purchaseId.length > maxPurchaseIdLength) {
      throw new PurserError(`purchaseId must have 1 to ${maxPurchaseIdLength} characters`)
    }
    // Within this process, a purchase runs once at a time; between processes, the store decides.
    const before = running.get(purchaseId)
    const buying = (before ?? Promise.resolve()).then(() => {
      signalOf(request)?.throwIfAborted()
      return buy(request, purchaseId, purchases)
    })
    const ended = buying.catch(() => {})
    running.set(purchaseId, ended)
    void ended.finally(() => {
      if (running.get(purchaseId) === ended) running.delete(purchaseId)
    })
    // A call that waits for another one has sent nothing yet.
    if (before) await unlessAborted(before, signalOf(request))
    return buying
  }

  /** Continues the purchase where it stopped, and starts over if its proof can never be charged. */
  async function buy(request: FetchArguments, purchaseId: string, store: PurchaseStore): Promise<Response> {
    const kept = keepRequest(request)
    const repeatable = await kept.repeatable().finally(kept.release)
    if (!repeatable)
      throw new PurserError(
        `A purchase needs a request that can be sent again: ${skipReasons.body_cannot_be_repeated}`,
      )
    // A relative address is a string.
    const address = addressOf(request) || (request.input as string)
    const fingerprint = await fingerprintOf(repeatable, address)
    for (let look = 0; look < maxLooks; look++) {
      const purchase = await openPurchase(store, { purchaseId, fingerprint })
      const { step } = purchase
      if (step?.kind === 'delivered') return replayed(step)
      if (step?.kind !== 'paying') {
        const answer = await fetchOnce(repeatable, keepRequest(repeatable), purchase)
        if (answer) return answer
        continue
      }
      const { challenge, proof } = step
      const decision: PaymentDecision = {
        outcome: 'approved',
        challenge,
        nonce: proof.nonce,
        transaction_id: null,
      }
      const answer = await finish(purchase, repeatable, proof)
      if (answer && hasGoods(answer)) return withDecision(answer, decision)
    }
    throw new PurserError(`The purchase ${purchaseId} keeps being changed by other processes; retry later`)
  }

  /** Requests once, and pays; undefined if the purchase must be loaded again. */
  async function fetchOnce(
    request: FetchArguments,
    kept: KeptRequest,
    purchase?: Purchase,
  ): Promise<Response | undefined> {
    let answer: Response | undefined
    try {
      answer = await fetch(request.input, request.init)
      return answer.status === 402 ? await payFor(request, kept, answer, purchase) : answer
    } catch (error) {
      // This response will not be read, so release its connection here.
      if (answer && !answer.bodyUsed) letGoOf(answer)
      throw error
    } finally {
      kept.release()
    }
  }

  async function payFor(
    request: FetchArguments,
    kept: KeptRequest,
    answer: Response,
    purchase: Purchase | undefined,
  ): Promise<Response | undefined> {
    const signal = signalOf(request)
    const address = addressOf(request) || answer.url
    const challenge = await readChallenge(answer)
    const why = challenge ? whyNot(request, address, answer, challenge, maxAmount) : 'no_challenge'
    const repeatable = why ? undefined : await kept.repeatable()
    if (!challenge || !repeatable) {
      return decided(answer, skipped(why ?? 'body_cannot_be_repeated', { challenge, address, maxAmount }))
    }
    const veto = await vetoOf(challenge)
    if (veto !== undefined) {
      return decided(answer, { outcome: 'skipped', why: 'refused_by_caller', detail: veto, challenge })
    }
    if (purchase && !(await purchase.begin(challenge))) return letGoOf(answer)
    const { decision, proof, isReplayed } = await pay(challenge, signal, purchase)
    if (proof && purchase && !(await purchase.pay(challenge, proof))) return letGoOf(answer)
    try {
      await onDecision?.(decision)
      signal?.throwIfAborted()
    } catch (error) {
      if (proof) await abandonProof(proof.nonce, client)
      if (proof) await purchase?.release().catch(() => {})
      throw error
    }
    if (!proof) return withDecision(answer, decision)
    letGoOf(answer)
    const paid = await finish(purchase, repeatable, proof)
    // The proof of an earlier run is void: this run has not tried its own yet.
    if (!paid || (purchase && isReplayed && !hasGoods(paid))) return undefined
    return withDecision(paid, decision)
  }

  async function decided(answer: Response, decision: PaymentDecision): Promise<Response> {
    await onDecision?.(decision)
    return withDecision(answer, decision)
  }

  /** Why the caller refuses; undefined if it does not. */
  async function vetoOf(challenge: PaymentChallenge): Promise<string | undefined> {
    const said = await onPaymentRequired?.(challenge)
    if (said === undefined || said === true) return undefined
    return (typeof said === 'object' && said.refuse) || skipReasons.refused_by_caller
  }

  /** Sends the proof; undefined if another process has continued the purchase, which must be loaded again. */
  async function finish(
    purchase: Purchase | undefined,
    request: FetchArguments,
    proof: Proof,
  ): Promise<Response | undefined> {
    const signal = signalOf(request)
    if (!purchase) return finishPayment({ proof, request }, { ...options, fetch, signal })
    const stopClaiming = await purchase.claim()
    if (!stopClaiming) return undefined
    try {
      const answer = await finishPayment({ proof, request }, { ...options, fetch, signal, maxKeptBytes })
      if (!hasGoods(answer)) return (await purchase.end(true, signal)) ? undefined : answer
      // Return the goods even if the store fails: that only costs the next call its replay.
      await purchase.deliver(answer).catch(() => {})
      return answer
    } catch (error) {
      const isOver = error instanceof PaymentNotChargedError
      if (await purchase.end(isOver, signal).catch(() => false)) return undefined
      throw error
    } finally {
      stopClaiming()
    }
  }

  /** Waits for a person as long as the caller wants. */
  async function waitFor(
    approval: ApprovalReference,
    challenge: PaymentChallenge,
    signal: AbortSignal | undefined,
  ): Promise<ApprovalReference> {
    const said = await onApprovalRequired?.({ approval, challenge })
    const { approvals } = client
    if (!said || !approvals) return approval
    return awaitApproval({ approvals }, approval, { ...said, signal, sleep: options.sleep })
  }

  /** Evaluates the payment, including merchant and category, then requests a proof for it. */
  async function pay(
    challenge: PaymentChallenge,
    signal: AbortSignal | undefined,
    purchase: Purchase | undefined,
  ): Promise<{ readonly decision: PaymentDecision; readonly proof?: Proof; readonly isReplayed?: boolean }> {
    const { amount, currency, resource, merchant_domain, category = null } = challenge
    const { agentId, mandateId } = await payer.find(signal)
    const { metadata } = options
    const payment = {
      agent_id: agentId,
      mandate_id: mandateId,
      amount,
      currency,
      resource_url: resource,
      ...(category !== null && { category }),
      ...(metadata && { metadata }),
    }
    const evaluation = await client.policy.evaluate({ ...payment, merchant_domain, category }, { signal })
    const { transaction_id } = evaluation
    if (evaluation.decision === 'denied' && evaluation.reason_code === 'mandate_expired') payer.expire()
    if (evaluation.decision === 'denied' && !isDecidedWithProof(evaluation.reason_code, purchase))
      return { decision: denied(challenge, evaluation, transaction_id) }
    const idempotencyKey = await purchase?.keyFor(payment)
    const onPending = (approval: ApprovalReference) => waitFor(approval, challenge, signal)
    const granted = await requestApprovedProof(client, payment, { signal, idempotencyKey, onPending })
    if (granted.decision === 'denied') {
      const { approval } = granted
      return { decision: { ...denied(challenge, granted, null), ...(approval && { approval }) } }
    }
    const { proof, replayed: isReplayed } = granted
    return {
      decision: { outcome: 'approved', challenge, nonce: proof.nonce, transaction_id },
      proof,
      isReplayed,
    }
  }
}

/** Max number of times to reload a purchase because another process or an earlier run was first. */
const maxLooks = 5

/** Discards a response that is not needed any more, without waiting: its body may be broken or slow. */
function letGoOf(answer: Response): undefined {
  void answer.body?.cancel().catch(() => {})
}

/** Whether the response has the goods, charged or not; a refusal of a proof that can never be charged does not. */
function hasGoods(answer: Response): boolean {
  return paymentResultOf(answer)?.delivered !== false
}

function denied(
  challenge: PaymentChallenge,
  { reason_code, reason_detail }: Denial | ProofDenial,
  transaction_id: string | null,
): PaymentDecision & { readonly outcome: 'denied' } {
  return { outcome: 'denied', challenge, reason_code, reason_detail, transaction_id }
}

interface SkippedFacts {
  readonly challenge: PaymentChallenge | undefined
  readonly address: string
  readonly maxAmount: string | undefined
}

function skipped(why: SkipReason, { challenge, address, maxAmount }: SkippedFacts): PaymentDecision {
  if (why === 'over_max_amount' && challenge && maxAmount !== undefined) {
    const detail = `the price of ${challenge.amount} ${challenge.currency} is above maxAmount ${maxAmount}`
    return { outcome: 'skipped', why, detail, challenge, max_amount: maxAmount }
  }
  const addresses =
    why === 'other_resource' && challenge && address
      ? ` (${new URL(challenge.resource).href}, not ${address})`
      : ''
  return { outcome: 'skipped', why, detail: skipReasons[why] + addresses, challenge }
}

/** Why this 402 must not be paid, checked before any call; undefined if it may be. */
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
  return undefined
}

/**
 * Whether a denied evaluation leaves the decision to the request for the proof. Evaluating requests no approval, which
 * comes last: all other checks have passed. A purchase may have a proof already, which counts for limits and budgets;
 * requesting it again returns it.
 */
function isDecidedWithProof(code: string, purchase: Purchase | undefined): boolean {
  return code === 'approval_required' || (purchase !== undefined && code.endsWith('_exceeded'))
}

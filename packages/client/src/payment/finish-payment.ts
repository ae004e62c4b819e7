import { compareAmounts, isAmount } from '../amounts.ts'
import type { Sleep } from '../options.ts'
import { isPassing } from '../retries.ts'
import type { Purser } from '../purser.ts'
import type { ProofRecord } from '../wire-types.ts'
import { bytesOf, paidAnswer, shortAnswer, withBytes } from './paid-answer.ts'
import { chargedAmountOf, withResult, type PaymentResult } from './payment-result.ts'
import { readReceipt } from './receipt.ts'
import {
  headersOf,
  isRequest,
  methodOf,
  redirectModeOf,
  settingsOf,
  type FetchArguments,
} from './repeatable-request.ts'
import { defaultTimeoutMs, sendPaidRequest, type PaidAttempt, type ShownProof } from './send-paid-request.ts'
import { failedPayment, type PaymentFailure, type ShownPayment } from './uncertain-payment.ts'

/** How to send a proof, and how to look up its state. */
export interface FinishOptions {
  readonly client: Pick<Purser, 'payments'>
  readonly fetch: typeof globalThis.fetch
  readonly signal: AbortSignal | undefined
  readonly maxRetries?: number | undefined
  readonly timeout?: number | undefined
  /** Buffers goods of up to this many bytes, so that an incomplete body is retried. */
  readonly maxKeptBytes?: number | undefined
  readonly random?: (() => number) | undefined
  readonly sleep?: Sleep | undefined
}

/**
 * Sends the proof, with retries where they help, and returns the goods, or the merchant's refusal if it is
 * certain that nothing is charged. Otherwise rejects with a `PaymentUncertainError`.
 */
export async function finishPayment(payment: ShownPayment, options: FinishOptions): Promise<Response> {
  const { client, signal } = options
  const shown = await showProof(payment, options)
  if (shown.outcome === 'answered' && isDelivery(shown.answer, payment.request)) {
    const result = await deliveredResult(payment, shown.answer, client)
    const answer = bytesOf(shown.answer) ? shown.answer : paidAnswer(shown.answer, payment, result)
    return withResult(answer, result)
  }
  const answer = shown.answer && (await shortAnswer(shown.answer))
  const reason = failureOf(shown, signal)
  const location = shown.outcome === 'redirected' ? shown.location : null
  const cause = shown.outcome === 'failed' ? shown.error : undefined
  // The caller has given up, so do not look up the proof.
  const fate = reason === 'aborted' ? undefined : await fateOf(payment, shown, client, signal)
  const isOver = fate?.status === 'expired' || fate?.status === 'voided'
  if (reason === 'refused' && answer && isOver)
    return withResult(answer, resultOf(payment, answer, fate, false))
  throw failedPayment({ payment, reason, fate, response: answer, location, cause })
}

async function showProof(payment: ShownPayment, options: FinishOptions): Promise<ShownProof<Response>> {
  const { proof, request } = payment
  const { fetch, maxRetries, timeout, maxKeptBytes, signal, random, sleep } = options
  const shown = await sendPaidRequest<Response>({
    proof,
    method: methodOf(request),
    send: (attempt) => sendAttempt(fetch, request, attempt),
    receive: async (answer) =>
      maxKeptBytes !== undefined && answer.ok
        ? withBytes(answer, { maxBytes: maxKeptBytes, stalledMs: timeout ?? defaultTimeoutMs })
        : answer,
    read: ({ status, headers }) => ({ status, header: (name) => headers.get(name) }),
    discard: (answer) => answer.body?.cancel(),
    followRedirects: redirectModeOf(request) === 'follow',
    maxRetries,
    timeoutMs: timeout,
    signal,
    random,
    sleep,
  })
  if (redirectModeOf(request) === 'manual') {
    return shown.outcome === 'redirected' ? { outcome: 'answered', answer: shown.answer } : shown
  }
  // Browsers hide the target of a redirect.
  return shown.outcome === 'answered' && shown.answer.type === 'opaqueredirect'
    ? { outcome: 'redirected', answer: shown.answer, location: null }
    : shown
}

function sendAttempt(
  fetch: typeof globalThis.fetch,
  request: FetchArguments,
  { url, method, withBody, headers: proofHeaders, signal }: PaidAttempt,
): Promise<Response> {
  const headers = headersOf(request)
  for (const [name, value] of Object.entries(proofHeaders)) headers.set(name, value)
  if (!withBody) for (const name of bodyHeaders) headers.delete(name)
  const settings = settingsOf(request)
  const body = (withBody && settings.body) || null
  const init: RequestInit = { ...settings, method, headers, body, redirect: 'manual', signal }
  const { input } = request
  // A `Request` may have settings that cannot be read, such as the dispatcher of a proxy.
  return fetch(withBody && isRequest(input) && input.url === url ? input : url, init)
}

const bodyHeaders = [
  'content-encoding',
  'content-language',
  'content-length',
  'content-location',
  'content-type',
]

/** Whether the merchant delivered. */
function isDelivery({ ok, status, type }: Response, request: FetchArguments): boolean {
  const isRedirect = (status >= 300 && status < 400) || type === 'opaqueredirect'
  return ok || status === 304 || (isRedirect && redirectModeOf(request) === 'manual')
}

function failureOf(shown: ShownProof<Response>, signal: AbortSignal | undefined): PaymentFailure {
  switch (shown.outcome) {
    case 'answered':
      return isPassing(shown.answer.status) ? 'merchant_failed' : 'refused'
    case 'redirected':
      return 'redirected'
    case 'failed':
      if (signal?.aborted) return 'aborted'
      return shown.answer ? 'merchant_failed' : 'no_answer'
    default:
      return shown satisfies never
  }
}

/** Max milliseconds for looking up a proof: without goods, and with goods. */
const lookUpTimeoutMs = 5_000
const deliveredLookUpTimeoutMs = 2_000

/**
 * The state of a proof that brought no goods; undefined if the service does not answer. A merchant that has
 * answered will not deliver any more, so the proof is voided first, which makes its state final.
 */
async function fateOf(
  { proof: { nonce } }: ShownPayment,
  { outcome }: ShownProof<Response>,
  { payments }: Pick<Purser, 'payments'>,
  signal: AbortSignal | undefined,
): Promise<ProofRecord | undefined> {
  const call = { timeout: lookUpTimeoutMs, maxRetries: 1, signal }
  const isFinal = outcome !== 'failed'
  const voided = isFinal && (await stateOf(nonce, payments.voidProof(nonce, call)))
  return voided || stateOf(nonce, payments.getProof(nonce, call))
}

/** The state of a proof; undefined without an answer, and for one that is not about it, such as that of a proxy. */
async function stateOf(nonce: string, asked: Promise<ProofRecord>): Promise<ProofRecord | undefined> {
  const state = await asked.catch(() => undefined)
  return state?.nonce === nonce ? state : undefined
}

/**
 * Voids a proof that was never sent, to release its amount at once. If that fails, the proof expires by
 * itself.
 */
export async function abandonProof(nonce: string, { payments }: Pick<Purser, 'payments'>): Promise<void> {
  await payments.voidProof(nonce, { timeout: lookUpTimeoutMs, maxRetries: 1 }).catch(() => {})
}

/**
 * A receipt is only the merchant's claim, which could hide a charge. So it is enough only if it claims the whole amount
 * of the proof, the most that can be charged; otherwise briefly ask the service.
 */
async function deliveredResult(
  payment: ShownPayment,
  answer: Response,
  { payments }: Pick<Purser, 'payments'>,
): Promise<PaymentResult> {
  const { nonce, amount: captured_amount } = payment.proof
  const receipt = readReceipt(answer)
  const claimed = receipt?.nonce === nonce && isAmount(receipt.amount) ? receipt : undefined
  if (claimed && compareAmounts(claimed.amount, captured_amount) >= 0) {
    const { transaction_id } = claimed
    return resultOf(payment, answer, { status: 'captured', transaction_id, captured_amount }, true)
  }
  const call = { timeout: deliveredLookUpTimeoutMs, maxRetries: 0 }
  return resultOf(payment, answer, await stateOf(nonce, payments.getProof(nonce, call)), true)
}

function resultOf(
  { proof }: ShownPayment,
  answer: Response,
  fate: Pick<ProofRecord, 'status' | 'transaction_id' | 'captured_amount'> | undefined,
  delivered: boolean,
): PaymentResult {
  const { nonce, amount, currency, resource } = proof
  const given = readReceipt(answer)
  return {
    nonce,
    amount,
    charged_amount: chargedAmountOf(fate),
    currency,
    resource,
    delivered,
    status: fate?.status ?? 'unknown',
    transaction_id: fate?.transaction_id ?? null,
    replayed: false,
    receipt: given?.nonce === nonce ? given : undefined,
  }
}

import type { Settled } from '../group-commit.ts'
import { StoreUnavailableError, type Capture, type CaptureOutcome } from '../store.ts'
import type { Call } from './ledger.ts'

// What crosses to the ledger's thread is copied, an object with the names of its fields. So captures, which
// are most of the load, go as the bare values, and come back as the id of what was paid.

/** A call as it crosses threads. */
export type SentCall = SentCapture | Call

/** What became of a call, as it crosses threads: there an error keeps its text but not its class. */
export type Reply = CapturedId | { readonly value: unknown } | { readonly failure: Failure | Error }
type Failure = Pick<StoreUnavailableError, 'message' | 'retryAfterSeconds'>
/** The transaction of a payment that was captured. */
type CapturedId = string

type SentCapture = readonly [
  // One object, however many of its calls cross together.
  caller: Capture['caller'],
  nonce: string,
  agentId: string,
  mandateId: string,
  amountText: string,
  currency: string,
  resourceUrl: string,
  merchantDomain: string,
  idempotencyKey: string | null,
  transactionId: string,
  nowMs: number,
]

export function packCall(call: Call): SentCall {
  if (!isCapture(call)) return call
  const {
    caller,
    nonce,
    agentId,
    mandateId,
    amountText,
    currency,
    resourceUrl,
    merchantDomain,
    idempotencyKey,
    transactionId,
    nowMs,
  } = call.input[0]
  return [
    caller,
    nonce,
    agentId,
    mandateId,
    amountText,
    currency,
    resourceUrl,
    merchantDomain,
    idempotencyKey,
    transactionId,
    nowMs,
  ]
}

export function unpackCall(sent: SentCall): Call {
  if ('act' in sent) return sent
  const [
    caller,
    nonce,
    agentId,
    mandateId,
    amountText,
    currency,
    resourceUrl,
    merchantDomain,
    idempotencyKey,
    transactionId,
    nowMs,
  ] = sent
  const capture = {
    caller,
    nonce,
    agentId,
    mandateId,
    amountText,
    currency,
    resourceUrl,
    merchantDomain,
    idempotencyKey,
    transactionId,
    nowMs,
  }
  return { act: 'capture', input: [capture] }
}

export function packReply(settled: Settled<unknown>): Reply {
  if (!('error' in settled)) return isCaptured(settled.value) ? settled.value.transactionId : settled
  const { error } = settled
  if (!(error instanceof StoreUnavailableError)) {
    return { failure: error instanceof Error ? error : new Error(String(error)) }
  }
  return { failure: { message: error.message, retryAfterSeconds: error.retryAfterSeconds } }
}

/** What a call came to; a reply that never came is an error without a text. */
export function unpackReply(reply: Reply | undefined): Settled<unknown> {
  if (typeof reply === 'string') {
    return { value: { outcome: 'captured', transactionId: reply } satisfies CaptureOutcome }
  }
  if (reply && 'value' in reply) return reply
  const failure = reply?.failure
  if (failure === undefined || failure instanceof Error) return { error: failure }
  const { message, retryAfterSeconds } = failure
  return { error: new StoreUnavailableError(message, { retryAfterSeconds }) }
}

function isCapture(call: Call): call is Call<'capture'> {
  return call.act === 'capture'
}

function isCaptured(value: unknown): value is CaptureOutcome & { readonly outcome: 'captured' } {
  return typeof value === 'object' && value !== null && 'outcome' in value && value.outcome === 'captured'
}

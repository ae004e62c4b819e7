import type { PolicyDecision } from '../../domain/policy.ts'
import type { Hold } from '../../domain/records.ts'
import type { Settled } from '../group-commit.ts'
import {
  StoreUnavailableError,
  type Capture,
  type CaptureOutcome,
  type ProposedTransaction,
} from '../store.ts'
import type { Call } from './ledger.ts'

// What crosses to the ledger's thread is copied, an object with the names of its fields. So payments, which
// are most of the load, go as the bare values, and come back as the id of what was paid, or as a bare approval.

/** A call as it crosses threads. */
export type SentCall = BareCall | Call

/** What became of a call, as it crosses threads: there an error keeps its text but not its class. */
export type Reply =
  CapturedId | typeof approved | { readonly value: unknown } | { readonly failure: Failure | Error }
type Failure = Pick<StoreUnavailableError, 'message' | 'retryAfterSeconds'>
/** The transaction of a payment that was captured. */
type CapturedId = string
const approved = true

/** An act and the values of what it is handed, in the order of its fields. */
type BareCall = readonly [act: BareAct, ...values: unknown[]]
type BareAct = keyof typeof bareFields

/** The acts that go as bare values, with the fields of what they are handed. */
const bareFields = {
  capture: fieldsOf<Capture>({
    // One object, however many of its calls cross together.
    caller: true,
    nonce: true,
    agentId: true,
    mandateId: true,
    amountText: true,
    currency: true,
    resourceUrl: true,
    merchantDomain: true,
    idempotencyKey: true,
    transactionId: true,
    nowMs: true,
  }),
  issueProof: fieldsOf<Hold>({
    accountId: true,
    environment: true,
    nonce: true,
    agentId: true,
    mandateId: true,
    amountText: true,
    amountMicro: true,
    currency: true,
    resourceUrl: true,
    status: true,
    issuedAtMs: true,
    expiresAtMs: true,
    transactionId: true,
  }),
  evaluate: fieldsOf<ProposedTransaction>({
    accountId: true,
    environment: true,
    id: true,
    agentId: true,
    mandateId: true,
    amountText: true,
    amountMicro: true,
    currency: true,
    resourceUrl: true,
    merchantDomain: true,
    category: true,
    createdAtMs: true,
  }),
} as const

/** The names of all fields. */
function fieldsOf<Input>(all: Readonly<Record<keyof Input, true>>): readonly (keyof Input & string)[] {
  return Object.keys(all) as (keyof Input & string)[]
}

export function packCall(call: Call): SentCall {
  if (!isBare(call)) return call
  const input = call.input[0] as unknown as Readonly<Record<string, unknown>>
  const bare: [BareAct, ...unknown[]] = [call.act]
  for (const field of bareFields[call.act]) bare.push(input[field])
  return bare
}

export function unpackCall(sent: SentCall): Call {
  if ('act' in sent) return sent
  const [act] = sent
  const input: Record<string, unknown> = {}
  for (const [index, field] of bareFields[act].entries()) input[field] = sent[index + 1]
  return { act, input: [input] } as unknown as Call
}

export function packReply(settled: Settled<unknown>): Reply {
  if (!('error' in settled)) return packValue(settled)
  const { error } = settled
  if (!(error instanceof StoreUnavailableError)) {
    return { failure: error instanceof Error ? error : new Error(String(error)) }
  }
  return { failure: { message: error.message, retryAfterSeconds: error.retryAfterSeconds } }
}

/** What a call came to; a reply that never came is an error without a text. */
export function unpackReply(reply: Reply | undefined): Settled<unknown> {
  if (reply === approved) return { value: { decision: 'approved' } satisfies PolicyDecision }
  if (typeof reply === 'string') {
    return { value: { outcome: 'captured', transactionId: reply } satisfies CaptureOutcome }
  }
  if (reply && 'value' in reply) return reply
  const failure = reply?.failure
  if (failure === undefined || failure instanceof Error) return { error: failure }
  const { message, retryAfterSeconds } = failure
  return { error: new StoreUnavailableError(message, { retryAfterSeconds }) }
}

/** Whether a call is one that goes as bare values; a request for a proof with an `Idempotency-Key` carries more. */
function isBare(call: Call): call is Call<BareAct> {
  return call.act in bareFields && call.input[1] === undefined
}

function packValue(settled: { readonly value: unknown }): Reply {
  const { value } = settled
  if (typeof value !== 'object' || value === null) return settled
  if ('outcome' in value && value.outcome === 'captured' && 'transactionId' in value) {
    return value.transactionId as CapturedId
  }
  return 'decision' in value && value.decision === 'approved' ? approved : settled
}

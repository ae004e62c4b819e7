import { PurserError } from '../errors.ts'
import { hexOf, randomKey } from '../random-key.ts'
import { sleep } from '../retries.ts'
import type { Proof } from '../wire-types.ts'
import { fromBase64, toBase64, toBinary } from './base64.ts'
import type { PaymentChallenge } from './challenge.ts'
import { bytesOf, likeAnswer } from './paid-answer.ts'
import { paymentResultOf, withResult } from './payment-result.ts'
import { readReceipt } from './receipt.ts'
import { headersOf, methodOf, type FetchArguments } from './repeatable-request.ts'
import type { PurchaseRecord, PurchaseSender, PurchaseStep, PurchaseStore } from './purchase-store.ts'

/** The purchase id was used for another request: another URL, method or body. This call bought nothing. */
export class PurchaseConflictError extends PurserError {
  override readonly name = 'PurchaseConflictError'
  readonly purchaseId: string

  constructor(purchaseId: string) {
    super(`The purchase ${purchaseId} was started with another request; choose another id`)
    this.purchaseId = purchaseId
  }
}

/** Max age in milliseconds of a proof that was requested but never sent, for requesting it again. */
const proofAskedAgainMs = 4 * 60_000

/** How long a process counts as sending a proof after it last said so, and how often it says so, in milliseconds. */
const senderLeaseMs = 30_000
const senderRenewalMs = 10_000

/** How often a process looks whether another one is still sending a proof, in milliseconds. */
const senderLookMs = 200

/** One purchase, continued from its stored record. */
export interface Purchase {
  readonly step: PurchaseStep | undefined
  /** Equal for the same payment of the same attempt, so that requesting its proof twice returns one proof. */
  readonly keyFor: (payment: object) => Promise<string>
  /** False if another process has continued the purchase; then call `openPurchase` again. */
  readonly begin: (challenge: PaymentChallenge) => Promise<boolean>
  /** Stores the proof; from then on, this process counts as sending it. False as above. */
  readonly pay: (challenge: PaymentChallenge, proof: Proof) => Promise<boolean>
  /**
   * Lets this process count as sending the proof until it calls `release`, `end` or `deliver`. Returns how to stop
   * saying so; undefined as false above.
   */
  readonly claim: () => Promise<(() => void) | undefined>
  /** The proof may still be charged. */
  readonly release: () => Promise<void>
  /**
   * This process has got no goods for the proof. Waits until no other process is sending it; true if another one has
   * got the goods. If not, and the proof can never be charged (`isOver`), the purchase can start over. Rejects if the
   * signal aborts.
   */
  readonly end: (isOver: boolean, signal: AbortSignal | undefined) => Promise<boolean>
  /** Stores the goods if they were buffered. */
  readonly deliver: (answer: Response) => Promise<void>
}

type Paying = PurchaseStep & { readonly kind: 'paying' }

/** Loads a purchase. Rejects with a `PurchaseConflictError` if the id was used for another request. */
export async function openPurchase(
  store: PurchaseStore,
  { purchaseId, fingerprint }: Pick<PurchaseRecord, 'purchaseId' | 'fingerprint'>,
): Promise<Purchase> {
  let record = await store.find(purchaseId)
  const senderId = randomKey()
  /** The attempt whose proof this process sends. */
  let sent = record?.attempt
  if (record && record.fingerprint !== fingerprint) throw new PurchaseConflictError(purchaseId)

  async function save(step: PurchaseStep, attempt = record?.attempt ?? 1): Promise<boolean> {
    const revision = (record?.revision ?? 0) + 1
    const next = { purchaseId, revision, attempt, fingerprint, changedAtMs: Date.now(), step }
    const isSaved = await store.save(next)
    if (isSaved) record = next
    return isSaved
  }

  /** Changes the step while the proof is being sent, whatever other processes change; false if it is not any more. */
  async function change(next: (step: Paying) => PurchaseStep): Promise<boolean> {
    for (;;) {
      if (record?.step.kind !== 'paying' || record.attempt !== sent) return false
      const step = next(record.step)
      if (step === record.step || (await save(step))) return true
      record = await store.find(purchaseId)
    }
  }

  const own = () => ({ id: senderId, untilMs: Date.now() + senderLeaseMs })
  const isOwn = ({ id }: PurchaseSender) => id === senderId
  const othersOf = ({ senders }: Paying) =>
    senders.filter((sender) => !isOwn(sender) && sender.untilMs > Date.now())

  function claimed(step: Paying): Paying {
    return { ...step, senders: [...othersOf(step), own()] }
  }

  function released(step: Paying): Paying {
    return step.senders.some(isOwn) ? { ...step, senders: othersOf(step) } : step
  }

  function ended(step: Paying): PurchaseStep {
    return othersOf(step).length === 0 ? { kind: 'over' } : released(step)
  }

  /** Whether this process counts as sending for long enough to say so again in time. */
  function isClaimed(): boolean {
    const senders = record?.step.kind === 'paying' ? record.step.senders : []
    return senders.some((sender) => isOwn(sender) && sender.untilMs > Date.now() + senderRenewalMs)
  }

  return {
    step: record?.step,
    keyFor: (payment) => digest(JSON.stringify(['proof', purchaseId, record?.attempt, payment])),
    begin: async (challenge) => {
      const before = record?.step.kind === 'asking' ? record.step.challenge : undefined
      const isRecent = Date.now() - (record?.changedAtMs ?? 0) < proofAskedAgainMs
      // This process or another one requests the same proof again.
      if (before?.amount === challenge.amount && before.resource === challenge.resource && isRecent)
        return true
      return save({ kind: 'asking', challenge }, (record?.attempt ?? 0) + 1)
    },
    pay: async (challenge, proof) => {
      const isSaved = await save({ kind: 'paying', challenge, proof, senders: [own()] })
      sent = record?.attempt
      return isSaved
    },
    claim: async () => {
      if (!isClaimed() && !(await change(claimed))) return undefined
      const timer = setInterval(() => void change(claimed).catch(() => {}), senderRenewalMs)
      return () => clearInterval(timer)
    },
    release: async () => void (await change(released)),
    end: async (isOver, signal) => {
      while (await change(isOver ? ended : released)) {
        if (record?.step.kind !== 'paying' || othersOf(record.step).length === 0) break
        await sleep(senderLookMs, signal)
        record = await store.find(purchaseId)
      }
      return record?.step.kind === 'delivered'
    },
    deliver: async (answer) => {
      const bytes = bytesOf(answer)
      const { receipt: _, ...result } = paymentResultOf(answer) ?? {}
      if (!bytes || !('nonce' in result)) {
        await change(released)
        return
      }
      const headers = [...answer.headers].filter(([name]) => !codedHeaders.has(name))
      const { status, statusText, url } = answer
      const kept = { status, statusText, headers, url, body: toBase64(bytes) }
      await change(() => ({ kind: 'delivered', result, answer: kept }))
    },
  }
}

/** The bytes are those of the decoded body. */
const codedHeaders = new Set(['content-encoding', 'content-length', 'transfer-encoding'])

/** The goods of an earlier purchase. */
export function replayed({ result, answer }: PurchaseStep & { readonly kind: 'delivered' }): Response {
  const { status, statusText, url, body } = answer
  const headers = new Headers(answer.headers.map(([name, value]): [string, string] => [name, value]))
  const hasBody = status !== 204 && status !== 205 && status !== 304
  const response = likeAnswer(
    { status, statusText, headers, url, redirected: false },
    hasBody ? fromBase64(body) : null,
  )
  return withResult(response, { ...result, replayed: true, receipt: readReceipt(response) })
}

/** Equal for requests with the same method, URL and body. */
export async function fingerprintOf(request: FetchArguments, address: string): Promise<string> {
  const { body } = request.init ?? {}
  const sent = new Response(body, body instanceof FormData ? {} : { headers: headersOf(request) })
  // Each time a form is written, it gets another boundary.
  const boundary = sent.headers.get('content-type')?.split('boundary=')[1] ?? ''
  const text = toBinary(new Uint8Array(await sent.arrayBuffer())).replaceAll(boundary, '')
  return digest(JSON.stringify([methodOf(request), address, btoa(text)]))
}

async function digest(text: string): Promise<string> {
  if (!('subtle' in crypto)) {
    throw new PurserError('Purchase ids need crypto.subtle, which browsers provide only on https pages')
  }
  return hexOf(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))))
}

import { PurserError } from '../errors.ts'
import type { Proof } from '../wire-types.ts'
import type { PaymentChallenge } from './challenge.ts'
import { bytesOf, likeAnswer } from './paid-answer.ts'
import { paymentResultOf, withResult } from './payment-result.ts'
import { readReceipt } from './receipt.ts'
import { methodOf, type FetchArguments } from './repeatable-request.ts'
import type { PurchaseRecord, PurchaseStep, PurchaseStore } from './purchase-store.ts'

/** The purchase id belongs to another request: another address, method or body. Nothing was bought by this call. */
export class PurchaseConflictError extends PurserError {
  override readonly name = 'PurchaseConflictError'
  readonly purchaseId: string

  constructor(purchaseId: string) {
    super(`The purchase ${purchaseId} was begun with another request; choose another id for this one`)
    this.purchaseId = purchaseId
  }
}

/** Longer than this, in milliseconds, a proof that was asked for and never shown is not asked for again. */
const proofAskedAgainMs = 4 * 60_000

/** One purchase, as it goes on from what is remembered of it. */
export interface Purchase {
  readonly step: PurchaseStep | undefined
  /** Equal for the same payment of the same attempt, so that asking twice for its proof gives one proof. */
  readonly keyFor: (payment: object) => Promise<string>
  /** False when another process has gone on meanwhile; then look again with `openPurchase`. */
  readonly begin: (challenge: PaymentChallenge) => Promise<boolean>
  readonly pay: (challenge: PaymentChallenge, proof: Proof) => Promise<boolean>
  readonly end: () => Promise<boolean>
  /** Keeps the goods, where they were read whole. */
  readonly deliver: (answer: Response) => Promise<void>
}

/** Looks up what is remembered of a purchase. Rejects with a `PurchaseConflictError` when the id is another request's. */
export async function openPurchase(
  store: PurchaseStore,
  { purchaseId, fingerprint }: Pick<PurchaseRecord, 'purchaseId' | 'fingerprint'>,
): Promise<Purchase> {
  let record = await store.find(purchaseId)
  if (record && record.fingerprint !== fingerprint) throw new PurchaseConflictError(purchaseId)

  async function save(step: PurchaseStep, attempt = record?.attempt ?? 1): Promise<boolean> {
    const revision = (record?.revision ?? 0) + 1
    const next = { purchaseId, revision, attempt, fingerprint, changedAtMs: Date.now(), step }
    const isSaved = await store.save(next)
    if (isSaved) record = next
    return isSaved
  }

  return {
    step: record?.step,
    keyFor: (payment) => digest(JSON.stringify(['proof', purchaseId, record?.attempt, payment])),
    begin: async (challenge) => {
      const before = record?.step.kind === 'asking' ? record.step.challenge : undefined
      const isRecent = Date.now() - (record?.changedAtMs ?? 0) < proofAskedAgainMs
      // The same proof is asked for again, by this process or another one.
      if (before?.amount === challenge.amount && before.resource === challenge.resource && isRecent)
        return true
      return save({ kind: 'asking', challenge }, (record?.attempt ?? 0) + 1)
    },
    pay: (challenge, proof) => save({ kind: 'paying', challenge, proof }),
    end: () => save({ kind: 'over' }),
    deliver: async (answer) => {
      const bytes = bytesOf(answer)
      const { receipt: _, ...result } = paymentResultOf(answer) ?? {}
      if (!bytes || !('nonce' in result)) return
      const headers = [...answer.headers].filter(([name]) => !codedHeaders.has(name))
      const { status, statusText, url } = answer
      const kept = { status, statusText, headers, url, body: toBase64(bytes) }
      await save({ kind: 'delivered', result, answer: kept })
    },
  }
}

/** The bytes are those of the body as it was decoded. */
const codedHeaders = new Set(['content-encoding', 'content-length', 'transfer-encoding'])

/** The goods of a purchase that was made before. */
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

/** Equal for requests with the same method, address and body. */
export async function fingerprintOf(request: FetchArguments, address: string): Promise<string> {
  return digest(JSON.stringify([methodOf(request), address, await bodyText(request.init?.body ?? null)]))
}

async function bodyText(body: BodyInit | null): Promise<string | null> {
  if (body === null) return null
  if (!(body instanceof FormData)) return toBase64(new Uint8Array(await new Response(body).arrayBuffer()))
  const fields: string[] = []
  for (const [name, value] of body) {
    const text =
      typeof value === 'string'
        ? value
        : `${value.name} ${toBase64(new Uint8Array(await value.arrayBuffer()))}`
    fields.push(JSON.stringify([name, text]))
  }
  return fields.join()
}

async function digest(text: string): Promise<string> {
  if (!('subtle' in crypto)) {
    throw new PurserError('Purchase ids need crypto.subtle, which browsers give to https pages only')
  }
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

function toBase64(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += 8192)
    text += String.fromCharCode(...bytes.subarray(at, at + 8192))
  return btoa(text)
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (one) => one.charCodeAt(0))
}

import { NotFoundError, requestApprovedProof, type Sleep } from '@purser/client'

import type { Reason } from '../reason.ts'
import { partOf } from '../web/content.ts'
import type { Approval } from './approval.ts'
import { askFirst, type AskingParts } from './ask-first.ts'
import { ResultCache } from './result-cache.ts'
import { fingerprintOf, type Order } from './order.ts'
import type { Bill, PurchaseRecord, PurchaseRecords } from './purchase-records.ts'
import {
  answerLost,
  fateUnknown,
  idInUseByDone,
  idInUseByOpen,
  idInUseNow,
  latestEnd,
  needsApproval,
  notDelivered,
  notKept,
  paymentEnded,
  paymentRefused,
  sentByAnother,
  stillOpen,
  tooMany,
} from './purchase-reasons.ts'
import { resultOf, type PurchaseResult } from './purchase-result.ts'
import { showProof, type ProofInHand } from './show-proof.ts'

/** What a purchase needs. */
export interface PurchaseParts extends AskingParts {
  readonly sleep?: Sleep | undefined
  readonly openRecords: (signal?: AbortSignal) => Promise<PurchaseRecords>
}

/**
 * Buys each purchase once. From before the proof is sent until the service reports its outcome, the purchase id
 * belongs to that proof: in this process and, with `record-files.ts`, in later ones.
 */
export class Purchases {
  readonly #parts: PurchaseParts
  readonly #running = new Map<string, Running>()
  /** Unsettled proofs by nonce. They are only in memory: no other process can send them. */
  readonly #proofs = new Map<string, ProofInHand>()
  readonly #kept = new ResultCache()

  constructor(parts: PurchaseParts) {
    this.#parts = parts
  }

  /**
   * Buys an order, or returns the outcome of an earlier call. A refusal is a result. Rejects if nothing could be
   * decided: the service is down, it rejected the key, or the signal was aborted. Then nothing was charged that the
   * same order would not find again. Approval is requested before the proof.
   */
  async buy(order: Order, callerSignal?: AbortSignal, approval?: Approval): Promise<PurchaseResult> {
    const result = await this.#buyOnce(order, callerSignal, approval)
    return { ...result, response: result.response && partOf(result.response, order) }
  }

  /** The result with the complete response; each caller returns its own part of it. */
  async #buyOnce(
    order: Order,
    callerSignal: AbortSignal | undefined,
    approval: Approval | undefined,
  ): Promise<PurchaseResult> {
    const fingerprint = fingerprintOf(order)
    const running = this.#running.get(order.purchaseId)
    if (running) {
      if (running.fingerprint !== fingerprint) return resultOf(order, 'uncertain', { reason: idInUseNow })
      const result = await resultUnlessAborted(running)
      if (result) return { ...result, replayed: true }
      callerSignal?.throwIfAborted()
      return this.#buyOnce(order, callerSignal, approval)
    }
    if (this.#running.size >= maxAtOnce) return resultOf(order, 'denied', { reason: tooMany })
    const patience = AbortSignal.timeout(purchaseTimeoutMs)
    const signal = callerSignal ? AbortSignal.any([callerSignal, patience]) : patience
    const result = this.#resume(order, fingerprint, { signal, approval })
    this.#running.set(order.purchaseId, { fingerprint, result, signal: callerSignal })
    try {
      return await result
    } finally {
      this.#running.delete(order.purchaseId)
    }
  }

  /** Continues where an earlier call with the same purchase id stopped. */
  async #resume(order: Order, fingerprint: string, call: Call): Promise<PurchaseResult> {
    const { signal } = call
    const records = await this.#parts.openRecords(signal)
    const found = await records.find(order.purchaseId)
    if (!found) return this.#start(order, { fingerprint, attempt: 0 }, call)
    const fate = await this.#lookUp(found, signal).catch((error: unknown) => {
      // A sent proof remains uncertain as long as the service cannot be reached.
      if (signal.aborted || !found.bill) throw error
      return unknownFate(found)
    })
    const { record } = fate
    if (fate.state === 'over') return this.#start(order, { fingerprint, attempt: record.attempt + 1 }, call)
    const proof = record.nonce === null ? undefined : this.#proofs.get(record.nonce)
    if (fate.state === 'settled') {
      if (record.fingerprint !== fingerprint)
        return resultOf(order, 'denied', { reason: idInUseByDone(record) })
      // Paid but not delivered: the same proof gets the goods.
      const isFresh = Date.now() - Date.parse(record.begunAt) < proofWindowMs
      if (proof && !this.#isDelivered(record) && record.bill && isFresh)
        return this.#pay(order, record, record.bill, proof, signal)
      return this.#replay(order, record)
    }
    const { bill } = record
    if (!bill) throw new Error(`the open purchase of proof ${record.nonce} has no bill`)
    const open = { bill, until: fate.openUntil }
    const stays = (reason: Reason) => resultOf(order, 'uncertain', { reason, bill, openUntil: open.until })
    if (record.fingerprint !== fingerprint) return stays(idInUseByOpen(open))
    if (fate.state === 'unknown') return stays(fateUnknown(open))
    return proof ? this.#pay(order, record, bill, proof, signal) : stays(sentByAnother(record, open))
  }

  async #start(
    order: Order,
    { fingerprint, attempt }: Pick<PurchaseRecord, 'fingerprint' | 'attempt'>,
    call: Call,
  ): Promise<PurchaseResult> {
    const { signal } = call
    const { client, secrets } = this.#parts
    const records = await this.#parts.openRecords(signal)
    const asked = await askFirst(this.#parts, order, call)
    if ('result' in asked) return asked.result
    const begun = { purchaseId: order.purchaseId, attempt, fingerprint, begunAt: new Date().toISOString() }
    if ('free' in asked) {
      const result = resultOf(order, 'free', { response: asked.free })
      // A free GET may be repeated; a successful POST may not.
      if (order.method === 'GET' || asked.free.status >= 400) return result
      await records.claim({ ...begun, nonce: null, bill: null, settled: { transactionId: null } })
      return this.#keep(result)
    }
    const { bill, category, url, agentId } = asked
    const decision = await requestApprovedProof(
      client,
      {
        agent_id: agentId,
        mandate_id: bill.mandate_id,
        amount: bill.amount,
        resource_url: bill.resource_url,
        ...(category !== undefined && { category }),
      },
      { signal },
    )
    if (decision.decision === 'denied') {
      const { approval } = decision
      const reason = approval ? needsApproval(decision.reason_detail, approval) : asked.explain(decision)
      return resultOf(order, 'denied', { reason, bill, approval })
    }
    const { proof } = decision
    secrets.add(proof.signature)
    const record = { ...begun, nonce: proof.nonce, bill, settled: null }
    const isClaimed = await this.#claim(records, record, signal)
    // Another process was first: this proof is not sent.
    if (!isClaimed) return this.#resume(order, fingerprint, call)
    const inHand = { proof, url, isDelivered: false }
    this.#rememberProof(inHand)
    return this.#pay(order, record, bill, inHand, signal)
  }

  /** Whether this process claimed the purchase. If not, its unsent proof is voided. */
  async #claim(records: PurchaseRecords, record: PurchaseRecord, signal: AbortSignal): Promise<boolean> {
    let isClaimed = false
    try {
      signal.throwIfAborted()
      isClaimed = await records.claim(record)
      return isClaimed
    } finally {
      if (!isClaimed) await this.#void(record, AbortSignal.timeout(lookUpTimeoutMs))
    }
  }

  /** Ends a proof that is not charged or authorized. If this fails, it expires within six minutes. */
  async #void({ nonce }: PurchaseRecord, signal: AbortSignal): Promise<void> {
    if (nonce !== null) await this.#parts.client.payments.voidProof(nonce, { signal }).catch(() => undefined)
  }

  /** Sends the proof to the merchant, then asks the service, not the merchant, whether it was charged. */
  async #pay(
    order: Order,
    record: PurchaseRecord,
    bill: Bill,
    proof: ProofInHand,
    signal: AbortSignal,
  ): Promise<PurchaseResult> {
    const shown = await showProof(this.#parts, order, proof, signal)
    const { response, challenge, isDelivered, isRefused, whyOpen } = shown
    const seen = { bill, response, challenge }
    const latest = isDelivered ? await this.#markDelivered(record, proof) : record
    const patience = AbortSignal.timeout(lookUpTimeoutMs)
    // A merchant that refused delivers no more; without the goods, it need not be paid.
    if (isRefused && !this.#isDelivered(record)) await this.#void(record, patience)
    const fate = await this.#lookUp(latest, patience).catch(() => unknownFate(record))
    switch (fate.state) {
      case 'settled': {
        const { transactionId = null, chargedAmount = null } = fate.record.settled ?? {}
        if (isDelivered) {
          this.#proofs.delete(proof.proof.nonce)
          const outcome = transactionId === null ? 'delivered_not_charged' : 'paid'
          return this.#keep(resultOf(order, outcome, { ...seen, transactionId, chargedAmount }))
        }
        // An earlier call received the goods.
        if (this.#isDelivered(fate.record)) return this.#replay(order, fate.record)
        const reason = response ? notDelivered(transactionId) : answerLost(transactionId)
        return this.#keep(
          resultOf(order, 'paid_not_delivered', { ...seen, transactionId, chargedAmount, reason }),
        )
      }
      case 'over':
        return resultOf(order, 'not_paid', { ...seen, reason: isRefused ? paymentRefused : paymentEnded })
      case 'open':
      case 'unknown': {
        const { openUntil } = fate
        const open = { bill, until: openUntil }
        const reason = fate.state === 'open' ? stillOpen(whyOpen, open) : fateUnknown(open)
        return resultOf(order, 'uncertain', { ...seen, reason, openUntil })
      }
      default:
        return fate satisfies never
    }
  }

  /** Stores that the goods arrived, also for a later process. */
  async #markDelivered(record: PurchaseRecord, proof: ProofInHand): Promise<PurchaseRecord> {
    this.#rememberProof({ ...proof, isDelivered: true })
    if (record.isDelivered) return record
    const delivered = { ...record, isDelivered: true }
    // If this fails, such as on a full disk, the goods are returned all the same.
    await this.#parts
      .openRecords()
      .then((records) => records.update(delivered))
      .catch(() => undefined)
    return delivered
  }

  #isDelivered({ nonce, isDelivered = false }: PurchaseRecord): boolean {
    return isDelivered || (nonce !== null && this.#proofs.get(nonce)?.isDelivered === true)
  }

  /** The service's view of a purchase. A settled outcome is stored. */
  async #lookUp(record: PurchaseRecord, signal: AbortSignal): Promise<Fate> {
    if (record.settled || record.nonce === null) return { record, state: 'settled' }
    const { client } = this.#parts
    const proof = await client.payments.getProof(record.nonce, { signal }).catch((error: unknown) => {
      if (error instanceof NotFoundError && error.code === 'not_found') return undefined
      throw error
    })
    // What a proxy answers in place of the service says nothing about the payment.
    if (proof && proof.nonce !== record.nonce) throw new Error('the answer is not about this payment')
    if (proof?.status === 'open') return { record, state: 'open', openUntil: proof.expires_at }
    if (proof?.status === 'authorized') {
      return { record, state: 'open', openUntil: proof.capture_deadline ?? proof.expires_at }
    }
    const isCharged = proof?.status === 'captured'
    // The goods of an attempt that was not charged must not be bought again either.
    if (!isCharged && !this.#isDelivered(record)) {
      this.#proofs.delete(record.nonce)
      return { record, state: 'over' }
    }
    const { transaction_id: transactionId, captured_amount: chargedAmount } = isCharged
      ? proof
      : nothingCharged
    const settled = { ...record, settled: { transactionId, chargedAmount } }
    await (await this.#parts.openRecords(signal)).update(settled)
    return { record: settled, state: 'settled' }
  }

  #replay(order: Order, record: PurchaseRecord): PurchaseResult {
    const kept = this.#kept.find(record.purchaseId)
    if (kept) return { ...kept, replayed: true }
    if (!record.bill) return resultOf(order, 'free', { reason: notKept(record), replayed: true })
    const { transactionId = null, chargedAmount = null } = record.settled ?? {}
    const paid = record.isDelivered ? 'paid' : 'paid_not_delivered'
    return resultOf(order, transactionId === null ? 'delivered_not_charged' : paid, {
      bill: record.bill,
      transactionId,
      chargedAmount,
      reason: notKept(record),
      replayed: true,
    })
  }

  /** Stores the result for retries with the same purchase id. */
  #keep(result: PurchaseResult): PurchaseResult {
    this.#kept.keep(result)
    return result
  }

  #rememberProof(inHand: ProofInHand): void {
    this.#proofs.set(inHand.proof.nonce, inHand)
    // A dropped proof cannot be sent again; its purchase waits until it expires.
    const [oldest] = this.#proofs.keys()
    if (this.#proofs.size > maxProofs && oldest !== undefined) this.#proofs.delete(oldest)
  }
}

const nothingCharged = { transaction_id: null, captured_amount: '0.00' } as const

/** A call that is buying. */
interface Running {
  readonly fingerprint: string
  readonly result: Promise<PurchaseResult>
  /** The signal of its caller. */
  readonly signal: AbortSignal | undefined
}

/** The result of another call; undefined if that call was cancelled, which must not end this one. */
async function resultUnlessAborted({ result, signal }: Running): Promise<PurchaseResult | undefined> {
  try {
    const found = await result
    return signal?.aborted ? undefined : found
  } catch (error) {
    if (signal?.aborted) return undefined
    throw error
  }
}

/** The arguments of a call besides its order. */
interface Call {
  readonly signal: AbortSignal
  readonly approval: Approval | undefined
}

/** How many purchases may run at once. */
const maxAtOnce = 32

/** Time limit for one purchase; MCP clients wait for a minute. */
const purchaseTimeoutMs = 45_000

/** How long a merchant can verify a proof. */
const proofWindowMs = 5 * 60_000

/** How many proofs are stored for retries. */
const maxProofs = 256

/** Time limit for looking up a proof afterwards. */
const lookUpTimeoutMs = 10_000

/** The outcome of a purchase, as far as the service knows it. */
type Fate =
  | { readonly record: PurchaseRecord; readonly state: 'settled' }
  | { readonly record: PurchaseRecord; readonly state: 'over' }
  | {
      readonly record: PurchaseRecord
      readonly state: 'open' | 'unknown'
      /** When it can no longer be charged, ISO 8601. */
      readonly openUntil: string
    }

function unknownFate(record: PurchaseRecord): Fate {
  return { record, state: 'unknown', openUntil: latestEnd(record) }
}

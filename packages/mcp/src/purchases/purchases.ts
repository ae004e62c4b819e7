import { NotFoundError, type Agent, type Mandate, type Purser } from '@purser/client'

import type { Reason } from '../reason.ts'
import type { Secrets } from '../secrets.ts'
import type { AddressGuard } from '../web/addresses.ts'
import type { Content } from '../web/content.ts'
import { askFirst } from './ask-first.ts'
import { KeptResults } from './kept-results.ts'
import { fingerprintOf, type Order } from './order.ts'
import type { Bill, PurchaseRecord, PurchaseRecords } from './purchase-records.ts'
import {
  answerLost,
  fateUnknown,
  idInUse,
  notCharged,
  notKept,
  sentByAnother,
  tooMany,
} from './purchase-reasons.ts'
import { resultOf, type PurchaseResult } from './purchase-result.ts'
import { showProof, type ProofInHand } from './show-proof.ts'

/** What buying takes. */
export interface PurchaseParts {
  readonly client: Purser
  readonly secrets: Secrets
  readonly guard: AddressGuard
  readonly openRecords: (signal?: AbortSignal) => Promise<PurchaseRecords>
  readonly agent: (signal?: AbortSignal) => Promise<Agent>
  readonly chooseMandate: (
    mandateId: string | undefined,
    signal?: AbortSignal,
  ) => Promise<{ readonly mandate: Mandate } | { readonly reason: Reason }>
}

/**
 * Buys, each purchase once. From before the proof leaves until the service says what became of it, the
 * purchase id belongs to that one proof, in this process and, with `record-files.ts`, in every later one.
 */
export class Purchases {
  readonly #parts: PurchaseParts
  readonly #running = new Map<string, { fingerprint: string; result: Promise<PurchaseResult> }>()
  /** Proofs whose fate is open, by their nonces. They are kept here only: no other process can send them. */
  readonly #proofs = new Map<string, ProofInHand>()
  readonly #kept = new KeptResults()

  constructor(parts: PurchaseParts) {
    this.#parts = parts
  }

  /**
   * Buys what is ordered, or says what became of it before. A refusal is a result. Rejects when nothing could
   * be decided: the service is down, the key is not accepted, the signal aborted; then nothing was charged
   * that the same order would not find again.
   */
  async buy(order: Order, callerSignal?: AbortSignal): Promise<PurchaseResult> {
    const fingerprint = fingerprintOf(order)
    const running = this.#running.get(order.purchaseId)
    if (running) {
      if (running.fingerprint !== fingerprint) return resultOf(order, 'denied', { reason: idInUse(null) })
      return { ...(await running.result), replayed: true }
    }
    if (this.#running.size >= maxAtOnce) return resultOf(order, 'denied', { reason: tooMany })
    const patience = AbortSignal.timeout(purchaseTimeoutMs)
    const signal = callerSignal ? AbortSignal.any([callerSignal, patience]) : patience
    const result = this.#resume(order, fingerprint, signal)
    this.#running.set(order.purchaseId, { fingerprint, result })
    try {
      return await result
    } finally {
      this.#running.delete(order.purchaseId)
    }
  }

  /** Goes on where an earlier call with the same purchase id stopped. */
  async #resume(order: Order, fingerprint: string, signal: AbortSignal): Promise<PurchaseResult> {
    const records = await this.#parts.openRecords(signal)
    const found = await records.find(order.purchaseId)
    if (!found) return this.#start(order, { fingerprint, attempt: 0 }, signal)
    const { record, state } = await this.#lookUp(found, signal)
    if (state === 'over') return this.#start(order, { fingerprint, attempt: record.attempt + 1 }, signal)
    if (record.fingerprint !== fingerprint) {
      return resultOf(order, 'denied', { reason: idInUse(record.bill) })
    }
    if (state === 'settled') return this.#replay(order, record)
    const proof = record.nonce === null ? undefined : this.#proofs.get(record.nonce)
    if (proof && record.bill) return this.#pay(order, record, record.bill, proof, signal)
    return resultOf(order, 'uncertain', { reason: sentByAnother(record), bill: record.bill })
  }

  async #start(
    order: Order,
    { fingerprint, attempt }: Pick<PurchaseRecord, 'fingerprint' | 'attempt'>,
    signal: AbortSignal,
  ): Promise<PurchaseResult> {
    const { client, secrets } = this.#parts
    const records = await this.#parts.openRecords(signal)
    const asked = await askFirst(this.#parts, order, signal)
    if ('result' in asked) return asked.result
    const begun = { purchaseId: order.purchaseId, attempt, fingerprint, begunAt: new Date().toISOString() }
    if ('free' in asked) {
      const result = resultOf(order, 'free', { response: asked.free })
      // A GET that costs nothing may be repeated; a POST that went well has done something.
      if (order.method === 'GET' || asked.free.status >= 400) return result
      await records.claim({ ...begun, nonce: null, bill: null, settled: { transactionId: null } })
      return this.#keep(result)
    }
    const { bill, url, agentId } = asked
    const decision = await client.payments.requestProof(
      {
        agent_id: agentId,
        mandate_id: bill.mandate_id,
        amount: bill.amount,
        resource_url: bill.resource_url,
      },
      { signal },
    )
    if (decision.decision === 'denied') {
      return resultOf(order, 'denied', { reason: asked.explain(decision), bill })
    }
    const { proof } = decision
    secrets.add(proof.signature)
    const record = { ...begun, nonce: proof.nonce, bill, settled: null }
    // Another process was first: the proof never leaves this one, so it can never be charged.
    if (!(await records.claim(record))) return this.#resume(order, fingerprint, signal)
    const inHand = { proof, url }
    this.#rememberProof(inHand)
    return this.#pay(order, record, bill, inHand, signal)
  }

  /** Shows the merchant the proof, and asks the service, not the merchant, whether it was charged. */
  async #pay(
    order: Order,
    record: PurchaseRecord,
    bill: Bill,
    proof: ProofInHand,
    signal: AbortSignal,
  ): Promise<PurchaseResult> {
    const shown = await showProof(this.#parts, order, proof, signal)
    const fate = await this.#lookUp(record, AbortSignal.timeout(lookUpTimeoutMs)).catch(() => undefined)
    if (fate?.state === 'settled') {
      const { transactionId } = fate.record.settled ?? {}
      const reason = 'response' in shown ? undefined : answerLost
      const result = resultOf(order, 'paid', { bill, transactionId, reason, response: responseOf(shown) })
      return this.#keep(result)
    }
    if (fate && 'refusal' in shown)
      return resultOf(order, 'not_paid', { ...shown, bill, reason: shown.refusal })
    const reason = fate ? notCharged(fate.state) : fateUnknown
    return resultOf(order, 'uncertain', { bill, reason, response: responseOf(shown) })
  }

  /** What the service knows of a purchase; what it settles is remembered. */
  async #lookUp(
    record: PurchaseRecord,
    signal: AbortSignal,
  ): Promise<{ record: PurchaseRecord; state: 'settled' | 'open' | 'over' }> {
    if (record.settled || record.nonce === null) return { record, state: 'settled' }
    const { client } = this.#parts
    const proof = await client.payments.getProof(record.nonce, { signal }).catch((error: unknown) => {
      if (error instanceof NotFoundError) return undefined
      throw error
    })
    if (proof?.status === 'open') return { record, state: 'open' }
    this.#proofs.delete(record.nonce)
    if (proof?.status !== 'captured') return { record, state: 'over' }
    const settled = { ...record, settled: { transactionId: proof.transaction_id } }
    await (await this.#parts.openRecords(signal)).settle(settled)
    return { record: settled, state: 'settled' }
  }

  #replay(order: Order, record: PurchaseRecord): PurchaseResult {
    const kept = this.#kept.find(record.purchaseId)
    if (kept) return { ...kept, replayed: true }
    if (!record.bill) return resultOf(order, 'free', { reason: notKept, replayed: true })
    const transactionId = record.settled?.transactionId
    return resultOf(order, 'paid', { bill: record.bill, transactionId, reason: notKept, replayed: true })
  }

  /** For a retry with the same purchase id. */
  #keep(result: PurchaseResult): PurchaseResult {
    this.#kept.keep(result)
    return result
  }

  #rememberProof(inHand: ProofInHand): void {
    this.#proofs.set(inHand.proof.nonce, inHand)
    // A proof that is dropped cannot be shown again; its purchase waits until it has expired.
    const [oldest] = this.#proofs.keys()
    if (this.#proofs.size > maxProofs && oldest !== undefined) this.#proofs.delete(oldest)
  }
}

/** How many purchases may be under way at once. */
const maxAtOnce = 32

/** How long one purchase may take in all; MCP clients wait for a minute. */
const purchaseTimeoutMs = 45_000

/** How many proofs are kept to be shown again. */
const maxProofs = 256

/** How long the service is asked afterwards what became of a proof. */
const lookUpTimeoutMs = 10_000

function responseOf(shown: { readonly response?: Content | undefined }): Content | undefined {
  return shown.response
}

import type { Pool } from 'pg'

import { AccountLanes } from '../account-lanes.ts'
import type { CommitTimes } from '../commit-times.ts'
import { GroupCommit, type CommitQueue, type Settled } from '../group-commit.ts'
import type { StoreMetrics } from '../store-metrics.ts'
import { StoreUnavailableError } from '../store.ts'
import { writeAccountPayments } from './account-payments.ts'
import type { LocatedCapture } from './batch-facts.ts'
import { Expectations, type ExpectedCapture } from './expectations.ts'
import { writeExpectedCaptures } from './expected-captures.ts'
import { PaidSellers } from './paid-sellers.ts'
import { writePayments } from './payment-batches.ts'
import { accountOf, type Payment, type PaymentOutcome } from './payment-decisions.ts'
import { mostUnderWay, Pipeline } from './pipeline.ts'
import { leavesOpen } from '../ledger/postgres/retries.ts'
import { attemptMs, type InTransaction, type Transaction } from './transaction.ts'

/** Most payments in one transaction, so that it takes a few milliseconds at the most. */
const maxBatch = 128
/** How many batches of payments are on their way at once. */
const paymentLanes = 2
/** How many batches of captures that are as expected go over other connections, where their own is stalled. */
const lanesBesidePipeline = 2
/** How many connections payments take at the most, where there are no account lanes. */
export const paymentConnections = paymentLanes + 1 + lanesBesidePipeline
/** How many connections are kept from the account lanes, for acts on resources. */
export const spareConnections = 4
/** When one is begun beside another, as also of look-ups of keys; the time is more than a batch takes under load. */
export const beside = { least: 16, waitMs: 10 }

/** When a batch of captures is begun beside another. */
const besideCaptures = { least: 12, waitMs: 10 }

export interface PaymentQueuesOptions {
  /** The connections that write. */
  readonly pool: Pool
  readonly inTransaction: InTransaction
  readonly commitTimes: CommitTimes
  /** Most payments that wait in each queue. */
  readonly maxWaiting: number
  readonly groupCommit: boolean
  readonly accountLanes: boolean
  readonly writeConnections: number
  /** Where batches are counted, if anywhere. */
  readonly metrics?: StoreMetrics | undefined
}

/**
 * What became of a capture that was sent with what it must find. One that was `left` has not been made; of an `unknown` one
 * an attempt may still be on its way.
 */
type ExpectedOutcome = 'captured' | 'left' | 'unknown'

interface WaitingPayment {
  readonly payment: Payment
  readonly deadlineMs: number
}

interface WaitingCapture {
  readonly expected: ExpectedCapture
  readonly deadlineMs: number
}

/** Where payments wait for their batch, and what their batches write. */
export class PaymentQueues {
  readonly #inTransaction: InTransaction
  readonly #pipeline: Pipeline
  readonly #isGrouped: boolean
  #besidePipeline = 0
  readonly #accountLanes: boolean
  readonly #paidSellers = new PaidSellers()
  readonly #expectations = new Expectations()
  readonly #payments: CommitQueue<WaitingPayment, PaymentOutcome>
  /** Captures of which all is known that they must find. */
  readonly #captures: CommitQueue<WaitingCapture, ExpectedOutcome>
  /** The nonces of those, until they are settled. */
  readonly #underWay = new Set<string>()

  constructor(options: PaymentQueuesOptions) {
    const { pool, inTransaction, commitTimes, maxWaiting, groupCommit, accountLanes, writeConnections } =
      options
    const paymentMetrics = options.metrics?.addQueue('payments')
    this.#inTransaction = inTransaction
    this.#isGrouped = groupCommit
    this.#pipeline = new Pipeline(pool)
    this.#accountLanes = accountLanes
    const batches = { commitTimes, maxBatch: groupCommit ? maxBatch : 1, maxWaiting }
    const side = (lanes: number, when = beside) =>
      groupCommit ? { lanes, beside: when } : { lanes: writeConnections }
    const writeBatch = (batch: readonly WaitingPayment[]) => this.#writePayments(batch)
    this.#payments = accountLanes
      ? new AccountLanes({
          ...batches,
          metrics: paymentMetrics,
          writeBatch,
          accountOf: ({ payment }) => accountOf(payment),
          lanes: Math.max(1, writeConnections - spareConnections),
        })
      : new GroupCommit({
          ...batches,
          metrics: paymentMetrics,
          writeBatch,
          ...side(Math.min(paymentLanes, writeConnections)),
        })
    this.#captures = new GroupCommit<WaitingCapture, ExpectedOutcome>({
      ...batches,
      metrics: options.metrics?.addQueue('captures'),
      writeBatch: (batch) => this.#writeCaptures(batch),
      ...side(mostUnderWay + lanesBesidePipeline, besideCaptures),
    })
    options.metrics?.addDepth({
      name: 'payments',
      limit: maxWaiting,
      waiting: () => this.#payments.waiting,
    })
    options.metrics?.addDepth({
      name: 'captures',
      limit: maxWaiting,
      waiting: () => this.#captures.waiting,
    })
  }

  get waiting(): number {
    return this.#payments.waiting + this.#captures.waiting
  }

  /** The outcome of a payment, once it is durable. */
  pay<Outcome extends PaymentOutcome>(payment: Payment, deadlineMs: number): Promise<Outcome> {
    return this.#payments.submit({ payment, deadlineMs }) as Promise<Outcome>
  }

  /** Makes a capture in one round trip, where all is as expected. */
  async captureAsExpected(capture: LocatedCapture, deadlineMs: number): Promise<ExpectedOutcome> {
    const { nonce } = capture
    if (this.#accountLanes) return 'left'
    // Of two captures of one hold, the other is refused, or told what became of the first: it only waits for that.
    if (this.#underWay.has(nonce)) return 'unknown'
    const expected = this.#expectations.of(capture)
    if (!expected) return 'left'
    this.#underWay.add(nonce)
    try {
      return await this.#captures.submit({ expected, deadlineMs })
    } finally {
      this.#underWay.delete(nonce)
    }
  }

  /** To be called with each new connection: it may lead to a server that has lost what was durable on another. */
  forgetPaidSellers(): void {
    this.#paidSellers.forget()
  }

  async drain(): Promise<void> {
    await Promise.all([this.#captures.drain(), this.#payments.drain()])
  }

  /**
   * Writes payments as one transaction. When one of them cannot be written, the whole is undone and each
   * is written by itself, so that a bad row never fails its neighbours.
   */
  async #writePayments(batch: readonly WaitingPayment[]): Promise<Settled<PaymentOutcome>[]> {
    const [first] = batch
    if (!first) return []
    // Those that have waited longest are in front, and the batch is theirs.
    const { deadlineMs } = first
    const known = { paidSellers: this.#paidSellers, expectations: this.#expectations }
    try {
      const calls = batch.map(({ payment }) => payment)
      const outcomes = await this.#inTransaction({ deadlineMs }, (transaction) =>
        this.#accountLanes
          ? writeAccountPayments(transaction, accountOf(first.payment), calls, this.#paidSellers)
          : writePayments(transaction, calls, known),
      )
      return outcomes.map((value) => ({ value }))
    } catch (error) {
      if (batch.length === 1 || error instanceof StoreUnavailableError) return batch.map(() => ({ error }))
      const settled: Settled<PaymentOutcome>[] = []
      for (const one of batch) settled.push(...(await this.#writePayments([one])))
      return settled
    }
  }

  /** Writes captures as one transaction. What cannot be written is left to be decided as any other payment. */
  async #writeCaptures(batch: readonly WaitingCapture[]): Promise<Settled<ExpectedOutcome>[]> {
    const [first] = batch
    if (!first) return []
    const captures = batch.map(({ expected }) => expected)
    let uncaptured: ExpectedOutcome = 'left'
    const write = ({ commit, isRerun }: Pick<Transaction, 'commit'> & Partial<Transaction>) => {
      if (isRerun) uncaptured = 'unknown'
      return writeExpectedCaptures({ commit }, captures, this.#paidSellers)
    }
    try {
      const captured = await this.#runCaptures(write, first.deadlineMs)
      return batch.map((_, place) => ({ value: captured?.[place] ? 'captured' : uncaptured }))
    } catch (error) {
      if (error instanceof StoreUnavailableError) return batch.map(() => ({ error }))
      if (leavesOpen(error)) uncaptured = 'unknown'
      return batch.map(() => ({ value: uncaptured }))
    }
  }

  /** Runs captures over their own connection, or beside it; undefined where there is no place for them. */
  async #runCaptures(
    write: (transaction: Pick<Transaction, 'commit'>) => Promise<boolean[]>,
    deadlineMs: number,
  ): Promise<boolean[] | undefined> {
    if (!this.#isGrouped) return this.#inTransaction({ deadlineMs }, write)
    const isPlaceBeside = this.#besidePipeline < lanesBesidePipeline
    // What has less time would end the connection for the others, too.
    const hasTime = deadlineMs - performance.now() >= attemptMs
    if (hasTime && (this.#pipeline.isFree || !isPlaceBeside)) return this.#pipeline.run(write)
    if (!isPlaceBeside) return undefined
    this.#besidePipeline += 1
    try {
      return await this.#inTransaction({ deadlineMs }, write)
    } finally {
      this.#besidePipeline -= 1
    }
  }
}

import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { DenialCode } from '@purser/wire/policy'

import { formatSum, type MicroUsdc } from '../domain/money.ts'
import type { Agent, Caller, Hold, Mandate } from '../domain/records.ts'
import { seededRandom } from '../../testing/seeded-random.ts'
import { holdLifeMs, type StoreLedger, type Tenant } from '../../testing/store-ledger.ts'
import { storeConformance } from '../../testing/stores.ts'
import type { CaptureOutcome } from './store.ts'

const acts = 1_000

// Compares the ledger with a model that is simple enough to verify by reading.
storeConformance(({ openEmpty }) => {
  test('After 1,000 mixed operations every outcome matches a small model of the ledger, and all sums agree [limits.total] [mandate.spent_total]', async (context) => {
    const ledger = await openEmpty(context)
    const model = await Model.over(ledger)
    for (let act = 1; act <= acts; act++) {
      await model.doSomething()
      if (act % 200 === 0) await model.compareSums()
    }
    await model.compareRecords()
    assert.deepEqual(await ledger.store.findLedgerFaults(), [])
    // Every outcome must occur at least once, or the run proves nothing about it.
    assert.deepEqual([...model.seen].toSorted(), [
      'agent_revoked',
      'amount_exceeds_per_transaction_limit',
      'approved',
      'captured',
      'mandate_expired',
      'nonce_reused',
      'proof_expired',
      'replayed',
      'seller_not_yours',
      'total_budget_exceeded',
    ])
  })
})

interface ModelMandate {
  readonly record: Mandate
  readonly agent: { readonly record: Agent; isRevoked: boolean }
  status: Mandate['status']
  spentMicro: bigint
  paid: number
  evaluated: number
  deniedProofs: number
}

interface ModelHold {
  readonly record: Hold
  readonly mandate: ModelMandate
  state: 'open' | 'voided' | 'captured'
  capture?: { readonly keyId: string; readonly idempotencyKey: string | null; readonly transactionId: string }
}

/** What the ledger should contain; updated with each operation. */
class Model {
  readonly seen = new Set<string>()
  readonly #random = seededRandom(2_000)
  readonly #mandates: ModelMandate[] = []
  readonly #holds: ModelHold[] = []
  readonly #ledger: StoreLedger
  readonly #payer: Tenant
  readonly #callers: readonly [Caller, Caller, Caller, Caller]

  private constructor(ledger: StoreLedger, payer: Tenant, callers: [Caller, Caller, Caller, Caller]) {
    this.#ledger = ledger
    this.#payer = payer
    this.#callers = callers
  }

  /** The model of a payer, the shop where it buys, and an unrelated account. */
  static async over(ledger: StoreLedger): Promise<Model> {
    const payer = await ledger.tenant()
    const shop = await ledger.tenant()
    const stranger = await ledger.tenant()
    await ledger.seller(shop.sandbox)
    const merchant = await ledger.key(payer.sandbox, 'merchant')
    const model = new Model(ledger, payer, [payer.sandbox, merchant, shop.sandbox, stranger.sandbox])
    for (let agent = 0; agent < 3; agent++) await model.#addAgent()
    return model
  }

  doSomething(): Promise<void> {
    const dice = this.#random.below(1_000)
    if (dice < 350) return this.#issueProof()
    if (dice < 700) return this.#capture()
    if (dice < 820) return this.#evaluate()
    if (dice < 890) return this.#move(this.#random.pick(['paused', 'active', 'active']))
    if (dice < 900) return this.#move('revoked')
    if (dice < 904) return this.#revokeAgent()
    if (dice < 915) return this.#addAgent()
    if (dice < 980) return this.#passTime()
    return this.#sweep()
  }

  /** Sweeps, then compares what each mandate has spent and held. */
  async compareSums(): Promise<void> {
    await this.#ledger.sweep()
    for (const mandate of this.#mandates) {
      const expected = { spent: mandate.spentMicro, held: this.#liveMicro(mandate) }
      assert.deepEqual(await this.#ledger.sums(mandate.record), {
        spent: formatSum(expected.spent as MicroUsdc),
        held: formatSum(expected.held as MicroUsdc),
      })
    }
  }

  /** Compares every hold, and the numbers of transactions and events. */
  async compareRecords(): Promise<void> {
    await this.compareSums()
    const { store, clock } = this.#ledger
    for (const { record, state, capture } of this.#holds) {
      const hasExpired = state === 'open' && record.expiresAtMs <= clock.nowMs
      assert.deepEqual(await store.findProof(record), {
        ...record,
        status: hasExpired ? 'expired' : state,
        transactionId: capture?.transactionId ?? null,
        capturedText: state === 'captured' ? record.amountText : null,
      })
    }
    for (const { record, paid, evaluated, deniedProofs } of this.#mandates) {
      const { items } = await store.listTransactions(record, { mandateId: record.id }, { limit: 10_000 })
      assert.equal(items.filter(({ status }) => status === 'paid').length, paid)
      // A store may also record denied proofs.
      const evaluations = items.length - paid
      assert.ok(evaluations >= evaluated && evaluations <= evaluated + deniedProofs)
    }
    const type = 'payment.verified'
    const { items } = await store.listAuditEvents(this.#payer.sandbox, { type }, { limit: 10_000 })
    const captured = this.#holds.flatMap(({ capture }) => capture?.transactionId ?? [])
    assert.deepEqual(items.map(({ subjectId }) => subjectId).toSorted(), captured.toSorted())
    const shop = this.#callers[2]
    const collected = this.#holds.filter(({ capture }) => capture?.keyId === shop.keyId)
    const received = await store.listTransactions(shop, { receivedOnly: true }, { limit: 10_000 })
    assert.equal(received.items.length, collected.length, 'what the shop collected, and nothing else')
  }

  async #issueProof(): Promise<void> {
    const mandate = this.#anyMandate()
    const hold = this.#ledger.newHold(mandate.record, this.#anyAmount())
    const refusal = this.#refusal(mandate, hold.amountMicro, this.#liveMicro(mandate))
    const decision = await this.#ledger.store.issueProof(hold)
    assert.equal(decision.decision === 'denied' ? decision.code : undefined, refusal)
    if (!refusal) this.#holds.push({ record: hold, mandate, state: 'open' })
    else mandate.deniedProofs += 1
    this.seen.add(refusal ?? 'approved')
  }

  async #evaluate(): Promise<void> {
    const mandate = this.#anyMandate()
    const proposal = this.#ledger.newProposal(mandate.record, { amountText: this.#anyAmount() })
    const refusal = this.#refusal(mandate, proposal.amountMicro, 0n)
    const decision = await this.#ledger.store.evaluate(proposal)
    assert.equal(decision.decision === 'denied' ? decision.code : undefined, refusal)
    mandate.evaluated += 1
    this.seen.add(refusal ?? 'approved')
  }

  async #capture(): Promise<void> {
    // Usually one of the latest proofs: older ones have been captured or have expired.
    const newest = this.#holds.length - 1 - this.#random.below(this.#random.pick([5, 5, 50]))
    const hold = this.#holds[newest]
    if (!hold) return
    const caller = this.#random.pick(this.#callers)
    const idempotencyKey = this.#random.pick([null, 'order-1', 'order-2'])
    const capture = this.#ledger.newCapture(caller, hold.record, { idempotencyKey })
    const { transactionId } = capture
    const expected = this.#expectCapture(hold, caller, idempotencyKey, transactionId)
    assert.deepEqual(await this.#ledger.store.capture(capture), expected)
    this.seen.add(
      'reason' in expected ? expected.reason : 'code' in expected ? expected.code : expected.outcome,
    )
    if (expected.outcome !== 'captured') return
    hold.state = 'captured'
    hold.capture = { keyId: caller.keyId, idempotencyKey, transactionId }
    hold.mandate.spentMicro += hold.record.amountMicro
    hold.mandate.paid += 1
  }

  #expectCapture(
    { record, state, capture }: ModelHold,
    caller: Caller,
    idempotencyKey: string | null,
    transactionId: string,
  ): CaptureOutcome {
    const isRetry = capture?.keyId === caller.keyId && capture.idempotencyKey === idempotencyKey
    if (capture && isRetry && idempotencyKey !== null) {
      return { outcome: 'replayed', transactionId: capture.transactionId }
    }
    if (caller === this.#callers[3]) return { outcome: 'refused', code: 'seller_not_yours' }
    if (state === 'captured') return { outcome: 'failed', reason: 'nonce_reused' }
    const isLive = state === 'open' && record.expiresAtMs > this.#ledger.clock.nowMs
    return isLive ? { outcome: 'captured', transactionId } : { outcome: 'failed', reason: 'proof_expired' }
  }

  async #move(to: Mandate['status']): Promise<void> {
    const mandate = this.#anyMandate()
    const moved = await this.#ledger.moveMandate(mandate.record, to)
    if (mandate.status === 'revoked' && to !== 'revoked') {
      assert.equal(moved, 'mandate_revoked')
      return
    }
    assert.equal(typeof moved === 'object' ? moved.status : moved, to)
    mandate.status = to
    if (to !== 'active') this.#voidHolds(mandate)
  }

  async #revokeAgent(): Promise<void> {
    const { agent } = this.#anyMandate()
    assert(typeof (await this.#ledger.revokeAgent(agent.record)) === 'object')
    agent.isRevoked = true
    for (const mandate of this.#mandates) if (mandate.agent === agent) this.#voidHolds(mandate)
  }

  async #addAgent(): Promise<void> {
    const agent = { record: await this.#ledger.agent(this.#payer.sandbox), isRevoked: false }
    for (const maxTotalText of ['20.00', '200.00']) {
      const record = await this.#ledger.mandate(agent.record, { maxTotalText, allowedSellers: ['*'] })
      this.#mandates.push({
        record,
        agent,
        status: 'active',
        spentMicro: 0n,
        paid: 0,
        evaluated: 0,
        deniedProofs: 0,
      })
    }
  }

  async #passTime(): Promise<void> {
    this.#ledger.clock.nowMs += this.#random.pick([1, 1_000, 60_000, holdLifeMs])
  }

  async #sweep(): Promise<void> {
    await this.#ledger.store.releaseExpiredHolds(this.#ledger.clock.nowMs, 1 + this.#random.below(3))
  }

  #refusal(mandate: ModelMandate, amountMicro: bigint, heldMicro: bigint): DenialCode | undefined {
    if (mandate.agent.isRevoked) return 'agent_revoked'
    if (mandate.status !== 'active') return 'mandate_expired'
    if (amountMicro > mandate.record.maxPerTransactionMicro) return 'amount_exceeds_per_transaction_limit'
    const exceeds = mandate.spentMicro + heldMicro + amountMicro > mandate.record.maxTotalMicro
    return exceeds ? 'total_budget_exceeded' : undefined
  }

  /** What the mandate holds for proofs that can still be captured. */
  #liveMicro(mandate: ModelMandate): bigint {
    return this.#holds
      .filter((hold) => hold.mandate === mandate && hold.state === 'open')
      .filter(({ record }) => record.expiresAtMs > this.#ledger.clock.nowMs)
      .reduce((sum, { record }) => sum + record.amountMicro, 0n)
  }

  #voidHolds(mandate: ModelMandate): void {
    for (const hold of this.#holds) {
      const isLive = hold.state === 'open' && hold.record.expiresAtMs > this.#ledger.clock.nowMs
      if (hold.mandate === mandate && isLive) hold.state = 'voided'
    }
  }

  #anyMandate(): ModelMandate {
    return this.#mandates[this.#random.below(this.#mandates.length)] ?? assert.fail()
  }

  #anyAmount(): string {
    return this.#random.pick(['0.000001', '0.50', '1', '3.333333', '7.25', '10.00', '10.01'])
  }
}

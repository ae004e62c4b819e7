import assert from 'node:assert/strict'
import { test } from 'node:test'

import { openMemoryLedger, scope, type MemoryLedger } from '../../../../testing/memory-ledger.ts'
import { seededRandom, type SeededRandom } from '../../../../testing/seeded-random.ts'
import type { Limit } from '../../../domain/limits.ts'
import { formatSum, parseAmount, type MicroUsdc } from '../../../domain/money.ts'
import { holdGraceMs, validityWindowMs } from '../../../domain/proof.ts'
import type { Caller, Hold, Mandate, MandateTerms } from '../../../domain/records.ts'
import { authorize, captureAuthorized, voidAuthorized } from '../operations/authorizations.ts'
import { createBudget } from '../operations/limits/budgets.ts'
import { evaluate } from '../operations/evaluations.ts'
import { moveMandate, releaseExpiredPayments } from '../operations/mandates.ts'
import { issueProof } from '../operations/payments.ts'
import { refund } from '../operations/refunds.ts'
import { voidProof } from '../operations/voids.ts'
import { agents, auditEvents, entries, evaluations, mandates, payments } from '../tables.ts'
import { runBacktest, type Backtest } from './backtest.ts'
import { eventsOf } from './history.ts'

const caller: Caller = { ...scope, keyId: 'key_1', role: 'owner', agentId: null }
const shops = ['shop.example', 'data.example'] as const
const paths = ['reports/1', 'reports/2', 'admin'] as const

/**
 * Records everything that can happen to a mandate, at random; at least a millisecond passes between two
 * operations.
 */
class History {
  readonly setup: MemoryLedger
  readonly mandate: Mandate
  readonly #random: SeededRandom
  readonly #holds: Hold[] = []
  #isPaused = false

  constructor(setup: MemoryLedger, mandate: Mandate, random: SeededRandom) {
    this.setup = setup
    this.mandate = mandate
    this.#random = random
  }

  async act(): Promise<void> {
    const { clock } = this.setup
    clock.nowMs += 1 + this.#random.pick([0, 500, 60_000, 400_000, 3_000_000, 20_000_000])
    // The sweep does the same.
    const { accountId } = scope
    await this.setup.run(releaseExpiredPayments, {
      accountId,
      mandateId: this.mandate.id,
      nowMs: clock.nowMs,
    })
    const dice = this.#random.below(20)
    if (dice < 7) return this.#ask()
    if (dice < 12) return this.#collect()
    if (dice < 15) return this.#evaluate()
    if (dice === 15) return this.#void()
    if (dice === 16) return this.#pauseOrResume()
    if (dice === 17) return this.#authorize()
    if (dice === 18) return this.#settle()
    return this.#refund()
  }

  #asked() {
    const amountMicro = BigInt(this.#random.below(6_000_000) + 1) as MicroUsdc
    const resourceUrl = `https://${this.#random.pick(shops)}/${this.#random.pick(paths)}`
    const category = this.#random.pick(['data', 'games', null])
    return { amountText: formatSum(amountMicro), amountMicro, resourceUrl, category }
  }

  async #ask(): Promise<void> {
    const base = this.setup.newHold(this.mandate, '1.00')
    const hold = { ...base, ...this.#asked(), expiresAtMs: base.issuedAtMs + validityWindowMs + holdGraceMs }
    const { decision } = await this.setup.run(issueProof, { hold })
    if (decision !== 'approved') return
    this.#holds.push(hold)
    if (this.#random.below(2) === 0) return
    this.setup.clock.nowMs += 1 + this.#random.below(300_000)
    await this.#collect()
  }

  async #evaluate(): Promise<void> {
    await this.setup.run(evaluate, {
      ...scope,
      id: this.setup.nextId('txn'),
      agentId: this.mandate.agentId,
      mandateId: this.mandate.id,
      currency: 'USDC',
      merchantDomain: this.#random.pick(shops),
      createdAtMs: this.setup.clock.nowMs,
      ...this.#asked(),
    })
  }

  #attempt() {
    const hold = this.#random.pick(this.#holds as [Hold])
    const merchantDomain = new URL(hold.resourceUrl).hostname
    const { nowMs } = this.setup.clock
    return { ...hold, payerId: scope.accountId, caller, merchantDomain, idempotencyKey: null, nowMs }
  }

  /** Tries to collect the latest proof, which may have ended. */
  async #collect(): Promise<void> {
    const latest = this.#holds.at(-1)
    if (latest) await this.setup.capture(latest)
  }

  async #void(): Promise<void> {
    if (this.#holds.length === 0) return
    const { nonce } = this.#holds.at(-1)!
    await this.setup.run(voidProof, [{ ...scope, nonce }, {}, this.setup.event('proof.voided', nonce)])
  }

  async #authorize(): Promise<void> {
    await this.#ask()
    if (this.#holds.length === 0) return
    const event = this.setup.event('payment.authorized', this.#holds.at(-1)!.nonce)
    this.setup.clock.nowMs += 1
    await this.setup.run(authorize, { ...this.#attemptAt(-1), captureSeconds: 600, event })
  }

  #attemptAt(index: number) {
    const { nonce, agentId, mandateId, amountText, currency, resourceUrl } = this.#holds.at(index)!
    const merchantDomain = new URL(resourceUrl).hostname
    const { nowMs } = this.setup.clock
    const terms = { nonce, agentId, mandateId, amountText, currency, resourceUrl, merchantDomain }
    return { ...terms, payerId: scope.accountId, caller, idempotencyKey: null, nowMs }
  }

  async #settle(): Promise<void> {
    const latest = this.#holds.at(-1)
    if (!latest) return
    const { nonce, amountMicro } = latest
    const call = { payerId: scope.accountId, caller, nonce, nowMs: this.setup.clock.nowMs }
    if (this.#random.below(3) === 0) {
      await this.setup.run(voidAuthorized, {
        ...call,
        event: this.setup.event('authorization.voided', nonce),
      })
      return
    }
    const part = BigInt(this.#random.below(Number(amountMicro)) + 1) as MicroUsdc
    const transactionId = this.setup.nextId('txn')
    await this.setup.run(captureAuthorized, {
      ...call,
      amountMicro: part,
      idempotencyKey: null,
      transactionId,
    })
  }

  async #pauseOrResume(): Promise<void> {
    this.#isPaused = !this.#isPaused && this.#random.below(2) === 0
    const to = this.#isPaused ? 'paused' : 'active'
    const event = this.setup.event(this.#isPaused ? 'mandate.paused' : 'mandate.resumed', this.mandate.id)
    await this.setup.run(moveMandate, [{ ...scope, id: this.mandate.id }, to, event])
  }

  async #refund(): Promise<void> {
    if (this.#holds.length === 0) return
    const { nonce } = this.#attempt()
    const amountMicro = BigInt(this.#random.below(1_000_000) + 1) as MicroUsdc
    const event = (id: string) => this.setup.event('payment.refunded', id)
    await this.setup.run(refund, {
      caller,
      payerId: scope.accountId,
      nonce,
      amountText: formatSum(amountMicro),
      amountMicro,
      reason: null,
      idempotencyKey: this.setup.nextId('key'),
      refundId: this.setup.nextId('txn'),
      nowMs: this.setup.clock.nowMs,
      events: { payer: event(nonce), own: event(nonce) },
    })
  }

  /** Back-tests a draft on the whole history. */
  backtest(draft: Partial<MandateTerms> = {}, range: Partial<Backtest> = {}) {
    const { setup } = this
    const mandate = setup.row(mandates, this.mandate)
    const events = eventsOf({
      payments: setup.rows(payments),
      evaluations: setup.rows(evaluations),
      endings: setup
        .rows(auditEvents)
        .filter(({ type }) => ['mandate.paused', 'proof.voided', 'authorization.voided'].includes(type)),
      refunds: setup
        .rows(entries)
        .flatMap(({ kind, id, nonce, amountMicro, atMs }) =>
          kind === 'refunded' && nonce !== null ? [{ id, nonce, amountMicro, atMs }] : [],
        ),
    })
    return runBacktest({
      mandate,
      agent: setup.row(agents, setup.agent),
      draft,
      events,
      fromMs: 0,
      toMs: Infinity,
      isCutOff: false,
      onlyCounted: 0,
      now: () => 0,
      ...range,
    })
  }
}

const noMax = {
  maxAmountText: null,
  maxAmountMicro: null,
  maxCount: null,
  per: null,
  action: 'deny',
} as const
const max = (text: string) => ({ maxAmountText: text, maxAmountMicro: String(parseAmount(text)) })

const limits: readonly (Mandate['limits'] | null)[] = [
  null,
  [{ ...noMax, id: 'limit_1', window: { calendar: 'day', timeZone: 'Europe/Berlin' }, ...max('9.00') }],
  [
    { ...noMax, id: 'limit_1', window: { rollingSeconds: 3_600 }, maxCount: 3 },
    { ...noMax, id: 'limit_2', window: 'lifetime', ...max('60.00'), per: 'seller' },
  ],
  [
    { ...noMax, id: 'limit_1', window: { calendar: 'week', timeZone: 'America/New_York' }, ...max('25.00') },
    { ...noMax, id: 'limit_2', window: { rollingSeconds: 86_400 }, maxCount: 2, per: 'resource' },
    { ...noMax, id: 'limit_3', window: { rollingSeconds: 600 }, ...max('4.00'), action: 'notify' },
  ],
  [
    { ...noMax, id: 'limit_1', window: { calendar: 'month', timeZone: 'Africa/Cairo' }, maxCount: 12 },
    {
      ...noMax,
      id: 'limit_2',
      window: { rollingSeconds: 7_200 },
      ...max('7.00'),
      action: 'require_approval',
    },
  ],
]

const newSellers = { above: null, firstPurchaseAtSeller: true, required: 1 } as const

/** A shared budget that denies some of its mandate's requests. */
async function openBudget(setup: MemoryLedger): Promise<string> {
  const id = setup.nextId('budget')
  const times = { createdAtMs: 0, updatedAtMs: 0, frozenAtMs: null, version: 1 }
  const day = { calendar: 'day', timeZone: 'UTC' } as const
  const ofTeam: Limit[] = [{ ...noMax, id: 'limit_9', window: day, ...max('6.00') }]
  const budget = { ...scope, ...times, id, name: 'Team', ancestors: [], limits: ofTeam }
  await setup.run(createBudget, [budget, setup.event('budget.created', id)])
  return id
}

async function makeHistory(seed: number, acts: number, { isShared = false } = {}): Promise<History> {
  const random = seededRandom(seed)
  const setup = await openMemoryLedger()
  const mandate = await setup.mandate({
    budgetPath: isShared ? [await openBudget(setup)] : null,
    maxTotalText: '80.00',
    maxTotalMicro: parseAmount('80.00'),
    maxPerTransactionText: '5.00',
    maxPerTransactionMicro: parseAmount('5.00'),
    allowedSellers: random.pick([['*'], ['shop.example']]),
    allowedCategories: random.pick([[], ['data', 'games']]),
    categoryCheck: random.pick([null, 'enforced' as const]),
    allowedResources: random.pick([null, ['https://shop.example/*', 'https://data.example/reports/*']]),
    expiresAtMs: setup.clock.nowMs + random.pick([40, 10_000]) * 3_600_000,
    limits: random.pick(limits as [Mandate['limits']]),
    approval: random.pick([
      null,
      null,
      { above: '4.00', firstPurchaseAtSeller: false, required: 1 },
      newSellers,
    ]),
  })
  const history = new History(setup, mandate, random)
  for (let act = 0; act < acts; act++) await history.act()
  return history
}

test("A mandate's own terms flip nothing in its history and reproduce all of it", async () => {
  const seen = { judged: 0, denied: 0, captured: 0 }
  for (let seed = 1; seed <= 200; seed++) {
    const history = await makeHistory(seed, 60)
    const report = await history.backtest()
    const { toDenied, toApproved, notJudged } = report
    assert.deepEqual([toDenied, toApproved, notJudged], [nothing, nothing, []], `seed ${seed}`)
    assert.equal(report.judged, history.setup.rows(payments).length + history.setup.rows(evaluations).length)
    seen.judged += report.judged
    seen.denied += history.setup.rows(evaluations).filter(({ failedCheck }) => (failedCheck ?? 0) > 4).length
    seen.captured += history.setup.rows(payments).filter(({ status }) => status === 'captured').length
  }
  assert.ok(seen.judged > 4_000 && seen.denied > 400 && seen.captured > 400, JSON.stringify(seen))
})

test("Under a shared budget, a mandate's own terms flip nothing either: the budget's denials are not judged", async () => {
  let notJudged = 0
  let judged = 0
  for (let seed = 1; seed <= 100; seed++) {
    const history = await makeHistory(seed, 60, { isShared: true })
    const report = await history.backtest()
    assert.deepEqual([report.toDenied, report.toApproved], [nothing, nothing], `seed ${seed}`)
    const denials = history.setup.rows(evaluations).filter(({ failedCheck }) => failedCheck === 11)
    assert.deepEqual(
      report.notJudged.filter(({ reason }) => reason === 'shared_budget'),
      denials.length > 0 ? [{ reason: 'shared_budget', count: denials.length }] : [],
    )
    judged += report.judged
    notJudged += denials.length
  }
  assert.ok(judged > 1_500 && notJudged > 200, `${judged} judged, ${notJudged} not`)
})

const nothing = { byCheck: [], examples: [] }

test('A draft that allows nothing denies everything that was approved, and one that allows everything approves what the terms denied', async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const history = await makeHistory(seed, 60)
    const issued = history.setup.rows(payments)
    const decided = history.setup.rows(evaluations)
    const closed = await history.backtest({ maxTotalMicro: 0n as MicroUsdc })
    const [sum] = closed.toDenied.byCheck
    assert.equal(sum?.payments ?? 0, issued.length)
    assert.equal(
      sum?.amountMicro ?? 0n,
      issued.reduce((total, { amountMicro }) => total + amountMicro, 0n),
    )
    assert.equal(sum?.evaluations ?? 0, decided.filter(({ reasonCode }) => reasonCode === null).length)
    assert.ok(
      closed.toDenied.byCheck.every(({ check, code }) => check === 9 && code === 'total_budget_exceeded'),
    )
    assert.deepEqual(closed.toApproved, nothing)

    const open = await history.backtest({
      maxTotalMicro: parseAmount('1000000'),
      maxPerTransactionMicro: parseAmount('1000'),
      allowedSellers: ['*'],
      allowedCategories: [],
      categoryCheck: null,
      allowedResources: null,
      expiresAtMs: Number.MAX_SAFE_INTEGER,
      limits: null,
      approval: null,
    })
    const byTerms = decided.filter(({ failedCheck }) => failedCheck !== null && failedCheck > 4)
    const flipped = open.toApproved.byCheck.reduce((total, one) => total + one.payments + one.evaluations, 0)
    assert.equal(flipped, byTerms.length)
    assert.deepEqual(open.toDenied, nothing)
  }
})

test('Only records of the range are judged, after everything that happened before', async () => {
  const history = await makeHistory(3, 60)
  const times = history.setup.rows(payments).map(({ issuedAtMs }) => issuedAtMs)
  const fromMs = times[Math.floor(times.length / 2)] ?? 0
  const report = await history.backtest({ maxPerTransactionMicro: 0n as MicroUsdc }, { fromMs })
  const flipped = report.toDenied.byCheck.reduce((sum, one) => sum + one.payments, 0)
  assert.equal(flipped, times.filter((issuedAtMs) => issuedAtMs >= fromMs).length)
})

test('A payment to a seller that the draft does not allow is denied when it is collected, with an example', async () => {
  const setup = await openMemoryLedger()
  const mandate = await setup.mandate({})
  const history = new History(setup, mandate, seededRandom(1))
  const hold = await setup.proof(mandate, '4.00')
  setup.clock.nowMs += 1_000
  await setup.capture(hold)
  const { toDenied } = await history.backtest({ allowedSellers: ['other.example'] })
  assert.deepEqual(toDenied.byCheck, [
    { check: 6, code: 'merchant_not_allowed', evaluations: 0, payments: 1, amountMicro: 4_000_000n },
  ])
  const [example] = toDenied.examples
  assert.deepEqual(
    [example?.kind, example?.nonce, example?.recorded.decision],
    ['payment', hold.nonce, 'approved'],
  )
  assert(example?.drafted.decision === 'denied')
  assert.equal(example.drafted.code, 'merchant_not_allowed')
})

test('A payment that a person approved stays approved, and one that would need approval is denied', async () => {
  const setup = await openMemoryLedger()
  const mandate = await setup.mandate({})
  const history = new History(setup, mandate, seededRandom(1))
  await setup.proof(mandate, '4.00')
  const approval = { above: '3.00', firstPurchaseAtSeller: false, required: 1 } as const
  const inForce = { ...setup.row(mandates, mandate), approval }
  const same = await history.backtest({}, { mandate: inForce })
  assert.deepEqual([same.judged, same.toDenied, same.notJudged], [1, nothing, []])
  const { toDenied } = await history.backtest({ approval })
  assert.deepEqual(
    toDenied.byCheck.map(({ check, code }) => [check, code]),
    [[12, 'approval_required']],
  )
})

test('What a draft denies leaves budget for later payments', async () => {
  const setup = await openMemoryLedger()
  const mandate = await setup.mandate({ maxTotalText: '10.00', maxTotalMicro: parseAmount('10.00') })
  const history = new History(setup, mandate, seededRandom(1))
  for (const amount of ['6.00', '4.00']) {
    const hold = await setup.proof(mandate, amount)
    setup.clock.nowMs += 1_000
    await setup.capture(hold)
    setup.clock.nowMs += 1_000
  }
  assert.equal((await setup.decide(mandate, '3.00')).decision, 'denied')
  const { toDenied, toApproved } = await history.backtest({ maxPerTransactionMicro: parseAmount('5.00') })
  assert.deepEqual(
    toDenied.byCheck.map(({ check, payments }) => [check, payments]),
    [[8, 1]],
  )
  assert.deepEqual(
    toApproved.byCheck.map(({ check, payments, amountMicro }) => [check, payments, amountMicro]),
    [[9, 1, 3_000_000n]],
  )
})

test('A record that the current terms do not reproduce is not judged', async () => {
  const setup = await openMemoryLedger()
  const mandate = await setup.mandate({})
  const history = new History(setup, mandate, seededRandom(1))
  await setup.proof(mandate, '4.00')
  const report = await history.backtest(
    {},
    { mandate: { ...setup.row(mandates, mandate), maxPerTransactionMicro: 1n as MicroUsdc } },
  )
  assert.deepEqual([report.judged, report.notJudged], [0, [{ reason: 'not_reproduced', count: 1 }]])
})

test('A back-test stops at its time limit and says up to when it has judged', async () => {
  const history = await makeHistory(4, 200)
  let ms = 0
  const report = await history.backtest({}, { now: () => (ms += 15_000) })
  assert.equal(report.isComplete, false)
  assert.ok(report.judged < history.setup.rows(payments).length + history.setup.rows(evaluations).length)
  assert.ok(Number.isFinite(report.toMs))
})

// Longer than 400 lines: a history makes every kind of change to limits, and each depends on what earlier ones left.
import { setImmediate as turn } from 'node:timers/promises'

import type { Limit, LimitWindow } from '../../src/domain/limits.ts'
import { formatSum, type MicroUsdc } from '../../src/domain/money.ts'
import type { Budget, Hold } from '../../src/domain/records.ts'
import { createIds } from '../../src/ids.ts'
import { Ledger } from '../../src/store/ledger/ledger.ts'
import {
  authorize,
  captureAuthorized,
  voidAuthorized,
} from '../../src/store/ledger/operations/authorizations.ts'
import { changeBudget } from '../../src/store/ledger/operations/limits/budget-changes.ts'
import { assignAgent, createBudget, freezeBudget } from '../../src/store/ledger/operations/limits/budgets.ts'
import { amendMandate } from '../../src/store/ledger/operations/amendments.ts'
import { readBudgetUsage, readMandateUsage } from '../../src/store/ledger/operations/limits/limit-usage.ts'
import { moveMandate, releaseExpiredPayments } from '../../src/store/ledger/operations/mandates.ts'
import { issueProof } from '../../src/store/ledger/operations/payments.ts'
import { refund } from '../../src/store/ledger/operations/refunds.ts'
import { voidProof } from '../../src/store/ledger/operations/voids.ts'
import type { Table, TableRow } from '../../src/store/ledger/table.ts'
import { budgets, budgetUsage, mandates, payments, subjectUsage } from '../../src/store/ledger/tables.ts'
import { LedgerTenant } from '../../testing/ledger-tenant.ts'
import { seededRandom, type SeededRandom } from '../../testing/seeded-random.ts'
import type { DriverBed } from '../simulation/driver-beds.ts'
import {
  LimitModel,
  type JudgedCheck,
  type ModelBudget,
  type ModelMandate,
  type ModelPayment,
} from './limit-model.ts'
import { recountRows } from './stored-limits.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

/** Zones with daylight saving time in both hemispheres, at midnight, by half an hour, and without any. */
const zones = [
  'Europe/Berlin',
  'America/New_York',
  'Africa/Cairo',
  'America/Santiago',
  'Australia/Lord_Howe',
  'Asia/Beirut',
  'Pacific/Kiritimati',
  'UTC',
] as const

/** Around clock changes, ends of months and leap days. */
const starts = [
  '2026-03-28T20:00:00Z',
  '2026-04-23T20:00:00Z',
  '2026-10-24T20:00:00Z',
  '2026-10-29T19:00:00Z',
  '2026-11-01T03:00:00Z',
  '2026-09-06T02:00:00Z',
  '2026-01-30T22:00:00Z',
  '2028-02-28T12:00:00Z',
  '2026-12-31T10:00:00Z',
] as const

export interface HistoryOptions {
  readonly bed: DriverBed
  readonly seed: number
  readonly steps?: number
}

/** What a history has done: how often each kind of step and each answer occurred. */
export type Tried = Record<string, number>

/**
 * Runs random operations on mandates with limits and shared budgets, and compares every answer with a model
 * that recounts all payments. Resolves to what it has done; throws the first complaint.
 */
export async function runLimitHistory(options: HistoryOptions): Promise<Tried> {
  const history = await LimitHistory.begin(options)
  const steps = options.steps ?? 40
  for (let step = 0; step < steps; step++) await history.step()
  await history.finish()
  return history.tried
}

class LimitHistory {
  readonly tried: Tried = {}
  readonly #bed: DriverBed
  readonly #random: SeededRandom
  readonly #tenant: LedgerTenant
  readonly #clock: { ms: number }
  readonly #ids: ReturnType<typeof createIds>
  readonly #model = new LimitModel()
  readonly #holds = new Map<string, Hold>()

  private constructor(fields: {
    readonly bed: DriverBed
    readonly random: SeededRandom
    readonly tenant: LedgerTenant
    readonly clock: { ms: number }
    readonly ids: ReturnType<typeof createIds>
  }) {
    this.#bed = fields.bed
    this.#random = fields.random
    this.#tenant = fields.tenant
    this.#clock = fields.clock
    this.#ids = fields.ids
  }

  static async begin({ bed, seed }: HistoryOptions): Promise<LimitHistory> {
    const random = seededRandom(seed)
    const clock = { ms: Date.parse(random.pick(starts)) + random.below(8 * hourMs) }
    const ids = createIds(
      () => clock.ms,
      (size) => Buffer.from(random.bytes(size)),
    )
    const ledger = new Ledger({
      driver: bed.driver,
      stopwatch: { nowMs: () => performance.now(), sleep: () => turn() },
      random: () => 0.5,
    })
    const tenant = await LedgerTenant.create({ ledger, ids, clock })
    const history = new LimitHistory({ bed, random, tenant, clock, ids })
    await history.#setUp()
    return history
  }

  async #setUp(): Promise<void> {
    this.#model.agentBudgets.set(this.#tenant.agentId, null)
    const budgetCount = this.#random.below(4)
    for (let count = 0; count < budgetCount; count++) await this.#createBudget()
    const mandateCount = 1 + this.#random.below(3)
    for (let count = 0; count < mandateCount; count++) await this.#createMandate()
  }

  async step(): Promise<void> {
    const choice = this.#random.below(100)
    if (choice < 46) await this.#ask()
    else if (choice < 56) await this.#capture()
    else if (choice < 62) await this.#void()
    else if (choice < 68) await this.#authorize()
    else if (choice < 73) await this.#settle()
    else if (choice < 77) await this.#refund()
    else if (choice < 80) await this.#pauseAndResume()
    else if (choice < 83) await this.#freeze()
    else if (choice < 85) await this.#cut()
    else if (choice < 86) await this.#replaceBudgetLimits()
    else if (choice < 88) await this.#amend()
    else if (choice < 89) await this.#assign()
    else if (choice < 90) await this.#sweep()
    else this.#advance()
    if (this.#random.below(12) === 0) await this.#recount()
  }

  async finish(): Promise<void> {
    await this.#sweep()
    await this.#recount()
    const faults = (await this.#bed.findFaults?.()) ?? []
    if (faults.length > 0) this.#complain('the ledger has faults', faults)
    await this.#compareUsage()
  }

  #count(name: string): void {
    this.tried[name] = (this.tried[name] ?? 0) + 1
  }

  #complain(text: string, details: unknown): never {
    const shown = JSON.stringify(details, (_, value: unknown) =>
      typeof value === 'bigint' ? `${value}n` : value,
    )
    throw new Error(`${text}: ${shown}`)
  }

  #window(): LimitWindow {
    const timeZone = this.#random.pick(zones)
    switch (this.#random.below(8)) {
      case 0:
        return 'lifetime'
      case 1:
        return { calendar: 'week', timeZone, weekStart: this.#random.pick(['monday', 'sunday', 'thursday']) }
      case 2:
        return { calendar: 'month', timeZone, dayOfMonth: this.#random.pick([1, 15, 29, 31]) }
      case 3:
        return { calendar: 'year', timeZone }
      case 4:
      case 5:
        return { rollingSeconds: this.#random.pick([60, 1_000, 3_600, 86_400, 600_000]) }
      default:
        return { calendar: 'day', timeZone }
    }
  }

  #limits({ maySplit }: { readonly maySplit: boolean }): readonly Limit[] {
    return Array.from({ length: this.#random.below(4) }, () => {
      const isAmount = this.#random.below(2) === 0
      const maxAmountMicro = BigInt(500_000 + this.#random.below(9_000_000))
      return {
        id: this.#ids.next('limit'),
        window: this.#window(),
        maxAmountText: isAmount ? formatSum(maxAmountMicro as MicroUsdc) : null,
        maxAmountMicro: isAmount ? String(maxAmountMicro) : null,
        maxCount: !isAmount || this.#random.below(4) === 0 ? 1 + this.#random.below(6) : null,
        per: maySplit ? this.#random.pick([null, null, 'seller', 'resource'] as const) : null,
        action: this.#random.below(8) === 0 ? 'notify' : 'deny',
      }
    })
  }

  async #createBudget(): Promise<void> {
    const all = [...this.#model.budgets.keys()]
    const parentId = all.length > 0 && this.#random.below(3) > 0 ? all[this.#random.below(all.length)]! : null
    const { accountId, environment } = this.#tenant.caller
    const budget: Budget = {
      accountId,
      environment,
      id: this.#ids.next('budget'),
      name: 'Team',
      ancestors: parentId === null ? [] : [parentId],
      limits: this.#limits({ maySplit: false }),
      frozenAtMs: null,
      version: 1,
      createdAtMs: this.#clock.ms,
      updatedAtMs: this.#clock.ms,
    }
    const event = this.#tenant.event('budget.created', budget.id)
    const made = await this.#tenant.run(createBudget, [budget, event])
    if (typeof made === 'string') this.#complain('a budget was not created', made)
    const { id, limits } = budget
    this.#model.budgets.set(id, { id, parentId, limits, isFrozen: false, endedAtMs: null, bookedAtMs: 0 })
  }

  async #createMandate(): Promise<void> {
    const all = [...this.#model.budgets.keys()]
    const budgetId = all.length > 0 && this.#random.below(4) > 0 ? all[this.#random.below(all.length)]! : null
    const limits = this.#limits({ maySplit: true })
    const id = await this.#tenant.mandate(undefined, {
      limits: limits.length === 0 ? null : limits,
      budgetPath: budgetId === null ? null : [budgetId],
    })
    const { agentId } = this.#tenant
    this.#model.mandates.set(id, { id, agentId, isActive: true, limits, budgetId, bookedAtMs: 0 })
  }

  #anyMandate(): ModelMandate {
    const all = [...this.#model.mandates.values()]
    return all[this.#random.below(all.length)]!
  }

  #anyPayment(...states: readonly ModelPayment['state'][]): ModelPayment | undefined {
    const some = this.#model.payments.filter(({ state }) => states.includes(state))
    return some[this.#random.below(Math.max(1, some.length))]
  }

  async #ask(): Promise<void> {
    const mandate = this.#anyMandate()
    // A process with a slow clock runs only when nothing is left that has expired by the fast ones.
    const isSlow = this.#random.below(6) === 0
    const isFast = !isSlow && this.#random.below(30) === 0
    const nowMs = this.#clock.ms + this.#differenceOf(isSlow, isFast)
    // A fast one releases what expires by its clock.
    if (isSlow || isFast) await this.#sweep(Math.max(nowMs, this.#clock.ms))
    const host = this.#random.pick(['one.example', 'two.example'])
    const resourceUrl = `https://${host}/${this.#random.pick(['a', 'b'])}?q=${this.#random.below(9)}`
    const amountMicro = BigInt(1 + this.#random.below(3_000_000)) as MicroUsdc
    const base = this.#tenant.hold(mandate.id, amountMicro)
    const hold = { ...base, resourceUrl, issuedAtMs: nowMs, expiresAtMs: nowMs + 6 * minuteMs }
    const checks = this.#model.judge({ mandateId: mandate.id, amountMicro, resourceUrl, nowMs })
    const outcome = await this.#tenant.run(issueProof, { hold })
    const details = { seed: hold.nonce, mandate, outcome, checks, nowMs, amountMicro, resourceUrl }
    if (!mandate.isActive) {
      const isRight = outcome.decision === 'denied' && outcome.check === 4
      if (!isRight) this.#complain('a paused mandate decided', details)
      return
    }
    const denying = checks.filter(({ action }) => action === 'deny')
    const chain = this.#model.chainOf(mandate)
    if (outcome.decision === 'approved') {
      this.#count('approved')
      const exceeded = denying.find(({ verdict }) => verdict === 'exceeded')
      if (exceeded) this.#complain('a payment was approved beyond a limit', { exceeded, ...details })
      const bookedAtMs = this.#model.bookingTime(mandate, nowMs)
      const isCounted = mandate.limits.length > 0 || chain.length > 0 || mandate.bookedAtMs > 0
      if (isCounted) mandate.bookedAtMs = bookedAtMs
      for (const budget of chain) budget.bookedAtMs = bookedAtMs
      this.#model.payments.push({
        nonce: hold.nonce,
        mandateId: mandate.id,
        resourceUrl,
        bookedAtMs: isCounted ? bookedAtMs : nowMs,
        budgetIds: chain.map(({ id }) => id),
        agentEndedAtMs: this.#model.endedAtMsOf(mandate.agentId),
        amountMicro,
        state: 'open',
        expiresAtMs: hold.expiresAtMs,
        chargedMicro: 0n,
      })
      this.#holds.set(hold.nonce, hold)
      if (isFast) await this.#voidPayment(this.#model.payments.at(-1)!)
    } else if (outcome.decision === 'denied') {
      this.#count(`denied by check ${outcome.check}`)
      const place = denying.findIndex((check) => isNamed(check, outcome))
      const named = denying[place]
      if (!named) this.#complain('an unknown check has denied a payment', details)
      if (named?.verdict === 'fits') this.#complain('a payment that fits was denied', details)
      // Of several limits of the same check, the one that refuses the longest is named.
      const earlier = denying
        .slice(0, place)
        .find(
          (one) =>
            one.verdict === 'exceeded' && (one.check !== named?.check || one.budgetId !== named.budgetId),
        )
      if (earlier) this.#complain('a later check was named', { earlier, ...details })
      this.#endStopped(mandate.id)
    } else this.#complain('a proof was neither approved nor denied', details)
    this.#endStopped(mandate.id)
  }

  /** How far the clock of a process that decides is from that of the others. */
  #differenceOf(isSlow: boolean, isFast: boolean): number {
    if (isSlow) return -this.#random.below(4 * minuteMs)
    return isFast ? this.#random.below(2 * dayMs) : 0
  }

  /** An operation that changes a mandate's open payments first ends those that a freeze has stopped. */
  #endStopped(mandateId: string): void {
    for (const payment of this.#model.payments) {
      if (payment.mandateId === mandateId && payment.state === 'stopped') payment.state = 'ended'
    }
  }

  async #capture(): Promise<void> {
    const payment = this.#anyPayment('open', 'stopped', 'captured', 'ended')
    const hold = payment && this.#holds.get(payment.nonce)
    if (!payment || !hold) return
    const { outcome } = await this.#tenant.capture(hold)
    const isOpen = this.#mayBeCollected(payment)
    if ((outcome === 'captured') !== isOpen) {
      this.#complain('a capture has another outcome', { outcome, payment, nowMs: this.#clock.ms })
    }
    this.#count(`capture ${outcome}`)
    if (outcome !== 'captured') return
    payment.state = 'captured'
    payment.chargedMicro = payment.amountMicro
  }

  #mayBeCollected(payment: ModelPayment): boolean {
    const isOpen = payment.state === 'open' && payment.expiresAtMs > this.#clock.ms
    return isOpen && !this.#model.isEndedLater(payment)
  }

  async #void(): Promise<void> {
    const payment = this.#anyPayment('open', 'stopped')
    if (payment) await this.#voidPayment(payment)
  }

  async #voidPayment(payment: ModelPayment): Promise<void> {
    const { accountId, environment } = this.#tenant.caller
    const event = this.#tenant.event('proof.voided', payment.nonce)
    const key = { accountId, environment, nonce: payment.nonce }
    const voided = await this.#tenant.run(voidProof, [key, {}, event])
    if (!voided || voided.status === 'open') this.#complain('a payment was not voided', { voided, payment })
    this.#count('void')
    if (payment.state === 'open') payment.state = 'ended'
  }

  async #authorize(): Promise<void> {
    const payment = this.#anyPayment('open', 'stopped')
    const hold = payment && this.#holds.get(payment.nonce)
    if (!payment || !hold) return
    const { transactionId: _, ...call } = this.#tenant.captureCall(hold)
    const event = this.#tenant.event('payment.authorized', payment.nonce)
    const { outcome } = await this.#tenant.run(authorize, { ...call, captureSeconds: 600, event })
    const isOpen = this.#mayBeCollected(payment)
    if ((outcome === 'authorized') !== isOpen) {
      this.#complain('an authorization has another outcome', { outcome, payment, nowMs: this.#clock.ms })
    }
    this.#count(`authorize ${outcome}`)
    if (outcome !== 'authorized') return
    payment.state = 'authorized'
    payment.expiresAtMs = this.#clock.ms + 600_000
  }

  /** Captures an authorized payment, fully or partly, or voids it. */
  async #settle(): Promise<void> {
    const payment = this.#anyPayment('authorized')
    if (!payment) return
    const { caller } = this.#tenant
    const call = { payerId: caller.accountId, caller, nonce: payment.nonce, nowMs: this.#clock.ms }
    const isLate = !(payment.expiresAtMs > this.#clock.ms)
    if (this.#random.below(3) === 0) {
      const event = this.#tenant.event('proof.voided', payment.nonce)
      await this.#tenant.run(voidAuthorized, { ...call, event })
      payment.state = 'ended'
      this.#count('void of an authorization')
      return
    }
    const part = 1n + BigInt(this.#random.below(Number(payment.amountMicro)))
    const amountMicro = this.#random.below(2) === 0 ? null : (part as MicroUsdc)
    const transactionId = this.#ids.next('transaction')
    const outcome = await this.#tenant.run(captureAuthorized, {
      ...call,
      amountMicro,
      idempotencyKey: null,
      transactionId,
    })
    if ((outcome.outcome === 'captured') === isLate) {
      this.#complain('a capture of an authorization has another outcome', { outcome, payment })
    }
    if (outcome.outcome !== 'captured') return
    this.#count('capture of an authorization')
    payment.state = 'captured'
    payment.chargedMicro = amountMicro ?? payment.amountMicro
  }

  async #refund(): Promise<void> {
    const payment = this.#anyPayment('captured')
    if (!payment || payment.chargedMicro === 0n) return
    const amountMicro = (1n + BigInt(this.#random.below(Number(payment.chargedMicro)))) as MicroUsdc
    const { caller } = this.#tenant
    const refundId = this.#ids.next('transaction')
    const event = () => this.#tenant.event('payment.refunded', refundId)
    const outcome = await this.#tenant.run(refund, {
      caller,
      payerId: caller.accountId,
      nonce: payment.nonce,
      amountText: formatSum(amountMicro),
      amountMicro,
      reason: null,
      idempotencyKey: refundId,
      refundId,
      nowMs: this.#clock.ms,
      events: { payer: event(), own: event() },
    })
    if (outcome.outcome !== 'refunded') this.#complain('a payment was not refunded', { outcome, payment })
    this.#count('refund')
    payment.chargedMicro -= amountMicro
  }

  async #pauseAndResume(): Promise<void> {
    const model = this.#anyMandate()
    const key = { ...this.#tenant.caller, id: model.id }
    const to = model.isActive ? 'paused' : 'active'
    const event = this.#tenant.event(to === 'paused' ? 'mandate.paused' : 'mandate.resumed', model.id)
    await this.#tenant.run(moveMandate, [key, to, event])
    this.#count(to)
    if (model.isActive) this.#endOpen(({ mandateId }) => mandateId === model.id, 'ended')
    if (model.isActive) this.#endStopped(model.id)
    model.isActive = !model.isActive
  }

  #endOpen(which: (payment: ModelPayment) => boolean, state: 'ended' | 'stopped'): void {
    for (const payment of this.#model.payments) {
      if (payment.state === 'open' && which(payment)) payment.state = state
    }
  }

  async #freeze(): Promise<void> {
    const all = [...this.#model.budgets.values()]
    const budget = all[this.#random.below(Math.max(1, all.length))]
    if (!budget) return
    const isFrozen = !budget.isFrozen
    const event = this.#tenant.event(isFrozen ? 'budget.frozen' : 'budget.unfrozen', budget.id)
    const key = { ...this.#tenant.caller, id: budget.id }
    await this.#tenant.run(freezeBudget, [key, isFrozen, event])
    this.#count(isFrozen ? 'freeze' : 'unfreeze')
    budget.isFrozen = isFrozen
    if (isFrozen) await this.#stopBelow(budget)
    else budget.endedAtMs = this.#clock.ms
  }

  /**
   * Ends all open payments of every mandate that has one below a budget: they end per mandate. A mandate that
   * had one below it stays affected until nothing is open under it.
   */
  async #stopBelow(budget: ModelBudget): Promise<void> {
    const { id: budgetId } = budget
    budget.endedAtMs = this.#clock.ms
    const isBelow = ({ budgetIds }: ModelPayment) => budgetIds.includes(budgetId)
    for (const { id, usage } of await this.#rowsOf(mandates)) {
      const own = this.#model.payments.filter(({ mandateId }) => mandateId === id)
      const isOpenBelow = own.some((payment) => isBelow(payment) && payment.state === 'open')
      const isConcerned = usage?.budgets[budgetId] !== undefined
      if (isConcerned && !own.some(isBelow))
        this.#complain('a mandate below no budget is stopped', { id, budgetId })
      if (isOpenBelow || isConcerned) this.#endOpen(({ mandateId }) => mandateId === id, 'stopped')
    }
  }

  async #cut(): Promise<void> {
    const all = [...this.#model.budgets.values()].filter(({ limits }) => limits.length > 0)
    const budget = all[this.#random.below(Math.max(1, all.length))]
    if (!budget) return
    await this.#sweep()
    const place = this.#random.below(budget.limits.length)
    const limits = budget.limits.map((limit, index): Limit => {
      if (index !== place) return limit
      if (limit.maxAmountMicro === null) return { ...limit, maxCount: 1 + this.#random.below(6) }
      const maxAmountMicro = BigInt(1 + this.#random.below(9_000_000))
      const maxAmountText = formatSum(maxAmountMicro as MicroUsdc)
      return { ...limit, maxAmountText, maxAmountMicro: String(maxAmountMicro) }
    })
    const limit = limits[place]!
    const key = { ...this.#tenant.caller, id: budget.id }
    const row = await this.#rowOf(budget.id)
    const endsHolds = this.#random.below(3) === 0
    const event = this.#tenant.event('budget.changed', budget.id)
    const outcome = await this.#tenant.run(changeBudget, [
      key,
      { expectedVersion: row.version, limits, endsHolds },
      event,
    ])
    const atMs = Math.max(this.#clock.ms, budget.bookedAtMs)
    const old = budget.limits[place]!
    const { least, most } = this.#model.usage(limit, { budgetId: budget.id }, atMs)
    const isBelow = (sum: typeof least) =>
      isLower(limit, old) &&
      ((limit.maxAmountMicro !== null && sum.amountMicro > BigInt(limit.maxAmountMicro)) ||
        (limit.maxCount !== null && sum.count > limit.maxCount))
    const details = { outcome, budget, limit, least, most, endsHolds }
    this.#count(`cut ${outcome.outcome}`)
    if (outcome.outcome === 'below_committed') {
      if (!isBelow(most)) this.#complain('a cut that cuts nothing was refused', details)
      return
    }
    if (outcome.outcome !== 'changed') this.#complain('a budget was not changed', details)
    if (isBelow(least) && !endsHolds) this.#complain('a budget was cut below what is committed', details)
    const changed = await this.#rowOf(budget.id)
    // Of two limits over the same window, one that now has the other's max also has its id.
    budget.limits = changed.limits
    if (changed.epoch > row.epoch) await this.#stopBelow(budget)
  }

  /** Some of the earlier limits, and new ones, which count what was booked in their current periods. */
  #changed(before: readonly Limit[], { maySplit }: { readonly maySplit: boolean }): readonly Limit[] {
    return [...before.filter(() => this.#random.below(3) > 0), ...this.#limits({ maySplit })].slice(0, 10)
  }

  async #amend(): Promise<void> {
    const model = this.#anyMandate()
    await this.#sweep()
    const limits = this.#changed(model.limits, { maySplit: true })
    const { accountId, environment } = this.#tenant.caller
    const find = async () => (await this.#rowsOf(mandates)).find(({ id }) => id === model.id)!
    const { version } = await find()
    const moves = this.#random.below(2) === 0
    const budgetId = moves ? this.#anyBudgetId() : model.budgetId
    const terms = {
      ...(this.#random.below(2) === 0 && { limits: limits.length === 0 ? null : limits }),
      budgetPath: budgetId === null ? null : [budgetId],
    }
    const endsHolds = this.#random.below(4) === 0
    const outcome = await this.#tenant.run(amendMandate, [
      { accountId, environment, id: model.id },
      {},
      { terms, expectedVersion: version, mayWiden: true, endsHolds },
      this.#tenant.event('mandate.amended', model.id),
    ])
    if (outcome.outcome !== 'amended') this.#complain('a mandate was not amended', outcome)
    this.#count(moves ? 'move' : 'amend')
    const row = await find()
    const leavesEnded =
      this.#clock.ms - this.#model.moveMandate(model, budgetId, this.#clock.ms) < 6 * minuteMs
    if (row.version !== version && (endsHolds || leavesEnded)) {
      this.#endOpen(({ mandateId }) => mandateId === model.id, 'ended')
      this.#endStopped(model.id)
    }
    model.limits = row.limits ?? []
    model.bookedAtMs = Math.max(model.bookedAtMs, row.usage?.bookedAtMs ?? 0)
    await this.#recount()
  }

  async #replaceBudgetLimits(): Promise<void> {
    const all = [...this.#model.budgets.values()]
    const budget = all[this.#random.below(Math.max(1, all.length))]
    if (!budget) return
    await this.#sweep()
    const limits = this.#changed(budget.limits, { maySplit: false })
    const outcome = await this.#tenant.run(changeBudget, [
      { ...this.#tenant.caller, id: budget.id },
      { expectedVersion: (await this.#rowOf(budget.id)).version, limits, endsHolds: false },
      this.#tenant.event('budget.changed', budget.id),
    ])
    this.#count(`limits of a budget: ${outcome.outcome}`)
    if (outcome.outcome === 'below_committed') return
    if (outcome.outcome !== 'changed') this.#complain('a budget was not changed', outcome)
    budget.limits = (await this.#rowOf(budget.id)).limits
    // From then on nothing is booked earlier.
    const usage = (await this.#rowsOf(budgetUsage)).find(({ budgetId }) => budgetId === budget.id)
    budget.bookedAtMs = Math.max(budget.bookedAtMs, usage?.bookedAtMs ?? 0)
    await this.#recount()
  }

  /** The rows of this history: others may share its database. */
  async #rowsOf<Of extends Table>(table: Of): Promise<TableRow<Of>[]> {
    const rows = await this.#bed.rowsOf(table)
    return rows.filter(({ accountId }) => accountId === this.#tenant.caller.accountId) as TableRow<Of>[]
  }

  async #rowOf(budgetId: string): Promise<TableRow<typeof budgets>> {
    const rows = await this.#rowsOf(budgets)
    return rows.find(({ id }) => id === budgetId)!
  }

  #anyBudgetId(): string | null {
    const all: (string | null)[] = [null, ...this.#model.budgets.keys()]
    return all[this.#random.below(all.length)] ?? null
  }

  async #assign(): Promise<void> {
    const budgetId = this.#anyBudgetId()
    const { agentId, caller } = this.#tenant
    const event = this.#tenant.event('agent.budget_changed', agentId)
    await this.#tenant.run(assignAgent, [{ ...caller, id: agentId }, { budgetId }, event])
    this.#count('assign')
    this.#model.assign(agentId, budgetId, this.#clock.ms)
  }

  async #sweep(nowMs = this.#clock.ms): Promise<void> {
    for (const { id: mandateId } of this.#model.mandates.values()) {
      const { accountId } = this.#tenant.caller
      const call = { accountId, mandateId, nowMs, countId: this.#ids.next('transaction') }
      await this.#tenant.run(releaseExpiredPayments, call)
      this.#endStopped(mandateId)
    }
    for (const payment of this.#model.payments) {
      const mayEnd = payment.state === 'open' || payment.state === 'authorized'
      if (mayEnd && payment.expiresAtMs <= nowMs) payment.state = 'ended'
    }
  }

  #advance(): void {
    const stepMs = this.#random.pick([
      1,
      30_000,
      3 * minuteMs,
      7 * minuteMs,
      hourMs,
      5 * hourMs,
      dayMs,
      9 * dayMs,
      40 * dayMs,
    ])
    this.#clock.ms += 1 + this.#random.below(stepMs)
    this.#count('advance')
  }

  /** Every counter is the sum of its payments. */
  async #recount(): Promise<void> {
    this.#count('recount')
    const faults = recountRows({
      mandates: await this.#rowsOf(mandates),
      subjects: await this.#rowsOf(subjectUsage),
      budgets: await this.#rowsOf(budgets),
      budgetUsage: await this.#rowsOf(budgetUsage),
      payments: await this.#rowsOf(payments),
    })
    if (faults.length > 0) this.#complain('the recount finds faults', faults)
  }

  /** The answers show what the model counts. */
  async #compareUsage(): Promise<void> {
    const atMs = this.#clock.ms
    for (const mandate of this.#model.mandates.values()) {
      const key = { ...this.#tenant.caller, id: mandate.id }
      const shown = await this.#tenant.run(readMandateUsage, [key, atMs])
      this.#compare(
        shown.filter(({ scope }) => scope === 'mandate'),
        { mandateId: mandate.id },
        Math.max(atMs, this.#model.bookingTime(mandate, atMs)),
      )
    }
    for (const budget of this.#model.budgets.values()) {
      const key = { ...this.#tenant.caller, id: budget.id }
      const shown = await this.#tenant.run(readBudgetUsage, [key, atMs])
      this.#compare(shown, { budgetId: budget.id }, Math.max(atMs, budget.bookedAtMs))
    }
  }

  #compare(
    shown: Awaited<ReturnType<(typeof readBudgetUsage)['decide']>>['outcome'],
    of: { readonly mandateId?: string; readonly budgetId?: string },
    atMs: number,
  ): void {
    for (const { limit, committed } of shown) {
      if (!committed) continue
      const { least, most } = this.#model.usage(limit, of, atMs)
      const isBetween =
        least.amountMicro <= committed.amountMicro &&
        committed.amountMicro <= most.amountMicro &&
        least.count <= committed.count &&
        committed.count <= most.count
      if (!isBetween) this.#complain('usage differs', { limit, committed, least, most })
    }
  }
}

function isLower(limit: Limit, old: Limit): boolean {
  return limit.maxAmountMicro === null
    ? (limit.maxCount ?? Infinity) < (old.maxCount ?? Infinity)
    : BigInt(limit.maxAmountMicro) < BigInt(old.maxAmountMicro ?? 0n)
}

function isNamed(
  check: JudgedCheck,
  {
    check: number,
    limit,
    budget,
  }: {
    readonly check: number
    readonly limit?: { readonly id: string } | undefined
    readonly budget?: { readonly id: string } | undefined
  },
): boolean {
  return (
    check.check === number && check.limitId === (limit?.id ?? null) && check.budgetId === (budget?.id ?? null)
  )
}

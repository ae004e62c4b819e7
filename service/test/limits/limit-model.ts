import type { Limit } from '../../src/domain/limits.ts'
import { countIn, type Span } from './window-model.ts'

/** A payment, as the model knows it. */
export interface ModelPayment {
  readonly nonce: string
  readonly mandateId: string
  readonly resourceUrl: string
  readonly bookedAtMs: number
  /** The shared budgets that it counts in. */
  readonly budgetIds: readonly string[]
  /** What had ended below budgets that its agent had left when it was issued: `endedAtMsOf`. */
  readonly agentEndedAtMs: number
  readonly amountMicro: bigint
  /** `stopped`: an open one that a freeze has ended, and that may still be counted until it is released. */
  state: 'open' | 'stopped' | 'authorized' | 'captured' | 'ended'
  expiresAtMs: number
  /** What is charged, without refunds. */
  chargedMicro: bigint
}

export interface ModelMandate {
  readonly id: string
  readonly agentId: string
  isActive: boolean
  limits: readonly Limit[]
  budgetId: string | null
  /** No payment is booked before this. */
  bookedAtMs: number
}

export interface ModelBudget {
  readonly id: string
  readonly parentId: string | null
  limits: readonly Limit[]
  isFrozen: boolean
  /** When a freeze, its end or a cut last ended payments; null if none did. */
  endedAtMs: number | null
  bookedAtMs: number
}

export interface Question {
  readonly mandateId: string
  readonly amountMicro: bigint
  readonly resourceUrl: string
  readonly nowMs: number
}

/** The expected answer of a limit, which the model may leave open. */
export type Verdict = 'fits' | 'exceeded' | 'either'

export interface JudgedCheck {
  readonly check: 10 | 11
  readonly limitId: string | null
  readonly budgetId: string | null
  readonly action: Limit['action']
  readonly verdict: Verdict
}

/** Max difference between the clocks of two machines. */
const maxClockGapMs = 10_000

/** Limits and shared budgets by brute force: every question recounts all payments. */
export class LimitModel {
  readonly payments: ModelPayment[] = []
  readonly mandates = new Map<string, ModelMandate>()
  readonly budgets = new Map<string, ModelBudget>()
  /** The budget of each agent. */
  readonly agentBudgets = new Map<string, string | null>()
  /** When a freeze or a cut last ended payments below budgets that an agent has left. */
  readonly #agentEndedAtMs = new Map<string, number>()

  /** The shared budgets of a mandate, nearest first: its own with those above, then those of its agent. */
  chainOf({ budgetId, agentId }: ModelMandate): readonly ModelBudget[] {
    return [...new Set([...this.#pathOf(budgetId), ...this.#pathOf(this.agentBudgets.get(agentId) ?? null)])]
  }

  /** A budget and those above it. */
  #pathOf(budgetId: string | null): readonly ModelBudget[] {
    const path: ModelBudget[] = []
    for (let id = budgetId; id !== null; id = path.at(-1)!.parentId) path.push(this.budgets.get(id)!)
    return path
  }

  /** Moves an agent to another budget. What has ended below the budgets that it leaves stays ended. */
  assign(agentId: string, budgetId: string | null, nowMs: number): void {
    for (const endedAtMs of this.#endsLeft(this.agentBudgets.get(agentId) ?? null, budgetId, nowMs)) {
      this.#agentEndedAtMs.set(agentId, Math.max(this.endedAtMsOf(agentId) + 1, endedAtMs))
    }
    this.agentBudgets.set(agentId, budgetId)
  }

  /** Moves a mandate to another budget; returns when payments last ended below the budgets that it leaves. */
  moveMandate(mandate: ModelMandate, budgetId: string | null, nowMs: number): number {
    const ends = this.#endsLeft(mandate.budgetId, budgetId, nowMs)
    mandate.budgetId = budgetId
    return Math.max(0, ...ends)
  }

  /** When payments last ended below each budget that is left. */
  #endsLeft(before: string | null, after: string | null, nowMs: number): readonly number[] {
    const kept = this.#pathOf(after)
    const left = this.#pathOf(before).filter((budget) => !kept.includes(budget))
    return left.flatMap(({ isFrozen, endedAtMs }) => (isFrozen ? nowMs : (endedAtMs ?? [])))
  }

  /** Whether a budget that the payment does not count in, because it was assigned later, has ended it. */
  isEndedLater({ mandateId, budgetIds, bookedAtMs, agentEndedAtMs }: ModelPayment): boolean {
    const mandate = this.mandates.get(mandateId)!
    const isUpTo = (endedAtMs: number) => endedAtMs > 0 && bookedAtMs <= endedAtMs + maxClockGapMs
    const endedAtMs = this.endedAtMsOf(mandate.agentId)
    if (endedAtMs !== agentEndedAtMs && isUpTo(endedAtMs)) return true
    return this.chainOf(mandate).some(
      ({ id, isFrozen, endedAtMs }) => !budgetIds.includes(id) && (isFrozen || isUpTo(endedAtMs ?? 0)),
    )
  }

  endedAtMsOf(agentId: string): number {
    return this.#agentEndedAtMs.get(agentId) ?? 0
  }

  bookingTime(mandate: ModelMandate, nowMs: number): number {
    return Math.max(nowMs, mandate.bookedAtMs, ...this.chainOf(mandate).map(({ bookedAtMs }) => bookedAtMs))
  }

  /** The answers of checks 10 and 11, in order. */
  judge(question: Question): readonly JudgedCheck[] {
    const mandate = this.mandates.get(question.mandateId)!
    const atMs = this.bookingTime(mandate, question.nowMs)
    const own = mandate.limits.map((limit): JudgedCheck => {
      const counted = this.payments.filter(
        (payment) =>
          payment.mandateId === mandate.id &&
          subjectOf(limit.per, payment.resourceUrl) === subjectOf(limit.per, question.resourceUrl),
      )
      const verdict = this.#judgeLimit(limit, counted, { ...question, atMs })
      return { check: 10, limitId: limit.id, budgetId: null, action: limit.action, verdict }
    })
    const shared = this.chainOf(mandate).flatMap((budget): JudgedCheck[] => {
      const of = { check: 11, budgetId: budget.id } as const
      const frozen: JudgedCheck = {
        ...of,
        limitId: null,
        action: 'deny',
        verdict: budget.isFrozen ? 'exceeded' : 'fits',
      }
      const counted = this.payments.filter(({ budgetIds }) => budgetIds.includes(budget.id))
      const limits = budget.limits.map((limit): JudgedCheck => {
        const verdict = this.#judgeLimit(limit, counted, { ...question, atMs })
        return { ...of, limitId: limit.id, action: limit.action, verdict }
      })
      return [frozen, ...limits]
    })
    return [...own, ...shared]
  }

  #judgeLimit(
    limit: Limit,
    payments: readonly ModelPayment[],
    { mandateId, amountMicro, nowMs, atMs }: Question & { readonly atMs: number },
  ): Verdict {
    // Unreleased holds of other mandates may count.
    const sure = payments.filter((payment) => this.#counts(payment, nowMs))
    const lingering = payments.filter(
      (payment) =>
        payment.mandateId !== mandateId &&
        !this.#counts(payment, nowMs) &&
        (payment.state === 'open' || payment.state === 'stopped' || payment.state === 'authorized'),
    )
    const least = countIn(limit.window, sure.map(toBooked), atMs)
    const most = countIn(limit.window, [...sure, ...lingering].map(toBooked), atMs)
    if (isOver(limit, least.least, amountMicro)) return 'exceeded'
    return isOver(limit, most.most, amountMicro) ? 'either' : 'fits'
  }

  /** Whether a payment certainly counts. */
  #counts({ state, expiresAtMs }: ModelPayment, nowMs: number): boolean {
    if (state === 'captured') return true
    return (state === 'open' || state === 'authorized') && expiresAtMs > nowMs
  }

  /** What a limit counts once everything is released. */
  usage(limit: Limit, of: { readonly mandateId?: string; readonly budgetId?: string }, atMs: number): Span {
    const counted = this.payments.filter(
      ({ mandateId, budgetIds, state }) =>
        (of.mandateId === undefined || mandateId === of.mandateId) &&
        (of.budgetId === undefined || budgetIds.includes(of.budgetId)) &&
        (state === 'open' || state === 'authorized' || state === 'captured'),
    )
    return countIn(limit.window, counted.map(toBooked), atMs)
  }
}

function toBooked({ bookedAtMs, amountMicro, chargedMicro, state }: ModelPayment) {
  return { bookedAtMs, amountMicro: state === 'captured' ? chargedMicro : amountMicro, count: 1 }
}

function isOver({ maxAmountMicro, maxCount }: Limit, sum: Span['least'], amountMicro: bigint): boolean {
  if (maxAmountMicro !== null && sum.amountMicro + amountMicro > BigInt(maxAmountMicro)) return true
  return maxCount !== null && sum.count + 1 > maxCount
}

/** The histories use only plain hosts and paths. */
function subjectOf(per: Limit['per'], resourceUrl: string): string {
  if (per === null) return ''
  const { host, pathname } = new URL(resourceUrl)
  return per === 'seller' ? host : host + pathname
}

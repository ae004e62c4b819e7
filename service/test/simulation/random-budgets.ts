import type { Limit } from '../../src/domain/limits.ts'
import { formatSum, type MicroUsdc } from '../../src/domain/money.ts'
import type { AuditEvent, Scope } from '../../src/domain/records.ts'
import type { Ids } from '../../src/ids.ts'
import type { RecordKey } from '../../src/store/store.ts'
import { isKnownSeller } from '../../src/store/ledger/operations/evaluations.ts'
import { changeBudget } from '../../src/store/ledger/operations/limits/budget-changes.ts'
import { assignAgent, createBudget, freezeBudget } from '../../src/store/ledger/operations/limits/budgets.ts'
import {
  readBudgetUsage,
  readLimits,
  readMandateUsage,
} from '../../src/store/ledger/operations/limits/limit-usage.ts'
import type { SeededRandom } from '../../testing/seeded-random.ts'
import { made, type RandomCall } from './random-call.ts'

interface Tools {
  readonly random: SeededRandom
  readonly ids: Ids
  readonly nowMs: () => number
  readonly newEvent: (type: AuditEvent['type'], subjectId: string, scope: Scope) => AuditEvent
}

/** Calls that create, change and read shared budgets. */
export class RandomBudgets {
  readonly #tools: Tools
  readonly #budgets: RecordKey[] = []

  constructor(tools: Tools) {
    this.#tools = tools
  }

  /** Names the latest budget of an account, if it has one. */
  pathFor({ accountId }: Scope): readonly string[] | null {
    const latest = this.#budgets.findLast((budget) => budget.accountId === accountId)
    return latest ? [latest.id] : null
  }

  /** Three limits; the first counts each seller or resource separately if `per` says so. */
  limits(per: Limit['per']): readonly Limit[] {
    const { random, ids } = this.#tools
    const maxAmountMicro = random.pick([6_000_000n, 6_000_000n, 30_000_000n]) as MicroUsdc
    const windows = [
      { rollingSeconds: 3_600 },
      'lifetime',
      { calendar: 'day', timeZone: 'Europe/Berlin' },
    ] as const
    return windows.map((window, index) => ({
      id: ids.next('limit'),
      window,
      maxAmountText: formatSum(maxAmountMicro),
      maxAmountMicro: String(maxAmountMicro),
      maxCount: random.pick([null, null, 4]),
      action: random.pick(['deny', 'deny', 'notify', 'require_approval'] as const),
      per: index === 0 ? per : null,
    }))
  }

  create(scope: Scope): RandomCall {
    const { ids, newEvent } = this.#tools
    const id = ids.next('budget')
    const ancestors = this.pathFor(scope) ?? []
    const createdAtMs = this.#tools.nowMs()
    this.#budgets.push({ ...scope, id })
    const budget = { ...scope, id, name: 'Team', ancestors, limits: this.limits(null), frozenAtMs: null }
    return made(createBudget, [
      { ...budget, version: 1, createdAtMs, updatedAtMs: createdAtMs },
      newEvent('budget.created', id, scope),
      { kind: 'budget', requestKey: id, requestHash: 'Team' },
    ])
  }

  /** Changes, freezes or reads the latest budget; creates one if there is none. */
  use(scope: Scope): RandomCall {
    const { random, nowMs, newEvent } = this.#tools
    const budget = this.#budgets.at(-1)
    if (!budget) return this.create(scope)
    const dice = random.below(8)
    if (dice < 3) {
      // Most budgets stay open.
      const isFrozen = random.below(4) === 0
      return made(freezeBudget, [budget, isFrozen, newEvent('budget.frozen', budget.id, budget)])
    }
    if (dice < 5) return made(readBudgetUsage, [budget, nowMs()])
    return made(changeBudget, [
      budget,
      {
        expectedVersion: 1 + random.below(3),
        name: random.pick([undefined, 'Größe']),
        limits: random.pick([undefined, this.limits(null), this.limits(null).slice(0, 1)]),
        endsHolds: random.below(2) === 0,
      },
      newEvent('budget.changed', budget.id, budget),
    ])
  }

  assign(agent: RecordKey): RandomCall {
    const { random, newEvent } = this.#tools
    const [budgetId = null] = this.pathFor(agent) ?? []
    return made(assignAgent, [
      agent,
      {
        budgetId: random.pick([budgetId, budgetId, null]),
        ...random.pick([{}, {}, { expectedId: budgetId }]),
      },
      newEvent('agent.budget_changed', agent.id, agent),
    ])
  }

  /** Reads what counts in the limits of a mandate and of its budgets, or whether it has paid a seller. */
  readUsage(mandate: RecordKey & { readonly agentId: string }, resourceUrl: string): RandomCall {
    const { random, nowMs } = this.#tools
    const atMs = nowMs()
    const dice = random.below(3)
    if (dice === 0) return made(readMandateUsage, [mandate, atMs])
    if (dice === 1) return made(isKnownSeller, [mandate, { resourceUrl, issuedAtMs: atMs }])
    const { accountId, agentId, id: mandateId } = mandate
    return made(readLimits, { accountId, agentId, mandateId, resourceUrl, atMs })
  }
}

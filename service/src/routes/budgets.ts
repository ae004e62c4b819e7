import {
  changeBudget,
  createBudget,
  freezeBudget,
  getBudget,
  listBudgets,
  unfreezeBudget,
  type Budget as WireBudget,
} from '@purser/wire/limits/budgets'

import { creationAttempt } from '../domain/creation-attempt.ts'
import { toWireLimit } from '../domain/limit-terms.ts'
import type { LimitUsage } from '../domain/limits.ts'
import type { Budget, Caller, Scope } from '../domain/records.ts'
import { timeIn } from '../domain/time/test-clock.ts'
import { created, ok, refuse, replayed, unprocessable, type Answer } from '../http/answers.ts'
import { answerPage, type PageRequest } from '../http/pagination.ts'
import type { Serve } from '../http/serve.ts'
import { eventBy, toNullableTimestamp, toTimestamp, type RouteContext } from './context.ts'
import { limitFaults, toLimits, toWireUsage } from './limits.ts'
import { okVersioned, readIfMatch } from './versions.ts'

export function serveBudgets(serve: Serve, { store, now, ids }: RouteContext): void {
  serve(createBudget, async ({ caller, body, idempotencyKey }) => {
    if (idempotencyKey === undefined) return refuse('invalid_idempotency_key')
    const faults = limitFaults(body.limits, { maySplit: false })
    if (faults.length > 0) return unprocessable(faults)
    const nowMs = timeIn(caller, now)
    const budget: Budget = {
      accountId: caller.accountId,
      environment: caller.environment,
      id: ids.next('budget'),
      name: body.name,
      ancestors: typeof body.parent_id === 'string' ? [body.parent_id] : [],
      limits: toLimits(body.limits, () => ids.next('limit')),
      frozenAtMs: null,
      version: 1,
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
    }
    const limits = budget.limits.map(toWireLimit)
    const data = { name: budget.name, parent_id: body.parent_id ?? null, limits }
    const event = eventBy({ ids, now }, caller, 'budget.created', budget.id, { data, atMs: nowMs })
    const outcome = await store.createBudget(budget, event, creationAttempt('budget', idempotencyKey, body))
    if (typeof outcome === 'string') return refuse(outcome)
    return 'replayed' in outcome ? created(toWire(outcome.replayed), replayed) : created(toWire(outcome))
  })

  serve(listBudgets, ({ caller, query, url }) =>
    answerPage(query, url, (page) => listWithUsage(caller, page), toWireWithUsage),
  )

  serve(getBudget, async ({ caller, params }) => {
    const key = { ...caller, id: params.budget_id }
    const budget = await store.findBudget(key)
    if (!budget) return refuse('not_found')
    const usage = await store.readBudgetUsage(key, timeIn(caller, now))
    const { children } = budget
    return okVersioned({ ...toWire(budget), usage: usage.map(toWireUsage), children })
  })

  serve(changeBudget, async ({ caller, params, body, header, changeLimits }) => {
    const expectedVersion = readIfMatch(header('if-match'))
    if (typeof expectedVersion !== 'number') return expectedVersion
    const faults = limitFaults(body.limits ?? [], { maySplit: false })
    if (faults.length > 0) return unprocessable(faults)
    const key = { ...caller, id: params.budget_id }
    const change = {
      expectedVersion,
      name: body.name,
      limits: body.limits && toLimits(body.limits, () => ids.next('limit')),
      endsHolds: body.end_holds ?? false,
    }
    const makeChange = async (): Promise<Answer> => {
      const event = eventBy({ ids, now }, caller, 'budget.changed', key.id)
      const outcome = await store.changeBudget(key, change, event)
      switch (outcome.outcome) {
        case 'changed':
          return okVersioned(toWire(outcome.budget))
        case 'refused':
          return refuse(outcome.code)
        case 'below_committed':
          return {
            status: 409,
            body: { detail: 'budget_below_committed', usage: toWireUsage(outcome.usage) },
          }
        default:
          return outcome satisfies never
      }
    }
    return body.limits ? changeLimits(makeChange) : makeChange()
  })

  serve(freezeBudget, ({ caller, params }) => freeze(caller, params.budget_id, true))
  serve(unfreezeBudget, ({ caller, params }) => freeze(caller, params.budget_id, false))

  async function listWithUsage(scope: Scope, page: PageRequest) {
    const { items, next } = await store.listBudgets(scope, page)
    const nowMs = timeIn(scope, now)
    const usages = await Promise.all(items.map((budget) => store.readBudgetUsage(budget, nowMs)))
    return { items: items.map((budget, index) => ({ ...budget, usage: usages[index] ?? [] })), next }
  }

  async function freeze(caller: Caller, budgetId: string, isFrozen: boolean): Promise<Answer> {
    const type = isFrozen ? 'budget.frozen' : 'budget.unfrozen'
    const event = eventBy({ ids, now }, caller, type, budgetId)
    const budget = await store.freezeBudget({ ...caller, id: budgetId }, isFrozen, event)
    return typeof budget === 'string' ? refuse(budget) : ok(toWire(budget))
  }
}

function toWireWithUsage(budget: Budget & { readonly usage: readonly LimitUsage[] }): WireBudget {
  return { ...toWire(budget), usage: budget.usage.map(toWireUsage) }
}

/** As the interface writes it. */
export function toWire(budget: Budget): WireBudget {
  return {
    id: budget.id,
    name: budget.name,
    parent_id: budget.ancestors[0] ?? null,
    limits: budget.limits.map(toWireLimit),
    frozen_at: toNullableTimestamp(budget.frozenAtMs),
    version: budget.version,
    created_at: toTimestamp(budget.createdAtMs),
    updated_at: toTimestamp(budget.updatedAtMs),
  }
}

import { sendOnce, type IdempotentOptions } from '../send-once.ts'
import { listOf, type List } from '../list.ts'
import type { CallOptions } from '../options.ts'
import { path } from '../path.ts'
import type { Send } from '../send.ts'
import type { Budget, BudgetChange, NewBudget, PageQuery } from '../wire-types.ts'

export type Budgets = ReturnType<typeof budgets>

export function budgets(send: Send) {
  return {
    /**
     * Creates a budget that mandates and agents can share. Throws a `NotFoundError` with code `budget_not_found` for an
     * unknown parent, and a `ConflictError` with code `budget_too_deep` below four levels. Retried with the same key, so
     * that it is created once; pass your own to cover your own retries too.
     *
     * @example
     * const { id, version } = await purser.budgets.create({
     *   name: 'Research team',
     *   limits: [{ window: { calendar: 'month', time_zone: 'UTC' }, max_amount: '500.00' }],
     * })
     */
    create: async (body: NewBudget, options?: IdempotentOptions): Promise<Budget> =>
      (await sendOnce(send, { path: '/v1/budgets', body }, options)) as Budget,
    /**
     * The shared budgets of the account, newest first.
     *
     * @example
     * for await (const { id, name, limits } of purser.budgets.list()) console.log(id, name, limits)
     */
    list: (query?: PageQuery, options?: CallOptions): List<Budget> =>
      listOf(send, '/v1/budgets', query, options),
    /**
     * One shared budget, with the usage of its limits. Throws a `NotFoundError` if the key cannot see it.
     *
     * @example
     * const { name, usage } = await purser.budgets.get(budgetId)
     */
    get: async (id: string, options?: CallOptions): Promise<Budget> =>
      (await send({ method: 'GET', path: path`/v1/budgets/${id}` }, options)).body as Budget,
    /**
     * Changes the name or the limits of a shared budget; `version` is the one that the changes are based on. Throws a
     * `ConflictError` with code `version_mismatch` if there is a later one, or `budget_below_committed` with the
     * figures in `body`. Retried automatically: a budget that already is as requested is no conflict.
     *
     * @example
     * const { version } = await purser.budgets.get(budgetId)
     * await purser.budgets.change(budgetId, version, { name: 'Research team, Berlin' })
     */
    change: async (
      id: string,
      version: number,
      changes: BudgetChange,
      options?: CallOptions,
    ): Promise<Budget> => {
      const headers = { 'if-match': `"${version}"` }
      const request = { method: 'PATCH', path: path`/v1/budgets/${id}`, body: changes, headers } as const
      return (await send(request, options)).body as Budget
    },
    /**
     * Freezes a shared budget: nothing below it can be paid, and its open proofs are void at once. Throws a
     * `NotFoundError` for an unknown one. Sent once, and safe to repeat.
     *
     * @example
     * await purser.budgets.freeze(budgetId)
     */
    freeze: async (id: string, options?: CallOptions): Promise<Budget> =>
      (await send({ method: 'POST', path: path`/v1/budgets/${id}/freeze` }, options)).body as Budget,
    /**
     * Unfreezes a shared budget. Proofs that the freeze voided stay void. Throws a `NotFoundError` for an unknown one.
     * Sent once, and safe to repeat.
     *
     * @example
     * await purser.budgets.unfreeze(budgetId)
     */
    unfreeze: async (id: string, options?: CallOptions): Promise<Budget> =>
      (await send({ method: 'POST', path: path`/v1/budgets/${id}/unfreeze` }, options)).body as Budget,
  }
}

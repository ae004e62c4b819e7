import type { Budget } from '@purser/client'

import { useRead } from '../../api/queries.ts'
import type { Choice } from '../filters.ts'

/** Max budgets that are read: more are not shown. */
export const maxBudgets = 500

/** The shared budgets of the account, each below its parent. */
export function useBudgets() {
  const query = useRead('budgets', (purser, signal) =>
    purser.budgets.list({ limit: 100 }, { signal }).toArray({ limit: maxBudgets }),
  )
  const budgets = query.data ?? []
  const nameOf = (id: string) => budgets.find((budget) => budget.id === id)?.name
  return {
    query,
    budgets,
    nameOf,
    /** For a select; also a budget that is not among those read. */
    optionsWith(chosen: string): readonly Choice[] {
      const choices = inTreeOrder(budgets).map(({ budget, level }) => ({
        value: budget.id,
        text: `${'\u2003'.repeat(level)}${budget.name || 'Unnamed budget'}${budget.frozen_at === null ? '' : ' (frozen)'}`,
      }))
      const isKnown = chosen === '' || choices.some(({ value }) => value === chosen)
      return [{ value: '', text: 'None' }, ...choices, ...(isKnown ? [] : [{ value: chosen, text: chosen }])]
    },
  }
}

export interface PlacedBudget {
  readonly budget: Budget
  /** 0 for one without a parent. */
  readonly level: number
}

/** Each budget after its parent, and siblings by name. */
export function inTreeOrder(budgets: readonly Budget[]): readonly PlacedBudget[] {
  const ids = new Set(budgets.map(({ id }) => id))
  const below = (parentId: string | null, level: number): readonly PlacedBudget[] =>
    budgets
      .filter(({ parent_id }) => (parent_id !== null && ids.has(parent_id) ? parent_id : null) === parentId)
      .toSorted((one, other) => one.name.localeCompare(other.name))
      .flatMap((budget) => [{ budget, level }, ...below(budget.id, level + 1)])
  return below(null, 0)
}

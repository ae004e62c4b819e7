import { useRead } from '../../api/queries.ts'
import { unreadHint } from '../choices.ts'
import type { Choice } from '../filters.ts'
import { inTreeOrder } from './budget-tree.ts'

/** Refresh interval of an open screen. */
const refetchMs = 10_000

/** Max budgets that are read: more are not shown. */
export const maxBudgets = 500

/** The shared budgets of the account, each below its parent. */
export function useBudgets({ isLive = false }: { readonly isLive?: boolean } = {}) {
  const query = useRead(
    'budgets',
    (purser, signal) => purser.budgets.list({ limit: 100 }, { signal }).toArray({ limit: maxBudgets }),
    { refetchMs: isLive ? refetchMs : false },
  )
  const budgets = query.data ?? []
  /** The id of a budget that is not among those read. */
  const nameOf = (id: string) => {
    const found = budgets.find((budget) => budget.id === id)
    return found ? found.name || 'Unnamed budget' : id
  }
  return {
    query,
    budgets,
    nameOf,
    /** For a select, if they could not be read. */
    unread: unreadHint(query, 'shared budgets'),
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

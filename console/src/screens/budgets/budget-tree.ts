import type { Budget } from '@purser/client'

interface PlacedBudget {
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

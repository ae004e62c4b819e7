import type { Budget, Limit } from '@purser/client'

import { readMicro, sumOf } from '../../text/amounts.ts'

/** A limit of a budget that is below what the budgets under it may use together. */
export interface Overbooked {
  readonly limit: Limit
  /** The sum of their max amounts over the same window. */
  readonly sum: string
}

/** Where the budgets directly below a budget add up to more than it allows. That is allowed: its own limit still holds. */
export function overbookedIn(budget: Budget, children: readonly Budget[]): readonly Overbooked[] {
  return budget.limits.flatMap((limit) => {
    if (limit.max_amount === null) return []
    const sum = sumOf(children.flatMap((child) => maxOver(child, limit) ?? []))
    return (readMicro(sum) ?? 0n) > (readMicro(limit.max_amount) ?? 0n) ? [{ limit, sum }] : []
  })
}

/** What a budget allows over the window of a limit: the lowest of its max amounts. */
function maxOver({ limits }: Budget, { window }: Limit): string | undefined {
  const maxes = limits.flatMap(({ window: own, max_amount }) =>
    max_amount !== null && JSON.stringify(own) === JSON.stringify(window) ? [max_amount] : [],
  )
  return maxes.toSorted((one, other) => ((readMicro(one) ?? 0n) < (readMicro(other) ?? 0n) ? -1 : 1))[0]
}

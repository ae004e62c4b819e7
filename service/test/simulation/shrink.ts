import { findComplaints } from '../faults/checker.ts'
import type { Evidence } from '../faults/history.ts'
import { simulate, type SimulationOptions } from './simulation.ts'

export interface FailingHistory {
  readonly options: SimulationOptions
  readonly evidence: Evidence
}

/** How many other seeds are tried with each size: the same seed gives another history when there are fewer clients. */
const seedsOfSize = 20

/**
 * The shortest failing history that is found, starting from one that fails: with fewer clients, for a shorter time, with fewer
 * faults, and by other seeds.
 */
export async function shrink(
  options: SimulationOptions,
  { maxMs = 30_000 }: { readonly maxMs?: number } = {},
): Promise<FailingHistory> {
  const untilMs = performance.now() + maxMs
  let shortest: FailingHistory = { options, evidence: await simulate(options) }
  for (const openMs of [500, 1_000, 2_000, 5_000, 10_000, 20_000]) {
    for (const buyers of [1, 2, 3]) {
      for (const faultPercent of [0, options.faultPercent ?? 10]) {
        for (let other = 0; other < seedsOfSize; other++) {
          if (performance.now() > untilMs) return shortest
          const size = { openMs, minCalls: 0, buyers, owners: 1, teams: 1, faultPercent }
          const smaller = { ...options, ...size, seed: options.seed + other }
          const evidence = await simulate(smaller)
          const isShorter = evidence.calls.length < shortest.evidence.calls.length
          if (isShorter && findComplaints(evidence).length > 0) shortest = { options: smaller, evidence }
        }
      }
    }
    if (shortest.options !== options) return shortest
  }
  return shortest
}

import { findComplaints } from '../faults/checker.ts'
import { simulate, type SimulatedHistory, type SimulationOptions } from './simulation.ts'

export interface FailingHistory {
  readonly options: SimulationOptions
  readonly evidence: SimulatedHistory
}

/** How many other seeds are tried per size: with fewer clients, the same seed gives a different history. */
const seedsOfSize = 20

/**
 * The shortest failing history found, starting from a failing one: with fewer clients, a shorter duration,
 * fewer faults, and other seeds.
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
          const size = { openMs, minOperations: 0, buyers, owners: 1, teams: 1, faultPercent }
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

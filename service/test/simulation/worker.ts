import { parentPort, workerData } from 'node:worker_threads'

import { findComplaints } from '../faults/checker.ts'
import { simulate, type SimulationOptions } from './simulation.ts'

/** The seeds of a worker: every `step`th from `from` to below `until`. */
export interface Share {
  readonly from: number
  readonly until: number
  readonly step: number
  readonly options: Omit<SimulationOptions, 'seed'>
}

/** A worker's reports, during its run and at its end. */
export interface Progress {
  readonly histories: number
  readonly operations: number
  readonly failedSeed: number | undefined
}

// Most errors of a simulation are intended, and their stacks cost more than they are worth.
Error.stackTraceLimit = 0
const { from, until, step, options } = workerData as Share
const reportEveryMs = 1_000
let histories = 0
let operations = 0
let reportedAtMs = performance.now()
for (let seed = from; seed < until; seed += step) {
  const evidence = await simulate({ ...options, seed })
  histories += 1
  operations += evidence.operations
  if (findComplaints(evidence).length > 0) report(seed)
  if (performance.now() - reportedAtMs > reportEveryMs) report()
}
report()

function report(failedSeed?: number): void {
  parentPort?.postMessage({ histories, operations, failedSeed } satisfies Progress)
  histories = 0
  operations = 0
  reportedAtMs = performance.now()
}

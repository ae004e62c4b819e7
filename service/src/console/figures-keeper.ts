import { activityChecks, activityIntervalMs, manyPaymentsLength, talliesIntervalMs } from '../limits.ts'
import { startRepeating, type Repeating, type RepeatingOptions } from '../background/repeating.ts'
import type { Tallies } from '../store/console/store.ts'
import type { Store } from '../store/store.ts'
import type { MemoryTally } from './tally.ts'

export interface FiguresKeeperOptions extends Pick<RepeatingOptions, 'observer'> {
  readonly store: Pick<Store, 'addUpActivity' | 'addTallies'>
  readonly tally: MemoryTally
}

/** Updates the console's sums after the payments, in bounded steps. */
export function startFiguresKeeper({ store, tally, observer }: FiguresKeeperOptions): Repeating {
  let checks = 0
  const adding = startRepeating({
    what: "the console's figures could not be updated",
    intervalMs: activityIntervalMs,
    observer,
    work: () => store.addUpActivity(checks++ % activityChecks === 0 ? 0 : manyPaymentsLength),
  })
  const writeTallies = async () => {
    for (const tallies of inSteps(tally.take())) await store.addTallies(tallies)
  }
  const what = "the console's counters could not be saved"
  const writing = startRepeating({ what, intervalMs: talliesIntervalMs, observer, work: writeTallies })
  return {
    stop: async () => {
      await Promise.all([adding.stop(), writing.stop()])
      // Save the counters; a graceful shutdown loses none.
      await writeTallies().catch((error: unknown) => observer.failed(what, error))
    },
  }
}

/** Max counters per transaction, so that payments never wait long for it. */
const countersInOneStep = 500

function* inSteps({ refusals, keyUses }: Tallies = { refusals: [], keyUses: [] }): Generator<Tallies> {
  for (let start = 0; start < Math.max(refusals.length, keyUses.length); start += countersInOneStep) {
    const end = start + countersInOneStep
    yield { refusals: refusals.slice(start, end), keyUses: keyUses.slice(start, end) }
  }
}

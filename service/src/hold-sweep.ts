import { setTimeout as sleep } from 'node:timers/promises'

import { sweepIntervalMs, sweepMandates } from './limits.ts'
import type { Store } from './store/store.ts'

export interface HoldSweepOptions {
  readonly store: Store
  readonly now: () => number
  /** Is told when a sweep fails; the next one tries again. */
  readonly onFailure: (error: unknown) => void
}

/** Gives the amounts of expired holds back, a bounded number at a time, until it is stopped. */
export function startHoldSweep({ store, now, onFailure }: HoldSweepOptions): { stop: () => Promise<void> } {
  const stopped = new AbortController()

  async function sweepUntilStopped(): Promise<void> {
    while (!stopped.signal.aborted) {
      await store.releaseExpiredHolds(now(), sweepMandates).catch(onFailure)
      await sleep(sweepIntervalMs, undefined, { signal: stopped.signal, ref: false }).catch(() => undefined)
    }
  }

  const sweeping = sweepUntilStopped()
  return {
    stop: () => {
      stopped.abort()
      return sweeping
    },
  }
}

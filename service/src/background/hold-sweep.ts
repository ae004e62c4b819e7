import { sweepIntervalMs, sweepMandates } from '../limits.ts'
import { startRepeating, type Repeating, type RepeatingOptions } from './repeating.ts'
import type { Store } from '../store/store.ts'

export interface HoldSweepOptions extends Pick<RepeatingOptions, 'observer'> {
  readonly store: Store
  readonly now: () => number
}

/** Releases the amounts of expired holds in bounded steps, until it is stopped. */
export function startHoldSweep({ store, now, observer }: HoldSweepOptions): Repeating {
  return startRepeating({
    intervalMs: sweepIntervalMs,
    what: 'expired holds could not be released',
    observer,
    work: () => store.releaseExpiredHolds(now(), sweepMandates),
  })
}

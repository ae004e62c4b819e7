import { stopIntervalMs } from '../limits.ts'
import type { Store } from '../store/store.ts'
import { startRepeating, type Repeating, type RepeatingOptions } from './repeating.ts'

export interface StopContinuationOptions extends Pick<RepeatingOptions, 'observer'> {
  readonly store: Pick<Store, 'continueStops'>
  readonly now: () => number
}

/** Continues stops that could not pause every mandate, until it is stopped. */
export function startStopContinuation({ store, now, observer }: StopContinuationOptions): Repeating {
  return startRepeating({
    intervalMs: stopIntervalMs,
    what: 'incomplete stops could not be continued',
    observer,
    work: () => store.continueStops(now),
  })
}

import { advanceTestClock, getTestClock, type TestClock } from '@purser/wire/limits/test-clock'

import { ok, refuse } from '../http/answers.ts'
import type { Serve } from '../http/serve.ts'
import { eventBy, toTimestamp, type RouteContext } from './context.ts'

/** The clock of a sandbox. */
export function serveTestClock(
  serve: Serve,
  { store, now, ids }: Pick<RouteContext, 'store' | 'now' | 'ids'>,
): void {
  serve(getTestClock, async ({ caller }) => {
    if (caller.environment !== 'sandbox') return refuse('sandbox_only')
    return ok(toWire(await store.readClock(caller)))
  })

  serve(advanceTestClock, async ({ caller, body }) => {
    if (caller.environment !== 'sandbox') return refuse('sandbox_only')
    const event = eventBy({ ids, now }, caller, 'test_clock.advanced', caller.accountId)
    const outcome = await store.advanceClock(caller, body.seconds * 1_000, event)
    return outcome.outcome === 'advanced' ? ok(toWire(outcome.offsetMs)) : refuse(outcome.code)
  })

  function toWire(offsetMs: number): TestClock {
    return { now: toTimestamp(now() + offsetMs), offset_seconds: offsetMs / 1_000 }
  }
}

import type { CallOptions } from '../options.ts'
import type { Send } from '../send.ts'
import type { TestClock as Clock } from '../wire-types.ts'

export type TestClock = ReturnType<typeof testClock>

export function testClock(send: Send) {
  return {
    /**
     * The clock of the account's sandbox. Throws a `BadRequestError` with the code `sandbox_only` for a production
     * key.
     *
     * @example
     * const { now, offset_seconds } = await purser.testClock.get()
     */
    get: async (options?: CallOptions): Promise<Clock> =>
      (await send({ method: 'GET', path: '/v1/test-clock' }, options)).body as Clock,
    /**
     * Advances the clock of the account's sandbox, so that a month can be tried in a second. It never goes back. Sent once.
     * Throws a `BadRequestError` with the code `sandbox_only`, or a `ConflictError` with `test_clock_too_far`.
     *
     * @example
     * await purser.testClock.advance(24 * 3_600) // a daily limit starts again
     */
    advance: async (seconds: number, options?: CallOptions): Promise<Clock> =>
      (await send({ method: 'POST', path: '/v1/test-clock/advance', body: { seconds } }, options))
        .body as Clock,
  }
}

import type { CallOptions } from '../options.ts'
import type { Send } from '../send.ts'

export type Health = ReturnType<typeof health>

export interface HealthReport {
  readonly status: 'ok'
}

export function health(send: Send) {
  return {
    /**
     * Liveness: the process answers. Needs no key. Throws a `ConnectionError` if it does not.
     *
     * @example
     * const { status } = await new Purser({ apiKey: null }).health.live() // 'ok'
     */
    live: async (options?: CallOptions): Promise<HealthReport> =>
      (await send({ method: 'GET', path: '/healthz' }, options)).body as HealthReport,
    /**
     * Readiness: the store answers too. Needs no key. Throws an `UnavailableError` if it does not.
     *
     * @example
     * const { status } = await new Purser({ apiKey: null }).health.ready() // 'ok'
     */
    ready: async (options?: CallOptions): Promise<HealthReport> =>
      (await send({ method: 'GET', path: '/readyz' }, options)).body as HealthReport,
  }
}

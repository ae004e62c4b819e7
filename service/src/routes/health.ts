import { healthz, readyz } from '@purser/wire/health'

import { ok, refuse } from '../http/answers.ts'
import { shared } from '../http/maybe-promise.ts'
import type { Serve } from '../http/serve.ts'
import { withinTimeLimit } from '../http/time-limit.ts'
import { readyTimeoutMs } from '../limits.ts'
import type { RouteContext } from './context.ts'

export interface HealthContext extends Pick<RouteContext, 'store'> {
  /** Whether the service is about to stop; default never. */
  readonly isDraining?: (() => boolean) | undefined
}

export function serveHealth(serve: Serve, { store, isDraining }: HealthContext): void {
  // A probe needs a quick answer, before the store's own timeout.
  const checkReady = shared(() => withinTimeLimit(store.checkReady(), readyTimeoutMs))

  serve(healthz, async () => ok({ status: 'ok' }))

  serve(readyz, async () => {
    if (isDraining?.() === true) return refuse('shutting_down')
    await checkReady()
    return ok({ status: 'ok' })
  })
}

import { healthz, readyz } from '@purser/wire/health'

import { ok, refuse } from '../http/answers.ts'
import type { Serve } from '../http/serve.ts'
import { withinTimeLimit } from '../http/time-limit.ts'
import { readyTimeoutMs } from '../limits.ts'
import type { RouteContext } from './context.ts'

export interface HealthContext extends Pick<RouteContext, 'store'> {
  /** Whether the service is about to stop; default never. */
  readonly isDraining?: (() => boolean) | undefined
}

export function serveHealth(serve: Serve, { store, isDraining }: HealthContext): void {
  let checking: Promise<void> | undefined

  /** Requests at the same time share one check of the store. */
  function checkReady(): Promise<void> {
    // A probe needs a quick answer, before the store's own timeout.
    checking ??= withinTimeLimit(store.checkReady(), readyTimeoutMs).finally(() => (checking = undefined))
    return checking
  }

  serve(healthz, async () => ok({ status: 'ok' }))

  serve(readyz, async () => {
    if (isDraining?.() === true) return refuse('shutting_down')
    await checkReady()
    return ok({ status: 'ok' })
  })
}

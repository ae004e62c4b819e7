import { healthz, readyz } from '@purser/wire/health'

import { ok, refuse } from '../http/answers.ts'
import type { Serve } from '../http/serve.ts'
import { withinTimeLimit } from '../http/time-limit.ts'
import { readyTimeoutMs } from '../limits.ts'
import type { RouteContext } from './context.ts'

export interface HealthContext extends Pick<RouteContext, 'store'> {
  /** Whether the service is about to stop; it never is when left out. */
  readonly isDraining?: (() => boolean) | undefined
}

export function serveHealth(serve: Serve, { store, isDraining }: HealthContext): void {
  serve(healthz, async () => ok({ status: 'ok' }))

  serve(readyz, async () => {
    if (isDraining?.() === true) return refuse('shutting_down')
    // Who asks this wants to know now, not when the store's own patience is over.
    await withinTimeLimit(store.checkReady(), readyTimeoutMs)
    return ok({ status: 'ok' })
  })
}

import { healthz, readyz } from '@purser/wire/health'

import { ok } from '../http/answers.ts'
import type { Serve } from '../http/serve.ts'
import { withinTimeLimit } from '../http/time-limit.ts'
import { readyTimeoutMs } from '../limits.ts'
import type { RouteContext } from './context.ts'

export function serveHealth(serve: Serve, { store }: Pick<RouteContext, 'store'>): void {
  serve(healthz, async () => ok({ status: 'ok' }))

  serve(readyz, async () => {
    // Who asks this wants to know now, not when the store's own patience is over.
    await withinTimeLimit(store.checkReady(), readyTimeoutMs)
    return ok({ status: 'ok' })
  })
}

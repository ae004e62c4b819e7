import { healthz, readyz } from '@purser/wire/health'

import { ok } from '../http/answers.ts'
import type { Serve } from '../http/serve.ts'
import type { RouteContext } from './context.ts'

export function serveHealth(serve: Serve, { store }: Pick<RouteContext, 'store'>): void {
  serve(healthz, async () => ok({ status: 'ok' }))

  serve(readyz, async () => {
    await store.checkReady()
    return ok({ status: 'ok' })
  })
}

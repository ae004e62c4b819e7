import { setTimeout as sleep } from 'node:timers/promises'

import { healthz, readyz } from '@purser/wire/health'

import { ok } from '../http/answers.ts'
import type { Serve } from '../http/serve.ts'
import { readyTimeoutMs } from '../limits.ts'
import { StoreUnavailableError } from '../store/store.ts'
import type { RouteContext } from './context.ts'

export function serveHealth(serve: Serve, { store }: Pick<RouteContext, 'store'>): void {
  serve(healthz, async () => ok({ status: 'ok' }))

  serve(readyz, async () => {
    await withinLimit(store.checkReady())
    return ok({ status: 'ok' })
  })
}

/** Who asks whether the store answers wants to know now, not when the store's own patience is over. */
async function withinLimit(check: Promise<void>): Promise<void> {
  const answered = new AbortController()
  const limit = sleep(readyTimeoutMs, 'late', { signal: answered.signal }).catch(() => 'late')
  try {
    if ((await Promise.race([check, limit])) !== 'late') return
  } finally {
    answered.abort()
  }
  throw new StoreUnavailableError(`the store did not answer within ${readyTimeoutMs} ms`, {
    retryAfterSeconds: 1,
  })
}

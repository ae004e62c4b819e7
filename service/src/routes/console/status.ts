import { getConsoleStatus } from '@purser/wire/console/status'

import { ok } from '../../http/answers.ts'
import type { Serve } from '../../http/serve.ts'
import { toTimestamp, type RouteContext } from '../context.ts'

export function serveConsoleStatus(serve: Serve, { store, now }: Pick<RouteContext, 'store' | 'now'>): void {
  serve(
    getConsoleStatus,
    async ({ caller }) => {
      const stopped_mandates = await store.countStoppedMandates(caller)
      return ok({ at: toTimestamp(now()), stopped_mandates }, { 'cache-control': 'no-store' })
    },
    { isPolled: true },
  )
}

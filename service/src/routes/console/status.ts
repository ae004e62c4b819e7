import { getConsoleStatus } from '@purser/wire/console/status'

import { timeIn } from '../../domain/time/test-clock.ts'
import { ok } from '../../http/answers.ts'
import type { Serve } from '../../http/serve.ts'
import { toTimestamp, type RouteContext } from '../context.ts'

export function serveConsoleStatus(serve: Serve, { store, now }: Pick<RouteContext, 'store' | 'now'>): void {
  serve(
    getConsoleStatus,
    async ({ caller }) => {
      const nowMs = timeIn(caller, now)
      const [{ stoppedMandates, stopNumber }, pending_approvals] = await Promise.all([
        store.readStopped(caller),
        store.countPendingApprovals(caller, nowMs),
      ])
      return ok({
        at: toTimestamp(nowMs),
        clock_offset_seconds: (caller.clockOffsetMs ?? 0) / 1_000,
        stopped_mandates: stoppedMandates,
        stop_number: stopNumber,
        pending_approvals,
      })
    },
    { isPolled: true },
  )
}

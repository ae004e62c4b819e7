import { getSystem } from '@purser/wire/console/system'
import { interfaceVersion } from '@purser/wire/openapi'

import { ok } from '../../http/answers.ts'
import type { Serve } from '../../http/serve.ts'
import { toTimestamp, type RouteContext } from '../context.ts'

/** The state of the service. */
export interface SystemContext {
  readonly version: string
  readonly workers: number
  /** The location of the ledger, for display. */
  readonly place: string
  /** The disk space of the ledger; null if it is on a server. */
  readonly readDisk: () => Promise<{ readonly freeBytes: number; readonly totalBytes: number } | null>
}

export function serveConsoleSystem(
  serve: Serve,
  { store, now }: Pick<RouteContext, 'store' | 'now'>,
  { system, feeds }: { readonly system: SystemContext; readonly feeds: { readonly open: number } },
): void {
  const startedAtMs = now()

  serve(getSystem, async () => {
    const [figures, disk] = await Promise.all([store.readFigures(), system.readDisk()])
    const sortedMs = figures.commitMs.toSorted((left, right) => left - right)
    return ok({
      version: system.version,
      interface_version: interfaceVersion,
      node_version: process.version,
      started_at: toTimestamp(startedAtMs),
      uptime_seconds: Math.floor((now() - startedAtMs) / 1_000),
      workers: system.workers,
      store: { kind: figures.kind, place: system.place, schema_version: figures.schemaVersion },
      queue: { waiting: figures.waiting, most: figures.maxWaiting },
      commit: {
        count: figures.commits,
        p50_ms: percentile(sortedMs, 0.5),
        p99_ms: percentile(sortedMs, 0.99),
      },
      disk: {
        ledger_bytes: figures.ledgerBytes,
        free_bytes: disk?.freeBytes ?? null,
        total_bytes: disk?.totalBytes ?? null,
      },
      memory_bytes: process.memoryUsage.rss(),
      open_feeds: feeds.open,
    })
  })
}

/** A percentile of sorted values, rounded to a hundredth; null if there are none. */
function percentile(sorted: readonly number[], part: number): number | null {
  const value = sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)]
  return value === undefined ? null : Math.round(value * 100) / 100
}

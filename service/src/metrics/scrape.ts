import { shared } from '../http/maybe-promise.ts'
import { inOrder, single } from './catalogue.ts'
import { writeExposition } from './exposition.ts'
import type { Family } from './families.ts'
import type { ServiceMetrics } from './service-metrics.ts'

/** The text of `GET /metrics`. Concurrent requests share one scrape. */
export type Scrape = () => Promise<string>

/** The scrape of a single-process service. */
export function scrapeOfOne(metrics: ServiceMetrics): Scrape {
  return shared(async () => {
    const families = await metrics.families({ readsLedger: true })
    return writeScrape([...families, ...workerFamilies({ expected: 1, scraped: 1, ended: 0 })])
  })
}

/** Metrics in catalogue order, as text. */
export function writeScrape(families: readonly Family[]): string {
  return writeExposition(inOrder(families))
}

/** The processes included in a scrape. */
export function workerFamilies(counts: {
  readonly expected: number
  readonly scraped: number
  readonly ended: number
}): Family[] {
  return [
    single('purser_workers', counts.expected),
    single('purser_workers_scraped', counts.scraped),
    single('purser_worker_ends_total', counts.ended),
  ]
}

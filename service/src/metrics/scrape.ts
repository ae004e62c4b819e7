import { inOrder, single } from './catalogue.ts'
import { writeExposition } from './exposition.ts'
import type { Family } from './families.ts'
import type { ServiceMetrics } from './service-metrics.ts'

/** The text of `GET /metrics`. Whoever asks while it is being made gets the same. */
export type Scrape = () => Promise<string>

/** The scrape of a service that is one process. */
export function scrapeOfOne(metrics: ServiceMetrics): Scrape {
  return shared(async () => {
    const families = await metrics.families({ readsLedger: true })
    return writeScrape([...families, ...workerFamilies({ expected: 1, scraped: 1, ended: 0 })])
  })
}

/** Metrics in their order, as text. */
export function writeScrape(families: readonly Family[]): string {
  return writeExposition(inOrder(families))
}

/** What a scrape says of the processes that it comes from. */
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

/** Does a piece of work for all who ask while it is done. */
export function shared<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let underWay: Promise<Result> | undefined
  return () => (underWay ??= work().finally(() => (underWay = undefined)))
}

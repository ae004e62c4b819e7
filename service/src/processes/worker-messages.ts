import type { Config } from '../settings/config.ts'
import type { MintedKeys } from '../start/first-start.ts'
import type { Family } from '../metrics/families.ts'

/** What the primary tells a worker. */
export type ToWorker =
  | { readonly kind: 'start'; readonly config: Config; readonly calledAs: string }
  | { readonly kind: 'stop'; readonly drainMs: number }
  /** Asks for its metrics. */
  | { readonly kind: 'read_metrics'; readonly scrapeId: number; readonly readsLedger: boolean }
  /** The metrics of all workers, as text; undefined when they could not be read. */
  | { readonly kind: 'scraped'; readonly text: string | undefined }

/** What a worker tells the primary about metrics. */
export type MetricsFromWorker =
  | { readonly kind: 'metrics'; readonly scrapeId: number; readonly families: Family[] }
  /** Asks for the metrics of all workers. */
  | { readonly kind: 'scrape' }

/** What a worker tells the primary of its start: that it answers, or why it cannot, in one sentence. */
export type FromStart =
  | {
      readonly kind: 'ready'
      readonly url: string
      readonly minted: MintedKeys | undefined
      readonly metricsUrl: string | undefined
    }
  | { readonly kind: 'failed'; readonly message: string }

export type FromWorker = FromStart | MetricsFromWorker

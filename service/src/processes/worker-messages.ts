import type { Config } from '../settings/config.ts'
import type { MintedKeys } from '../start/first-start.ts'
import type { Family } from '../metrics/families.ts'

/** Messages from the primary to a worker. */
export type ToWorker =
  | { readonly kind: 'start'; readonly config: Config; readonly calledAs: string }
  | { readonly kind: 'stop'; readonly drainMs: number }
  /** Requests its metrics. */
  | { readonly kind: 'read_metrics'; readonly scrapeId: number; readonly readsLedger: boolean }
  /** The metrics of all workers, as text; undefined if they could not be read. */
  | { readonly kind: 'scraped'; readonly text: string | undefined }

/** A worker's messages about metrics. */
export type MetricsFromWorker =
  | { readonly kind: 'metrics'; readonly scrapeId: number; readonly families: Family[] }
  /** Requests the metrics of all workers. */
  | { readonly kind: 'scrape' }

/** A worker's start message: that it is ready, or why it cannot start, in one sentence. */
export type FromStart =
  | {
      readonly kind: 'ready'
      readonly url: string
      readonly minted: MintedKeys | undefined
      readonly metricsUrl: string | undefined
    }
  | { readonly kind: 'failed'; readonly message: string }

export type FromWorker = FromStart | MetricsFromWorker

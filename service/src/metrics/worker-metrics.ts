import { setTimeout as sleep } from 'node:timers/promises'

import { shared } from '../http/maybe-promise.ts'
import { addUp, countedBy, heldBy, type Family } from './families.ts'
import { workerFamilies, writeScrape, type Scrape } from './scrape.ts'

export interface WorkerMetricsOptions {
  /** Expected number of workers. */
  readonly expected: number
  /** Timeout for a worker. */
  readonly timeoutMs: number
}

/** Requests the metrics of one worker, which arrive with `received`. */
type Ask = (question: { readonly scrapeId: number; readonly readsLedger: boolean }) => void

interface ScrapedWorker {
  readonly ask: Ask
  /** Its last metrics. */
  latest: Family[]
}

/**
 * The metrics of all workers, aggregated by the primary. The last counters of a worker that does not answer in time,
 * or that has exited, are included, so that sums never fall: a fall would look like a restart, and earlier counts
 * like new requests.
 */
export class WorkerMetrics {
  readonly #options: WorkerMetricsOptions
  readonly #workers = new Map<number, ScrapedWorker>()
  /** Workers that a scrape is waiting for. */
  readonly #awaited = new Map<number, () => void>()
  #scrapeId = 0
  #ledgerReader: number | undefined
  #isReaderSilent = false
  #leftOfEnded: Family[] = []
  #ended = 0

  readonly scrape: Scrape = shared(() => this.#scrape())

  constructor(options: WorkerMetricsOptions) {
    this.#options = options
  }

  /** Call this when a worker is ready. */
  add(workerId: number, ask: Ask): void {
    this.#workers.set(workerId, { ask, latest: [] })
  }

  received(workerId: number, { scrapeId, families }: { scrapeId: number; families: Family[] }): void {
    const worker = this.#workers.get(workerId)
    if (!worker) return
    worker.latest = families
    if (scrapeId === this.#scrapeId) this.#answered(workerId)
  }

  ended(workerId: number): void {
    const worker = this.#workers.get(workerId)
    if (!worker) return
    this.#workers.delete(workerId)
    this.#ended += 1
    this.#leftOfEnded = addUp([this.#leftOfEnded, countedBy(worker.latest)])
    this.#answered(workerId)
  }

  #answered(workerId: number): void {
    this.#awaited.get(workerId)?.()
    this.#awaited.delete(workerId)
  }

  async #scrape(): Promise<string> {
    const asked = [...this.#workers]
    this.#scrapeId += 1
    this.#awaited.clear()
    const reader = this.#chooseLedgerReader()
    const answers = asked.map(
      ([workerId, { ask }]) =>
        new Promise<void>((resolve) => {
          this.#awaited.set(workerId, resolve)
          ask({ scrapeId: this.#scrapeId, readsLedger: workerId === reader })
        }),
    )
    const answered = new AbortController()
    const patience = sleep(this.#options.timeoutMs, undefined, { signal: answered.signal })
    await Promise.race([Promise.all(answers), patience.catch(() => undefined)])
    answered.abort()
    // The next scrape asks another worker for the ledger figures.
    this.#isReaderSilent = reader !== undefined && this.#awaited.has(reader)
    const families = [...this.#workers].map(([workerId, { latest }]) =>
      this.#awaited.has(workerId) ? heldBy(latest) : latest,
    )
    const scraped = asked.filter(([workerId]) => this.#workers.has(workerId) && !this.#awaited.has(workerId))
    const workers = workerFamilies({
      expected: this.#options.expected,
      scraped: scraped.length,
      ended: this.#ended,
    })
    return writeScrape([...addUp([this.#leftOfEnded, ...families]), ...workers])
  }

  /** The worker that last read the ledger figures, while it answers; otherwise the next one. */
  #chooseLedgerReader(): number | undefined {
    const ids = [...this.#workers.keys()]
    const known = ids.indexOf(this.#ledgerReader ?? -1)
    if (known === -1 || this.#isReaderSilent) this.#ledgerReader = ids[(known + 1) % Math.max(1, ids.length)]
    this.#isReaderSilent = false
    return this.#ledgerReader
  }
}

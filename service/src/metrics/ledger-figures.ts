import { setTimeout as sleep } from 'node:timers/promises'

import type { SystemContext } from '../routes/console/system.ts'
import type { Store } from '../store/store.ts'
import { single } from './catalogue.ts'
import type { Family } from './families.ts'

export interface LedgerFiguresOptions {
  readonly store: Pick<Store, 'readOpenHolds' | 'readFigures'>
  readonly readDisk: SystemContext['readDisk']
  readonly now: () => number
  /** The figures are read no more often. */
  readonly intervalMs: number
  /** How long a scrape waits for figures that are being read; then it has those that were read before. */
  readonly patienceMs: number
}

/** A reading takes at most this part of the time, however long it takes. */
const restPerReading = 20

/**
 * Figures that cost a look at the whole ledger. They are read when somebody asks, at intervals, on the connection that the
 * console reads on, so no payment waits for them.
 */
export class LedgerFigures {
  readonly #options: LedgerFiguresOptions
  #latest: Family[] = []
  #reading: Promise<void> | undefined
  /** On the clock of `performance.now()`. */
  #nextAtMs = 0

  constructor(options: LedgerFiguresOptions) {
    this.#options = options
  }

  async families(): Promise<Family[]> {
    if (performance.now() >= this.#nextAtMs) this.#reading ??= this.#read()
    if (this.#reading) await Promise.race([this.#reading, sleep(this.#options.patienceMs)])
    return this.#latest
  }

  async #read(): Promise<void> {
    const { store, readDisk, now, intervalMs } = this.#options
    const startedAtMs = performance.now()
    try {
      const [holds, figures, disk] = await Promise.all([
        store.readOpenHolds(),
        store.readFigures(),
        readDisk(),
      ])
      const nowMs = now()
      this.#latest = [
        single('purser_open_holds', holds.count),
        single('purser_sweep_lag_seconds', Math.max(0, nowMs - (holds.firstExpiresAtMs ?? nowMs)) / 1_000),
        single('purser_store_size_bytes', figures.ledgerBytes),
        ...(disk ? [single('purser_store_disk_free_bytes', disk.freeBytes)] : []),
        single('purser_ledger_read_timestamp_seconds', nowMs / 1_000),
      ]
    } catch {
      // The store is unavailable, or too slow: `purser_ledger_read_timestamp_seconds` says how old the figures are.
    } finally {
      const tookMs = performance.now() - startedAtMs
      this.#nextAtMs = performance.now() + Math.max(intervalMs, tookMs * restPerReading)
      this.#reading = undefined
    }
  }
}

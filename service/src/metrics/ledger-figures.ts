import { setTimeout as sleep } from 'node:timers/promises'

import type { SystemContext } from '../routes/console/system.ts'
import type { Store } from '../store/store.ts'
import { single } from './catalogue.ts'
import type { Family } from './families.ts'

export interface LedgerFiguresOptions {
  readonly store: Pick<Store, 'readOpenHolds' | 'readFigures'>
  readonly readDisk: SystemContext['readDisk']
  readonly now: () => number
  /** Min interval between reads of the figures. */
  readonly intervalMs: number
  /** How long a scrape waits for fresh figures, before it uses the previous ones. */
  readonly patienceMs: number
}

/** Max share of time spent on reading figures. */
const restPerReading = 20

/**
 * Figures that need a scan of the whole ledger. They are read on demand, at most at an interval, on the
 * console's connection, so that no payment waits for them.
 */
export class LedgerFigures {
  readonly #options: LedgerFiguresOptions
  #latest: Family[] = []
  #reading: Promise<void> | undefined
  /** By `performance.now()`. */
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

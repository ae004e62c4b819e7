import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

import Database from 'better-sqlite3'

import { logPages } from './open.ts'

/** How often new content of the log is copied into the database file. */
const intervalMs = 100

/**
 * When the thread starts. Until then the log is far from its preallocated length, and a ledger that is open for a
 * moment only, as for a command or a test, needs no thread.
 */
const startDelayMs = 1_000

/** From this length on the log counts as long, well before it outgrows its preallocated length. */
const longLogPages = logPages / 2

/** The result of the pragma: the pages in the log, and how many of them are copied. */
interface CheckpointRow {
  readonly log: number
  readonly checkpointed: number
}

/**
 * Copies the pages of the write-ahead log into the database file from a separate thread, so that no payment
 * waits for it. Calls `onLongLog` when the log is long, and all but its latest pages are copied: the writer should copy
 * those then, since SQLite restarts the log once nothing is left in it.
 */
export function startCheckpoints(path: string, onLongLog: () => void): { stop: () => Promise<void> } {
  let worker: Worker | undefined
  const timer = setTimeout(() => {
    worker = new Worker(new URL(import.meta.url), { workerData: path })
    worker.on('message', onLongLog)
    worker.unref()
    // Without the thread the log is still copied, but payments wait.
    worker.on('error', () => undefined)
  }, startDelayMs).unref()
  return {
    stop: async () => {
      clearTimeout(timer)
      if (!worker || worker.threadId === -1) return
      const ended = new Promise((resolve) => worker?.once('exit', resolve))
      worker.ref()
      worker.postMessage('stop')
      await ended
    },
  }
}

if (!isMainThread && typeof workerData === 'string') {
  const database = new Database(workerData, { timeout: 0 })
  let last = 0
  const timer = setInterval(() => {
    const [{ log, checkpointed }] = database.pragma('wal_checkpoint(passive)') as [CheckpointRow]
    if (log !== last && log === checkpointed && log >= longLogPages) parentPort?.postMessage('long')
    last = log
  }, intervalMs)
  parentPort?.once('message', () => {
    clearInterval(timer)
    database.close()
  })
}

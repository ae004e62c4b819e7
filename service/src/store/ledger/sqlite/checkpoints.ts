import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

import Database from 'better-sqlite3'

import { logPages } from './open.ts'

/** How often what is new in the log is copied into the database file. */
const intervalMs = 100

/** From here on the log is long: well before it outgrows the length that it was given. */
const longLogPages = logPages / 2

/** What the pragma answers: how many pages the log has, and how many of them are copied. */
interface CheckpointRow {
  readonly log: number
  readonly checkpointed: number
}

const noPages: CheckpointRow = { log: 0, checkpointed: 0 }

interface Options {
  /**
   * The log is long, and all but its latest pages are copied. Who writes should copy those now: SQLite
   * begins the log anew when nothing is left in it.
   */
  readonly onLongLog: () => void
}

/**
 * Copies the pages of the write-ahead log into the database file from a thread of its own, so that no
 * payment waits for it.
 */
export function startCheckpoints(path: string, { onLongLog }: Options): { stop: () => Promise<void> } {
  const worker = new Worker(new URL(import.meta.url), { workerData: path })
  const ended = new Promise((resolve) => worker.once('exit', resolve))
  worker.on('message', onLongLog)
  worker.unref()
  // Without the thread the log is copied all the same, only while payments wait.
  worker.on('error', () => undefined)
  return {
    stop: async () => {
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
    const [{ log, checkpointed } = noPages] = database.pragma('wal_checkpoint(passive)') as CheckpointRow[]
    if (log !== last && log === checkpointed && log >= longLogPages) parentPort?.postMessage('long')
    last = log
  }, intervalMs)
  parentPort?.once('message', () => {
    clearInterval(timer)
    database.close()
  })
}

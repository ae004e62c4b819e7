import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

import Database from 'better-sqlite3'

/** How long the log may grow before its pages are copied into the database file. */
const intervalMs = 50

/**
 * Copies the pages of the write-ahead log into the database file from a thread of its own, so that no
 * payment waits for it. SQLite copies the little that is left, and starts the log anew, when the log
 * reaches its limit.
 */
export function startCheckpoints(path: string): { stop: () => Promise<void> } {
  const worker = new Worker(new URL(import.meta.url), { workerData: path })
  const ended = new Promise((resolve) => worker.once('exit', resolve))
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
  const timer = setInterval(() => database.pragma('wal_checkpoint(passive)'), intervalMs)
  parentPort?.once('message', () => {
    clearInterval(timer)
    database.close()
  })
}

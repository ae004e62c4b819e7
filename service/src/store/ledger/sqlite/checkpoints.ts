import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

import Database from 'better-sqlite3'

import { extendLog, logPages } from './open.ts'

/** How soon after a commit the new content of the log is copied into the database file. */
const delayMs = 100

/**
 * From this commit on, the log is preallocated, and a thread copies it. A ledger that writes less, as for a command or a test,
 * needs neither.
 */
const firstCommitCopied = 200

/** From this length on the log counts as long, well before it outgrows its preallocated length. */
const longLogPages = logPages / 2

/** The result of the pragma: the pages in the log, and how many of them are copied. */
interface CheckpointRow {
  readonly log: number
  readonly checkpointed: number
}

/**
 * Copies the pages of the write-ahead log into the database file from a separate thread, so that no payment waits for it.
 * An idle ledger causes no work.
 */
export class Checkpoints {
  readonly #path: string
  readonly #onLongLog: () => void
  #commits = 0
  #timer: NodeJS.Timeout | undefined
  #worker: Worker | undefined

  /**
   * `onLongLog` is called when the log is long, and all but its latest pages are copied: the writer should copy those then,
   * since SQLite restarts the log once nothing is left in it.
   */
  constructor(path: string, onLongLog: () => void) {
    this.#path = path
    this.#onLongLog = onLongLog
  }

  /** Call this in the thread that writes, after each commit. */
  committed(): void {
    if (++this.#commits < firstCommitCopied) return
    this.#timer ??= setTimeout(() => this.#copy(), delayMs).unref()
  }

  #copy(): void {
    this.#timer = undefined
    this.#worker ??= this.#start()
    this.#worker.postMessage('copy' satisfies Message)
  }

  #start(): Worker {
    extendLog(this.#path)
    const worker = new Worker(new URL(import.meta.url), { workerData: this.#path })
    worker.on('message', this.#onLongLog)
    // Without the thread the log is still copied, but payments wait.
    worker.on('error', () => undefined)
    worker.unref()
    return worker
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer)
    const worker = this.#worker
    if (!worker || worker.threadId === -1) return
    const ended = new Promise((resolve) => worker.once('exit', resolve))
    worker.ref()
    worker.postMessage('stop' satisfies Message)
    await ended
  }
}

type Message = 'copy' | 'stop'

if (!isMainThread && typeof workerData === 'string') {
  const database = new Database(workerData, { timeout: 0 })
  let last = 0
  parentPort?.on('message', (message: Message) => {
    if (message === 'stop') {
      database.close()
      parentPort?.close()
      return
    }
    const [{ log, checkpointed }] = database.pragma('wal_checkpoint(passive)') as [CheckpointRow]
    if (log !== last && log === checkpointed && log >= longLogPages) parentPort?.postMessage('long')
    last = log
  })
}

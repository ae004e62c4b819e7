import { isMainThread, parentPort, Worker, workerData, type MessagePort } from 'node:worker_threads'

import Database from 'better-sqlite3'

import { QueryTooSlowError } from '../../store.ts'
import type { Settle } from '../ledger.ts'
import { readerOf } from './sqlite-reader.ts'

export interface QueryThreadOptions {
  /** The file, which this process has opened. */
  readonly path: string
  /** The time limit of a query, including its wait. */
  readonly timeoutMs: number
  /** Max waiting queries; more are rejected. */
  readonly maxWaiting: number
}

interface Query {
  readonly text: string
  readonly values: readonly unknown[]
  /** By the process's clock, which its threads share. */
  readonly deadlineMs: number
}

type Reply = { readonly rows: unknown[] } | { readonly error: Error } | 'too slow'

interface Waiting extends Settle<unknown[]> {
  readonly timer: NodeJS.Timeout
}

/**
 * A read-only connection in a separate thread, so that console queries delay no payment. The thread starts
 * with the first query. A caller that waits too long gets an error, whatever the thread is doing.
 */
export class QueryThread {
  readonly #options: QueryThreadOptions
  #worker: Worker | undefined
  #waiting: Waiting[] = []
  #isClosed = false

  constructor(options: QueryThreadOptions) {
    this.#options = options
  }

  query(text: string, values: readonly unknown[]): Promise<unknown[]> {
    const { timeoutMs, maxWaiting } = this.#options
    if (this.#isClosed || this.#waiting.length >= maxWaiting) {
      return Promise.reject(new QueryTooSlowError('too many queries of the console wait'))
    }
    const worker = (this.#worker ??= this.#start())
    worker.postMessage({ text, values, deadlineMs: clock() + timeoutMs } satisfies Query)
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new QueryTooSlowError('a query of the console took too long')),
        timeoutMs,
      )
      timer.unref()
      this.#waiting.push({ resolve, reject, timer })
    })
  }

  /** Ends the thread; waiting calls get an error. */
  async close(): Promise<void> {
    this.#isClosed = true
    const worker = this.#worker
    if (!worker) return
    const ended = new Promise((resolve) => worker.once('exit', resolve))
    worker.ref()
    worker.postMessage('close')
    await ended
  }

  #start(): Worker {
    const worker = new Worker(new URL(import.meta.url), { workerData: { queriesOf: this.#options.path } })
    worker.unref()
    // An old thread may still send messages; by then, callers wait for the next one.
    worker.on('message', (reply: Reply) => {
      if (this.#worker === worker) this.#settle(reply)
    })
    worker.on('error', (error) => this.#end(worker, error))
    worker.on('exit', () => this.#end(worker, new Error('the thread of the console has ended')))
    return worker
  }

  #settle(reply: Reply): void {
    // Replies come in the order of the queries, including those whose callers have given up.
    const waiting = this.#waiting.shift()
    if (!waiting) return
    clearTimeout(waiting.timer)
    if (reply === 'too slow') waiting.reject(new QueryTooSlowError('a query of the console took too long'))
    else if ('rows' in reply) waiting.resolve(reply.rows)
    else waiting.reject(reply.error)
  }

  /** The next query starts another thread. */
  #end(worker: Worker, error: unknown): void {
    if (this.#worker !== worker) return
    this.#worker = undefined
    for (const { reject, timer } of this.#waiting.splice(0)) {
      clearTimeout(timer)
      reject(error)
    }
  }
}

/** Milliseconds since 1970, with fractions: the same in every thread. */
function clock(): number {
  return performance.timeOrigin + performance.now()
}

/** In the thread: answers queries one after the other. */
function serve(port: MessagePort, path: string): void {
  const database = new Database(path, { readonly: true, timeout: 1_000 })
  database.defaultSafeIntegers(true)
  database.pragma('cache_size = -16384')
  database.pragma('temp_store = memory')
  const { query } = readerOf(database)
  let deadlineMs = Infinity
  // SQLite cannot be interrupted from JavaScript, so long statements call a check function now and then.
  database.function('in_time', { deterministic: false }, () => {
    if (clock() > deadlineMs) throw new QueryTooSlowError('a query of the console took too long')
    return 1n
  })

  // SQLite's own function handles only ASCII letters.
  database.function('lower', { deterministic: true }, (text) => String(text).toLowerCase())

  async function answer({ text, values, deadlineMs: lastMs }: Query): Promise<Reply> {
    deadlineMs = lastMs
    if (clock() > deadlineMs) return 'too slow'
    try {
      return { rows: await query(text, values) }
    } catch (error) {
      if (error instanceof QueryTooSlowError) return 'too slow'
      return { error: error instanceof Error ? error : new Error(String(error)) }
    }
  }

  port.on('message', (message: Query | 'close') => {
    if (message === 'close') {
      database.close()
      port.close()
    } else void answer(message).then((reply) => port.postMessage(reply))
  })
}

if (!isMainThread && parentPort && isThreadStart(workerData)) serve(parentPort, workerData.queriesOf)

function isThreadStart(data: unknown): data is { queriesOf: string } {
  return typeof data === 'object' && data !== null && 'queriesOf' in data
}

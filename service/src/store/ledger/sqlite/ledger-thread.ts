import { closeSync, fdatasyncSync, openSync } from 'node:fs'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { parentPort, receiveMessageOnPort, Worker, workerData, type MessagePort } from 'node:worker_threads'

import { Checkpoints } from './checkpoints.ts'
import { CommitMarks, DurableReads } from './commit-marks.ts'
import { explainFailure } from './explain-failure.ts'
import { watchForMoves } from './moved-files.ts'
import { connect } from './open.ts'
import type { WrittenBatch } from '../../store-metrics.ts'
import { StoreUnavailableError } from '../../store.ts'
import { Ledger, type Settle } from '../ledger.ts'
// Declares every operation.
import '../ledger-store.ts'
import { operationsByName, type Operation } from '../operation.ts'
import { createSqliteDriver } from './sqlite-driver.ts'

export interface SqliteLedgerOptions {
  /** The file, which this process has opened. */
  readonly path: string
  /** Max calls in one transaction. */
  readonly maxBatch: number
  /** Max waiting calls; more are rejected. */
  readonly maxWaiting: number
  /** Called with each committed batch. */
  readonly onWritten?: ((batch: WrittenBatch) => void) | undefined
  /** Called for each call that failed because of the disk or the file. */
  readonly onUnavailable?: (() => void) | undefined
  /** Called with the reason when the thread ends by itself. */
  readonly onEnd?: ((cause: unknown) => void) | undefined
}

interface ThreadStart {
  readonly ledgerPath: string
  readonly maxBatch: number
  readonly marks: SharedArrayBuffer
}

/** A call: the name of its operation, its number, and its value. */
type Call = readonly [name: string, number: number, value: unknown]

/** The answer to a call: its number, and its outcome or the reason of the failure. */
type Reply = readonly [number: number, outcome: unknown, failure?: Failure]

/** The thread's replies. */
interface Replies {
  readonly replies: readonly Reply[]
  /** The batch that the replies belong to, once it is durable. */
  readonly written?: Pick<WrittenBatch, 'size' | 'tookMs'> | undefined
}

/** A message to the thread. */
type Message = readonly Call[] | 'close'

interface Waiting extends Settle<unknown> {
  readonly call: unknown
  readonly sinceMs: number
}

/** Requests to the thread other than operations. */
const indexEntries = 'index entries'
const probeCommit = 'probe commit'

/**
 * This many calls are sent without waiting for the turn of the event loop to end, so that the thread can start. More at a time
 * cost less per call, but both threads idle longer (bench/tuning.md).
 */
const sentTogether = 16

/**
 * The ledger in a SQLite file, in a separate thread: while it writes and the disk makes it durable, this
 * thread handles the next requests.
 */
export class SqliteLedger {
  readonly #worker: Worker
  readonly #options: SqliteLedgerOptions
  readonly #marks = new CommitMarks()
  readonly #reads = new DurableReads(this.#marks)
  /** Calls that are not sent yet. */
  #unsent: Call[] = []
  /** The callers that wait, by the number of the call. */
  readonly #calls = new Map<number, Waiting>()
  #lastNumber = 0
  #end: StoreUnavailableError | undefined
  #isClosing = false

  constructor(options: SqliteLedgerOptions) {
    this.#options = options
    const { path, maxBatch } = options
    const start: ThreadStart = { ledgerPath: path, maxBatch, marks: this.#marks.shared }
    this.#worker = new Worker(new URL(import.meta.url), { workerData: start })
    this.#worker.unref()
    this.#worker.on('message', (replies: Replies) => this.#settle(replies))
    this.#worker.on('error', (error) => this.#fail(error))
    this.#worker.on('exit', () => this.#fail(undefined))
  }

  /** Unanswered calls. */
  get waiting(): number {
    return this.#calls.size
  }

  /** The unanswered calls. */
  callsUnderWay(): readonly unknown[] {
    return Array.from(this.#calls.values(), ({ call }) => call)
  }

  /** The outcome of an operation, once it is durable. */
  run<Call, Outcome>(operation: Operation<Call, Outcome>, call: Call): Promise<Outcome> {
    return this.#ask(operation.name, call) as Promise<Outcome>
  }

  /** Resolves once other connections find every durable entry of some mandates in `entries_by_mandate`. */
  async indexEntries(mandateIds: readonly string[]): Promise<void> {
    await this.#ask(indexEntries, mandateIds)
  }

  /** Makes a write that has no meaning; resolves once it is durable. */
  async probe(): Promise<void> {
    await this.#ask(probeCommit, [])
  }

  #ask(name: string, value: unknown): Promise<unknown> {
    if (this.#end) return Promise.reject(this.#end)
    const { waiting } = this
    if (waiting >= this.#options.maxWaiting) {
      return Promise.reject(
        new StoreUnavailableError('too many calls wait for the ledger', { retryAfterSeconds: 1 }),
      )
    }
    const number = ++this.#lastNumber
    this.#unsent.push([name, number, value])
    if (this.#unsent.length === 1) setImmediate(() => this.#send())
    if (this.#unsent.length === sentTogether) this.#send()
    // A call in progress keeps the process alive; an idle thread does not.
    if (waiting === 0) this.#worker.ref()
    const sinceMs = this.#options.onWritten ? performance.now() : 0
    return new Promise((resolve, reject) =>
      this.#calls.set(number, { call: value, sinceMs, resolve, reject }),
    )
  }

  /**
   * Resolves once everything is durable that this thread can have read so far; undefined if it already is.
   */
  untilDurable(): Promise<void> | undefined {
    return this.#reads.wait()
  }

  /** Ends the thread once it has answered every call. */
  async close(): Promise<void> {
    if (this.#end) return
    this.#isClosing = true
    const ended = new Promise((resolve) => this.#worker.once('exit', resolve))
    this.#worker.ref()
    this.#send()
    this.#worker.postMessage('close' satisfies Message)
    await ended
  }

  #send(): void {
    if (this.#unsent.length > 0) this.#worker.postMessage(this.#unsent satisfies Message)
    this.#unsent = []
  }

  #settle({ replies, written: batch }: Replies): void {
    let written = batch
    for (const [number, outcome, failure] of replies) {
      const waiting = this.#calls.get(number)
      // The thread has failed meanwhile.
      if (!waiting) continue
      this.#calls.delete(number)
      if (written) {
        const waitedMs = Math.max(0, performance.now() - written.tookMs - waiting.sinceMs)
        this.#options.onWritten?.({ ...written, waitedMs })
        written = undefined
      }
      if (failure) waiting.reject(this.#errorOf(failure))
      else waiting.resolve(outcome)
    }
    this.#reads.letGo()
    this.#rest()
  }

  #errorOf({ error, retryAfterSeconds }: Failure): unknown {
    if (retryAfterSeconds === undefined) return error
    this.#options.onUnavailable?.()
    return new StoreUnavailableError(error.message, { retryAfterSeconds, cause: error })
  }

  #fail(cause: unknown): void {
    if (!this.#end && !this.#isClosing) this.#options.onEnd?.(cause)
    this.#end ??= new StoreUnavailableError("the ledger's thread has ended", { retryAfterSeconds: 5, cause })
    for (const { reject } of this.#calls.values()) reject(this.#end)
    this.#calls.clear()
    this.#reads.fail(this.#end)
    this.#rest()
  }

  #rest(): void {
    if (this.waiting === 0 && !this.#isClosing) this.#worker.unref()
  }
}

/** An error in a form that can cross threads, which would lose its class. */
interface Failure {
  readonly error: Error
  /** Set for a `StoreUnavailableError`. */
  readonly retryAfterSeconds: number | undefined
}

function failureOf(error: unknown): Failure {
  const retryAfterSeconds = error instanceof StoreUnavailableError ? error.retryAfterSeconds : undefined
  return { error: error instanceof Error ? error : new Error(String(error)), retryAfterSeconds }
}

/** The service ends with its thread: only a restart can read what is on the disk. */
function endThread(error: unknown): void {
  setImmediate(() => {
    throw error
  })
}

/** In the thread: runs what arrives until it is told to close. */
function serve(port: MessagePort, { ledgerPath: path, maxBatch, marks: shared }: ThreadStart): void {
  const marks = new CommitMarks(shared)
  const database = connect(path)
  const log = openSync(`${path}-wal`, 'r+')
  const checkpoints = new Checkpoints(path, copyRest)
  const moves = watchForMoves(path, refuseMove)
  const driver = createSqliteDriver({ database, sync, marks, onForeignWrite: endThread })
  const ledger = new Ledger({
    driver,
    stopwatch: { nowMs: () => performance.now(), sleep: (ms) => sleep(ms) },
    random: Math.random,
    maxBatch,
    maxWaiting: Infinity,
    onWritten: ({ size, tookMs }) => (written = { size, tookMs }),
    async afterBatch() {
      send()
      takeArrived()
      await turn()
    },
  })
  let replies: Reply[] = []
  let written: Replies['written']
  let failedSync: { readonly error: unknown } | undefined

  function sync(): void {
    // The next one would succeed: the operating system reports a failure once.
    if (failedSync) throw failedSync.error
    try {
      fdatasyncSync(log)
    } catch (error) {
      failedSync = { error }
      endThread(error)
      throw error
    }
    marks.durable = marks.begun
    checkpoints.committed()
  }

  /** Ends the thread at once: nothing more is acknowledged that a restart would not find. */
  function refuseMove(moved: string): never {
    throw new StoreUnavailableError(
      `${moved} was moved, overwritten, replaced or removed while the service ran: put ${path} and its -wal file back, or restore a backup with purser restore`,
      { retryAfterSeconds: 5 },
    )
  }

  /** Copies the short rest of a long log. */
  function copyRest(): void {
    try {
      database.pragma('wal_checkpoint(passive)')
    } catch {
      // The log grows until a commit copies it, and that commit fails with the reason.
    }
  }

  function take(message: Message): void {
    if (message === 'close') return close()
    for (const [name, number, value] of message) {
      const resolve = (outcome: unknown) => answer([number, outcome])
      const reject = (error: unknown) => answer([number, undefined, failureOf(error)])
      const operation = operationsByName.get(name)
      if (operation) {
        ledger.run(operation, value).then(resolve, reject)
        continue
      }
      try {
        resolve(name === probeCommit ? probe() : driver.indexEntries(value as string[]))
      } catch (error) {
        reject(explainFailure(error))
      }
    }
  }

  function probe(): void {
    // A row that stays the same would not be written.
    database.exec("insert or replace into index_marks (name, mark) values ('probe', randomblob(8))")
    sync()
  }

  function answer(reply: Reply): void {
    replies.push(reply)
    if (replies.length === 1) setImmediate(send)
  }

  function send(): void {
    if (replies.length > 0) port.postMessage({ replies, written } satisfies Replies)
    replies = []
    written = undefined
  }

  /** Everything that has arrived in the meantime. */
  function takeArrived(): void {
    for (;;) {
      const arrived = receiveMessageOnPort(port)
      if (!arrived) return
      take(arrived.message)
    }
  }

  port.on('message', (message: Message) => {
    take(message)
    takeArrived()
  })

  function close(): void {
    if (ledger.waiting > 0 || replies.length > 0) return void setImmediate(close)
    void checkpoints.stop().finally(() => {
      closeSync(log)
      database.close()
      moves.stop()
      port.close()
    })
  }
}

const start = workerData as ThreadStart | null
// Other threads may load this file too.
if (parentPort && start?.ledgerPath !== undefined) serve(parentPort, start)

import { closeSync, fdatasyncSync, openSync } from 'node:fs'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import {
  isMainThread,
  parentPort,
  receiveMessageOnPort,
  Worker,
  workerData,
  type MessagePort,
} from 'node:worker_threads'

import { startCheckpoints } from '../../sqlite/checkpoints.ts'
import { CommitMarks, DurableReads } from '../../sqlite/commit-marks.ts'
import { connect, extendLog } from '../../sqlite/open.ts'
import { StoreUnavailableError } from '../../store.ts'
import { Ledger } from '../ledger.ts'
import type { Operation } from '../operation.ts'
import { operationsByName } from '../operations/by-name.ts'
import { Packer, Unpacker, type Packed, type Shape } from './packing.ts'
import { createSqliteDriver } from './sqlite-driver.ts'

export interface SqliteLedgerOptions {
  /** The file, which this process has opened. */
  readonly path: string
  /** Max calls in one transaction. */
  readonly maxBatch?: number
  /** Max calls that wait; one more is turned away. */
  readonly maxWaiting?: number
  /** Called with the reason when the thread ends by itself. */
  readonly onEnd?: ((cause: unknown) => void) | undefined
}

interface ThreadStart {
  readonly ledgerPath: string
  readonly maxBatch: number
  readonly marks: SharedArrayBuffer
}

/** What crosses between the threads: shapes that are new, and calls or replies. */
interface Parcel {
  readonly shapes: readonly Shape[]
  readonly items: readonly Packed[]
}

/** What the thread is told. */
type Message = Parcel | 'close'

interface Waiting {
  readonly resolve: (outcome: unknown) => void
  readonly reject: (error: unknown) => void
}

/** What is asked of the thread besides operations. */
const indexEntries = 'index entries'

/** So many calls are sent at once, before the turn of the event loop is over, so that the thread can begin. */
const sentTogether = 16

/**
 * The ledger in a SQLite file, in a thread of its own: while it writes and the disk makes it durable, this thread takes the
 * next requests.
 */
export class SqliteLedger {
  readonly #worker: Worker
  readonly #maxWaiting: number
  readonly #onEnd: SqliteLedgerOptions['onEnd']
  readonly #marks = new CommitMarks()
  readonly #reads = new DurableReads(this.#marks)
  readonly #packer = new Packer()
  readonly #unpacker = new Unpacker()
  #unsent: Packed[] = []
  /** Who waits for an outcome, by the number of the call. */
  readonly #waiting = new Map<number, Waiting>()
  #lastCall = 0
  #end: StoreUnavailableError | undefined
  #isClosing = false

  constructor({ path, maxBatch = 128, maxWaiting = 8_192, onEnd }: SqliteLedgerOptions) {
    this.#maxWaiting = maxWaiting
    this.#onEnd = onEnd
    const start: ThreadStart = { ledgerPath: path, maxBatch, marks: this.#marks.shared }
    this.#worker = new Worker(new URL(import.meta.url), { workerData: start })
    this.#worker.unref()
    this.#worker.on('message', (parcel: Parcel) => this.#settle(parcel))
    this.#worker.on('error', (error) => this.#fail(error))
    this.#worker.on('exit', () => this.#fail(undefined))
  }

  /** Calls that are not answered yet. */
  get waiting(): number {
    return this.#waiting.size
  }

  /** The outcome of an operation, once it is durable. */
  run<Call, Outcome>(operation: Operation<Call, Outcome>, call: Call): Promise<Outcome> {
    return this.#ask(operation.name, call) as Promise<Outcome>
  }

  /** Resolves when other connections find every entry of some mandates that is durable in `entries_by_mandate`. */
  async indexEntries(mandateIds: readonly string[]): Promise<void> {
    await this.#ask(indexEntries, mandateIds)
  }

  #ask(label: string, value: unknown): Promise<unknown> {
    if (this.#end) return Promise.reject(this.#end)
    if (this.#waiting.size >= this.#maxWaiting) {
      return Promise.reject(
        new StoreUnavailableError('too many calls wait for the ledger', { retryAfterSeconds: 1 }),
      )
    }
    // A call that is under way keeps the process alive; a thread that waits for one does not.
    if (this.#waiting.size === 0) this.#worker.ref()
    const number = ++this.#lastCall
    const [shape, ...values] = this.#packer.pack(label, value)
    const unsent = this.#unsent.push([shape, ...values, number])
    if (unsent === 1) setImmediate(() => this.#send())
    if (unsent === sentTogether) this.#send()
    return new Promise((resolve, reject) => this.#waiting.set(number, { resolve, reject }))
  }

  /** Resolves when all is durable that this thread can have read so far; undefined when it is. */
  untilDurable(): Promise<void> | undefined {
    return this.#reads.wait()
  }

  /** Ends the thread, once it has answered every call. */
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
    if (this.#unsent.length === 0) return
    const items = this.#unsent
    this.#unsent = []
    this.#worker.postMessage({ shapes: this.#packer.takeFresh(), items } satisfies Message)
  }

  #settle({ shapes, items }: Parcel): void {
    this.#unpacker.learn(shapes)
    for (const item of items) {
      const number = item.at(-1) as number
      const { label, value } = this.#unpacker.unpack(item)
      const waiting = this.#waiting.get(number)
      this.#waiting.delete(number)
      if (label === 'done') waiting?.resolve(value)
      else waiting?.reject(errorOf(value as Failure))
    }
    this.#reads.letGo()
    this.#rest()
  }

  #fail(cause: unknown): void {
    if (!this.#end && !this.#isClosing) this.#onEnd?.(cause)
    this.#end ??= new StoreUnavailableError("the ledger's thread has ended", { retryAfterSeconds: 5, cause })
    for (const { reject } of this.#waiting.values()) reject(this.#end)
    this.#waiting.clear()
    this.#reads.fail(this.#end)
    this.#rest()
  }

  #rest(): void {
    if (this.#waiting.size === 0 && !this.#isClosing) this.#worker.unref()
  }
}

/** An error as it crosses threads, where it would lose its class. */
interface Failure {
  readonly error: unknown
  /** Where it is a `StoreUnavailableError`. */
  readonly retryAfterSeconds: number | undefined
}

function failureOf(error: unknown): Failure {
  const retryAfterSeconds = error instanceof StoreUnavailableError ? error.retryAfterSeconds : undefined
  return { error: error instanceof Error ? error : new Error(String(error)), retryAfterSeconds }
}

function errorOf({ error, retryAfterSeconds }: Failure): unknown {
  if (retryAfterSeconds === undefined) return error
  return new StoreUnavailableError((error as Error).message, { retryAfterSeconds, cause: error })
}

/** In the thread: runs what arrives, until it is told to close. */
function serve(port: MessagePort, { ledgerPath: path, maxBatch, marks: shared }: ThreadStart): void {
  const marks = new CommitMarks(shared)
  const database = connect(path, { syncsCommits: false })
  extendLog(path)
  const log = openSync(`${path}-wal`, 'r+')
  const checkpoints = startCheckpoints(path, { onLongLog: copyRest })
  const driver = createSqliteDriver({ database, sync, onCommit: () => marks.begin() })
  const ledger = new Ledger({
    driver,
    stopwatch: { nowMs: () => performance.now(), sleep: (ms) => sleep(ms) },
    random: Math.random,
    maxBatch,
    maxWaiting: Infinity,
    async afterBatch() {
      reply()
      takeArrived()
      await turn()
    },
  })
  const packer = new Packer()
  const unpacker = new Unpacker()
  let replies: Packed[] = []

  function sync(): void {
    try {
      fdatasyncSync(log)
    } catch (error) {
      setImmediate(() => {
        throw error
      })
      throw error
    }
    marks.durable = marks.begun
  }

  /** Copies the little that is left of a long log. */
  function copyRest(): void {
    try {
      database.pragma('wal_checkpoint(passive)')
    } catch {
      // The log grows, until a commit copies it and fails with the reason.
    }
  }

  function take(message: Message): void {
    if (message === 'close') return close()
    unpacker.learn(message.shapes)
    for (const item of message.items) {
      const number = item.at(-1)
      const { label, value } = unpacker.unpack(item)
      if (label === indexEntries) {
        attempt(() => driver.indexEntries(value as string[]), number)
        continue
      }
      const operation = operationsByName.get(label)
      if (!operation) throw new Error(`the operation ${label} is not known`)
      ledger.run(operation, value).then(
        (outcome) => answer('done', outcome, number),
        (error: unknown) => answer('failed', failureOf(error), number),
      )
    }
  }

  function attempt(work: () => void, number: unknown): void {
    try {
      answer('done', work(), number)
    } catch (error) {
      answer('failed', failureOf(error), number)
    }
  }

  function answer(label: 'done' | 'failed', value: unknown, number: unknown): void {
    const [shape, ...values] = packer.pack(label, value)
    if (replies.push([shape, ...values, number]) === 1) setImmediate(reply)
  }

  function reply(): void {
    if (replies.length === 0) return
    port.postMessage({ shapes: packer.takeFresh(), items: replies } satisfies Parcel)
    replies = []
  }

  /** Everything that has arrived meanwhile. */
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
      port.close()
    })
  }
}

if (!isMainThread && parentPort && isThreadStart(workerData)) serve(parentPort, workerData)

function isThreadStart(data: unknown): data is ThreadStart {
  return typeof data === 'object' && data !== null && 'ledgerPath' in data
}

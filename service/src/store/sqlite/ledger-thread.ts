import {
  isMainThread,
  parentPort,
  receiveMessageOnPort,
  Worker,
  workerData,
  type MessagePort,
} from 'node:worker_threads'

import type { CommitTimes } from '../commit-times.ts'
import { StoreUnavailableError } from '../store.ts'
import { startCheckpoints } from './checkpoints.ts'
import { createLedger, type Call } from './ledger.ts'
import { connect, extendLog } from './open.ts'
import { packCall, packReply, unpackCall, unpackReply, type Reply, type SentCall } from './thread-messages.ts'

export interface LedgerThreadOptions {
  /** The file, which this process has opened. */
  readonly path: string
  /** Most calls in one transaction. */
  readonly maxBatch: number
  /** Most calls that wait; one more is turned away before memory grows. */
  readonly maxWaiting: number
  readonly commitTimes: CommitTimes
}

/** What the thread is started with; the checkpoint thread below it is started with another thing. */
type ThreadStart = Pick<LedgerThreadOptions, 'path' | 'maxBatch'>

/** What the thread is told: calls to write, and then an end. */
type Message = readonly SentCall[] | 'close'

interface Waiting {
  readonly sinceMs: number
  readonly resolve: (outcome: unknown) => void
  readonly reject: (error: unknown) => void
}

/**
 * The ledger in a thread of its own: while it writes and the disk makes it durable, this thread takes
 * the next requests. The calls of one turn of the event loop are sent together.
 */
export class LedgerThread {
  readonly #worker: Worker
  readonly #maxWaiting: number
  readonly #commitTimes: CommitTimes
  #unsent: SentCall[] = []
  /** Who waits for an outcome, in the order of the calls, which is that of the replies. */
  #waiting: Waiting[] = []
  #idle: (() => void)[] = []
  #end: StoreUnavailableError | undefined
  #isClosing = false

  constructor({ path, maxBatch, maxWaiting, commitTimes }: LedgerThreadOptions) {
    this.#commitTimes = commitTimes
    this.#maxWaiting = maxWaiting
    const start: ThreadStart = { path, maxBatch }
    this.#worker = new Worker(new URL(import.meta.url), { workerData: start })
    this.#worker.unref()
    this.#worker.on('message', (replies: Reply[]) => this.#settle(replies))
    this.#worker.on('error', (error) => this.#fail(error))
    this.#worker.on('exit', () => this.#fail(undefined))
  }

  /** The call's own outcome, once its batch is durable. */
  submit(call: Call): Promise<unknown> {
    if (this.#end) return Promise.reject(this.#end)
    if (this.#waiting.length >= this.#maxWaiting) {
      return Promise.reject(
        new StoreUnavailableError('too many calls wait for the store', { retryAfterSeconds: 1 }),
      )
    }
    if (this.#unsent.push(packCall(call)) === 1) setImmediate(() => this.#send())
    // A call that is under way keeps the process alive; a thread that waits for one does not.
    if (this.#waiting.length === 0) this.#worker.ref()
    return new Promise((resolve, reject) =>
      this.#waiting.push({ sinceMs: performance.now(), resolve, reject }),
    )
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /** Throws when the thread has ended, and nothing can be written any more. */
  checkReady(): void {
    if (this.#end) throw this.#end
  }

  /** Resolves when nothing waits. */
  async drain(): Promise<void> {
    if (this.#waiting.length > 0) await new Promise<void>((resolve) => this.#idle.push(resolve))
  }

  /** Ends the thread, once it has written what it was sent. */
  async close(): Promise<void> {
    if (this.#end) return
    this.#isClosing = true
    const ended = new Promise((resolve) => this.#worker.once('exit', resolve))
    this.#worker.ref()
    this.#worker.postMessage('close' satisfies Message)
    await ended
  }

  #send(): void {
    const calls = this.#unsent
    this.#unsent = []
    this.#worker.postMessage(calls satisfies Message)
  }

  #settle(replies: readonly Reply[]): void {
    const [first] = this.#waiting
    if (first) this.#commitTimes.add(first.sinceMs)
    for (const [index, { resolve, reject }] of this.#waiting.splice(0, replies.length).entries()) {
      const settled = unpackReply(replies[index])
      if ('error' in settled) reject(settled.error)
      else resolve(settled.value)
    }
    if (this.#waiting.length === 0) this.#rest()
  }

  #fail(cause: unknown): void {
    this.#end ??= new StoreUnavailableError("the ledger's thread has ended", { retryAfterSeconds: 5, cause })
    for (const { reject } of this.#waiting.splice(0)) reject(this.#end)
    this.#rest()
  }

  #rest(): void {
    // The end of a thread that closes is waited for.
    if (!this.#isClosing) this.#worker.unref()
    for (const resolve of this.#idle.splice(0)) resolve()
  }
}

/** In the thread: writes what has arrived, again and again, until it is told to close. */
function serve(port: MessagePort, { path, maxBatch }: ThreadStart): void {
  const database = connect(path)
  const ledger = createLedger(database)
  extendLog(path)
  const checkpoints = startCheckpoints(path)
  const calls: Call[] = []
  let isClosing = false

  function take(message: Message): void {
    if (message === 'close') isClosing = true
    else for (const call of message) calls.push(unpackCall(call))
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
    for (takeArrived(); calls.length > 0; takeArrived()) {
      const batch = calls.splice(0, batchSize(calls.length, maxBatch))
      port.postMessage(ledger.write(batch).map(packReply))
    }
    if (isClosing) {
      void checkpoints.stop().finally(() => {
        database.close()
        port.close()
      })
    }
  })
}

/** Fewer calls than this are not worth a commit of their own when more are waiting. */
const leastTogether = 16

/**
 * How many of the calls that wait are written together: half of them, so that callers do not fall into
 * step. If all waited for one commit, this thread would idle while they are answered and ask again, and
 * the other thread while they are written.
 */
export function batchSize(waiting: number, maxBatch: number): number {
  return Math.min(maxBatch, Math.max(leastTogether, Math.ceil(waiting / 2)))
}

if (!isMainThread && parentPort && isThreadStart(workerData)) serve(parentPort, workerData)

function isThreadStart(data: unknown): data is ThreadStart {
  return typeof data === 'object' && data !== null && 'maxBatch' in data
}

import { closeSync, fdatasyncSync, openSync } from 'node:fs'
import {
  isMainThread,
  parentPort,
  receiveMessageOnPort,
  Worker,
  workerData,
  type MessagePort,
} from 'node:worker_threads'

import type { CommitTimes } from '../commit-times.ts'
import type { QueueMetrics } from '../store-metrics.ts'
import { StoreUnavailableError } from '../store.ts'
import { startCheckpoints } from '../ledger/sqlite/checkpoints.ts'
import { CommitLoop } from './commit-loop.ts'
import { CommitMarks, DurableReads } from '../ledger/sqlite/commit-marks.ts'
import { createLedger, type Call } from './ledger.ts'
import { connect, extendLog } from '../ledger/sqlite/open.ts'
import { packCall, packReply, unpackCall, unpackReply, type Reply, type SentCall } from './thread-messages.ts'

export interface LedgerThreadOptions {
  /** The file, which this process has opened. */
  readonly path: string
  /** Most calls in one transaction. */
  readonly maxBatch: number
  /** Most calls that wait; one more is turned away before memory grows. */
  readonly maxWaiting: number
  readonly commitTimes: CommitTimes
  /** Where batches are counted, if anywhere. */
  readonly metrics?: QueueMetrics | undefined
  /** Is called for each call that failed. */
  readonly onFailure?: () => void
  /** Is told why, when the thread ends though it was not told to. */
  readonly onEnd?: ((cause: unknown) => void) | undefined
}

/** What the thread is started with; the checkpoint thread below it is started with another thing. */
interface ThreadStart extends Pick<LedgerThreadOptions, 'path' | 'maxBatch'> {
  readonly marks: SharedArrayBuffer
}

/** What the thread is told: calls to write, and then an end. */
type Message = readonly SentCall[] | 'close'

/** What the thread answers: what became of the calls of one batch, and how long that took until it was durable. */
interface WrittenReplies {
  readonly replies: readonly Reply[]
  readonly tookMs: number
}

interface Waiting {
  readonly sinceMs: number
  readonly resolve: (outcome: unknown) => void
  readonly reject: (error: unknown) => void
}

/** So many calls are sent at once, before the turn of the event loop is over: sending costs less than they do. */
const sentTogether = 16

/**
 * The ledger in a thread of its own: while it writes and the disk makes it durable, this thread takes
 * the next requests. The calls of one turn of the event loop are sent together, or some at a time when
 * they are many, so that the first are written while this thread still reads the last.
 */
export class LedgerThread {
  readonly #worker: Worker
  readonly #maxWaiting: number
  readonly #commitTimes: CommitTimes
  readonly #metrics: LedgerThreadOptions['metrics']
  readonly #onEnd: LedgerThreadOptions['onEnd']
  readonly #onFailure: LedgerThreadOptions['onFailure']
  readonly #marks = new CommitMarks()
  readonly #reads = new DurableReads(this.#marks)
  #unsent: SentCall[] = []
  /** Who waits for an outcome, in the order of the calls, which is that of the replies. */
  #waiting: Waiting[] = []
  #idle: (() => void)[] = []
  #end: StoreUnavailableError | undefined
  #isClosing = false

  constructor({ path, maxBatch, maxWaiting, commitTimes, metrics, onEnd, onFailure }: LedgerThreadOptions) {
    this.#metrics = metrics
    this.#onFailure = onFailure
    this.#commitTimes = commitTimes
    this.#onEnd = onEnd
    this.#maxWaiting = maxWaiting
    const start: ThreadStart = { path, maxBatch, marks: this.#marks.shared }
    this.#worker = new Worker(new URL(import.meta.url), { workerData: start })
    this.#worker.unref()
    this.#worker.on('message', (written: WrittenReplies) => this.#settle(written))
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
    const unsent = this.#unsent.push(packCall(call))
    if (unsent === 1) setImmediate(() => this.#send())
    if (unsent === sentTogether) this.#send()
    // A call that is under way keeps the process alive; a thread that waits for one does not.
    if (this.#waiting.length === 0) this.#worker.ref()
    return new Promise((resolve, reject) =>
      this.#waiting.push({ sinceMs: performance.now(), resolve, reject }),
    )
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /** Resolves when all is durable that this thread can have read so far; undefined when it is. */
  untilDurable(): Promise<void> | undefined {
    return this.#reads.wait()
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
    if (this.#unsent.length === 0) return
    const calls = this.#unsent
    this.#unsent = []
    this.#worker.postMessage(calls satisfies Message)
  }

  #settle({ replies, tookMs }: WrittenReplies): void {
    const [first] = this.#waiting
    if (first) {
      this.#commitTimes.add(performance.now() - first.sinceMs)
      // The way to the thread and back counts as waiting.
      const waitedMs = Math.max(0, performance.now() - first.sinceMs - tookMs)
      this.#metrics?.add({ size: replies.length, waitedMs, tookMs })
    }
    for (const [index, { resolve, reject }] of this.#waiting.splice(0, replies.length).entries()) {
      const settled = unpackReply(replies[index])
      if ('error' in settled) {
        if (settled.error instanceof StoreUnavailableError) this.#onFailure?.()
        reject(settled.error)
      } else resolve(settled.value)
    }
    this.#reads.letGo()
    if (this.#waiting.length === 0) this.#rest()
  }

  #fail(cause: unknown): void {
    if (!this.#end && !this.#isClosing) this.#onEnd?.(cause)
    this.#end ??= new StoreUnavailableError("the ledger's thread has ended", { retryAfterSeconds: 5, cause })
    for (const { reject } of this.#waiting.splice(0)) reject(this.#end)
    this.#reads.fail(this.#end)
    this.#rest()
  }

  #rest(): void {
    // The end of a thread that closes is waited for.
    if (!this.#isClosing) this.#worker.unref()
    for (const resolve of this.#idle.splice(0)) resolve()
  }
}

/** In the thread: writes what arrives, until it is told to close. */
function serve(port: MessagePort, { path, maxBatch, marks: shared }: ThreadStart): void {
  const marks = new CommitMarks(shared)
  const database = connect(path, { syncsCommits: false })
  const ledger = createLedger(database, () => marks.begin())
  extendLog(path)
  const log = openSync(`${path}-wal`, 'r+')
  const checkpoints = startCheckpoints(path, { onLongLog: copyRest })
  const loop = new CommitLoop({
    write: (calls) => ledger.write(calls),
    sync: () => fdatasyncSync(log),
    answer: (outcomes, tookMs) =>
      port.postMessage({ replies: outcomes.map(packReply), tookMs } satisfies WrittenReplies),
    takeArrived,
    marks,
    maxBatch,
  })

  /** Copies the little that is left of a long log. */
  function copyRest(): void {
    try {
      database.pragma('wal_checkpoint(passive)')
    } catch {
      // The log grows, until a commit copies it and tells what is wrong.
    }
  }

  function take(message: Message): void {
    if (message === 'close') close()
    else for (const call of message) loop.add(unpackCall(call))
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
    loop.goOn()
  })

  /** Ends once everything is answered for. */
  function close(): void {
    if (!loop.isIdle) return void setImmediate(close)
    void checkpoints.stop().finally(() => {
      closeSync(log)
      database.close()
      port.close()
    })
  }
}

if (!isMainThread && parentPort && isThreadStart(workerData)) serve(parentPort, workerData)

function isThreadStart(data: unknown): data is ThreadStart {
  return typeof data === 'object' && data !== null && 'maxBatch' in data
}

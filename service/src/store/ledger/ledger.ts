// Longer than 400 lines: the runner is one state machine: batches, lanes, blocked rows and retries share its queue.
import type { WrittenBatch } from '../store-metrics.ts'
import { StoreUnavailableError } from '../store.ts'
import { BatchFacts } from './batch-facts.ts'
import {
  OutcomeUnknownError,
  RolledBackError,
  RowExistsError,
  RowLockedError,
  StaleRowsError,
  type Driver,
  type DriverTransaction,
} from './driver.ts'
import { LaterLocks } from './later-locks.ts'
import { readText, type Operation, type Read } from './operation.ts'
import { pauseAfter } from './pause-after.ts'
import { activityPartsOf } from './operations/activity.ts'

/** A monotonic clock, independent of the date. */
export interface Stopwatch {
  readonly nowMs: () => number
  readonly sleep: (ms: number) => Promise<void>
}

export interface LedgerOptions {
  readonly driver: Driver
  readonly stopwatch: Stopwatch
  /** From 0 to below 1; adds jitter to retries after conflicts. */
  readonly random: () => number
  /** Max calls in one transaction. */
  readonly maxBatch?: number
  /** Max waiting calls; more are refused. */
  readonly maxWaiting?: number
  /** How many batches are written concurrently. */
  readonly lanes?: number
  /** When another batch is started concurrently; at once by default. */
  readonly beside?: BesideOptions | undefined
  /**
   * The group of an account, for a database that spreads accounts over machines: all calls of a batch are for accounts of one
   * group, and each group has one batch at a time.
   */
  readonly groupOf?: ((accountId: string) => string | number) | undefined
  /**
   * Max rows locked by others that are waited for at once, each in its own lane. Calls for more rows are retried
   * later.
   */
  readonly maxBlockedRows?: number
  /** How long a call may take. */
  readonly patienceMs?: number
  /** Called with each committed batch. */
  readonly onWritten?: ((batch: WrittenBatch) => void) | undefined
  /** Called with the error of each failed attempt; the error that it returns is used instead. */
  readonly onFailed?: (error: unknown) => unknown
  /** Called after each batch: calls made before it resolves join the next one. */
  readonly afterBatch?: () => Promise<void>
}

/**
 * One large batch costs less than two small concurrent ones. So a second starts only when at least this many calls wait, or
 * when no batch has started for this long, because the first one hangs.
 */
export interface BesideOptions {
  readonly least: number
  readonly stalledAfterMs: number
}

export interface RunOptions {
  /** How long this call may take, instead of the ledger's `patienceMs`. */
  readonly patienceMs?: number
}

/** Receives the outcome once it is durable, or the error. */
export interface Settle<Outcome> {
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (error: unknown) => void
}

interface Waiting {
  readonly operation: Operation<unknown, unknown>
  readonly call: unknown
  readonly settle: Settle<unknown>
  /** When the call was made. */
  readonly sinceMs: number
  readonly deadlineMs: number
  /** Whether an attempt may have been committed. */
  isRerun: boolean
  /** How often it was postponed because its row was locked and too many others were waited for. */
  delays: number
  /** The rows that it names. */
  reads: readonly Read[]
  /** What it requested when it was last decided. */
  requested: readonly Read[]
  /** The properties by which batches select calls; known once its reads are. */
  traits?: Traits
}

interface Traits {
  /** The names of the rows that it locks first, of those that such a call has needed later, and of its group. */
  readonly locks: readonly string[]
  /** The group of the account whose rows it changes. */
  readonly group: string | number
}

const defaults = { maxBatch: 128, maxWaiting: 10_000, lanes: 1, maxBlockedRows: 4, patienceMs: 10_000 }

/** A lane writes one batch after another. */
interface Lane {
  batch: readonly Waiting[]
  /** The names of the rows that the batch locks first, once its reads are known. */
  locks: ReadonlySet<string> | undefined
}

/** Calls waiting for a row that another transaction has locked. */
interface BlockedRow {
  readonly name: string
  readonly queue: Waiting[]
}

/**
 * Runs operations. Calls that arrive while others are being written form the next batch, which is one transaction: it
 * locks and reads their rows, decides call by call on what the earlier calls leave, writes the net change, commits,
 * and answers each call. A single call never waits for others.
 *
 * @example
 * const outcome = await ledger.run(capture, { nonce, caller, nowMs: now() })
 */
export class Ledger {
  readonly #options: typeof defaults & LedgerOptions
  readonly #queue: Waiting[] = []
  readonly #blockedRows = new Map<string, BlockedRow>()
  readonly #laterLocks = new LaterLocks()
  /** The lanes that take batches. */
  readonly #running = new Set<Lane>()
  #stuckCalls = 0
  /** The number of batches begun. */
  #begun = 0
  /** That number when a lane last found only calls for rows that other lanes are writing. */
  #begunWhenNoneWasFree = -1
  #isWatched = false
  #waiting = 0

  constructor(options: LedgerOptions) {
    this.#options = { ...defaults, ...options }
  }

  /** Calls that have not been answered. */
  get waiting(): number {
    return this.#waiting
  }

  /**
   * The outcome of an operation, once it is durable.
   *
   * @throws StoreUnavailableError if it could not be done in time, or if its outcome is unknown: a retry with
   * the same ids returns the outcome
   */
  run<Call, Outcome>(
    operation: Operation<Call, Outcome>,
    call: Call,
    { patienceMs = this.#options.patienceMs }: RunOptions = {},
  ): Promise<Outcome> {
    if (this.#waiting >= this.#options.maxWaiting) {
      return Promise.reject(unavailable('too many calls wait for it'))
    }
    this.#waiting += 1
    const { promise, ...settle } = Promise.withResolvers<Outcome>()
    const sinceMs = this.#options.stopwatch.nowMs()
    this.#enqueue({
      operation: operation as Operation<unknown, unknown>,
      call,
      settle: settle as Settle<unknown>,
      sinceMs,
      deadlineMs: sinceMs + patienceMs,
      isRerun: false,
      delays: 0,
      reads: [],
      requested: [],
    })
    return promise
  }

  #reject(one: Waiting, error: unknown): void {
    this.#waiting -= 1
    one.settle.reject(error)
  }

  #enqueue(one: Waiting): void {
    const blocked = this.#blockedRows.size > 0 && this.#blockedRowOf(one)
    if (blocked) {
      blocked.queue.push(one)
      return
    }
    this.#queue.push(one)
    this.#startLane()
  }

  #blockedRowOf({ operation, call }: Waiting): BlockedRow | undefined {
    return operation
      .reads(call)
      .map(readText)
      .flatMap((name) => [name, ...this.#laterLocks.of(operation.name, name)])
      .map((name) => this.#blockedRows.get(name))
      .find((row) => row !== undefined)
  }

  #startLane(): void {
    if (this.#running.size >= this.#options.lanes) return
    if (this.#running.size === 0 || this.#hasEnoughForAnother()) void this.#runLane()
    else if (this.#options.beside && !this.#isWatched) void this.#startLaneOnceStalled(this.#options.beside)
  }

  #hasEnoughForAnother(): boolean {
    if (!this.#options.beside) return true
    return this.#queue.length >= this.#options.beside.least && this.#begun !== this.#begunWhenNoneWasFree
  }

  async #startLaneOnceStalled({ stalledAfterMs }: BesideOptions): Promise<void> {
    this.#isWatched = true
    let begun: number
    do {
      begun = this.#begun
      await this.#options.stopwatch.sleep(stalledAfterMs)
    } while (this.#begun !== begun && this.#queue.length > 0)
    this.#isWatched = false
    if (this.#queue.length > 0 && this.#running.size < this.#options.lanes) void this.#runLane()
  }

  async #runLane(): Promise<void> {
    const lane: Lane = { batch: [], locks: undefined }
    this.#running.add(lane)
    // Calls of the same turn of the event loop form one batch.
    await Promise.resolve()
    for (;;) {
      lane.batch = this.#takeBatch(lane)
      if (lane.batch.length === 0) {
        this.#begunWhenNoneWasFree = this.#begun
        break
      }
      const begun = ++this.#begun
      if (this.#queue.length > 0) this.#startLane()
      await this.#write(lane.batch, undefined)
      lane.batch = []
      lane.locks = undefined
      await this.#options.afterBatch?.()
      // Another lane has begun a batch since, and continues with the few waiting calls.
      if (this.#begun > begun && !this.#hasEnoughForAnother()) break
    }
    this.#running.delete(lane)
    if (this.#options.beside && this.#queue.length > 0) this.#startLane()
  }

  /** The next calls, without those for rows that another lane is writing. */
  #takeBatch(lane: Lane): readonly Waiting[] {
    if (this.#running.size === 1 && !this.#options.groupOf)
      return this.#queue.splice(0, this.#options.maxBatch)
    const taken = [...this.#running].filter((other) => other !== lane).map((other) => this.#locksOf(other))
    const batch: Waiting[] = []
    const left: Waiting[] = []
    // The look-ahead is limited, because any number of calls may be for one row.
    for (const one of this.#queue.splice(0, this.#options.maxBatch * 4)) {
      ;(this.#mayJoin(one, batch, taken) ? batch : left).push(one)
    }
    this.#queue.unshift(...left)
    return batch
  }

  #mayJoin(one: Waiting, batch: readonly Waiting[], taken: readonly ReadonlySet<string>[]): boolean {
    if (batch.length >= this.#options.maxBatch) return false
    const { locks, group } = this.#traitsOf(one)
    if (taken.some((names) => locks.some((name) => names.has(name)))) return false
    const [first] = batch
    return !first || group === this.#traitsOf(first).group
  }

  /** The rows that a lane is writing: other lanes leave calls for them in the queue. */
  #locksOf(lane: Lane): ReadonlySet<string> {
    return (lane.locks ??= new Set(lane.batch.flatMap((one) => this.#traitsOf(one).locks)))
  }

  #traitsOf(one: Waiting): Traits {
    return (one.traits ??= this.#findTraits(one))
  }

  #findTraits({ operation, call }: Waiting): Traits {
    const { groupOf } = this.#options
    const reads = operation.reads(call)
    const locked = reads.filter(({ isLocked }) => isLocked)
    const read = locked[0] ?? reads[0]
    const values = read?.kind === 'range' ? read.where : read?.key
    const names = locked.map(readText)
    const locks = [...names, ...names.flatMap((name) => this.#laterLocks.of(operation.name, name))]
    if (!groupOf) return { locks, group: '' }
    const account = values?.['accountId'] ?? values?.['id']
    const group = typeof account === 'string' ? groupOf(account) : ''
    return { locks: [...locks, `group ${group}`], group }
  }

  /** Writes the calls for one row, batch after batch, and waits for its lock each time. */
  async #runBlockedRow(row: BlockedRow): Promise<void> {
    while (row.queue.length > 0) await this.#write(row.queue.splice(0, this.#options.maxBatch), row)
    this.#blockedRows.delete(row.name)
  }

  /** Retries a batch until it is written or its time is up. Answers every call. */
  async #write(batch: readonly Waiting[], row: BlockedRow | undefined): Promise<void> {
    let left = batch
    let lastError: unknown
    let avoidsCache = false
    let pauses = 0
    let collisions = 0
    while (left.length > 0) {
      left = this.#rejectLate(left, lastError)
      if (left.length === 0) return
      try {
        left = await this.#attempt(left, row, { avoidsCache })
        avoidsCache = false
        continue
      } catch (thrown) {
        const error = this.#options.onFailed ? this.#options.onFailed(thrown) : thrown
        lastError = error
        avoidsCache = error instanceof StaleRowsError
        if (avoidsCache) continue
        const isCollision = error instanceof RowExistsError
        if (error instanceof OutcomeUnknownError || (isCollision && ++collisions <= maxCollisions)) {
          for (const one of left) one.isRerun = true
        } else if (error instanceof StoreUnavailableError) {
          for (const one of left) this.#reject(one, error)
          return
        } else if (!(error instanceof RolledBackError) || (error instanceof RowLockedError && !row)) {
          await this.#writeOneByOne(left, row, error)
          return
        }
        await this.#options.stopwatch.sleep(this.#pauseAfter(pauses++))
      }
    }
  }

  /** A call that cannot be written fails alone, or is retried separately if another transaction is adding its row. */
  async #writeOneByOne(
    batch: readonly Waiting[],
    row: BlockedRow | undefined,
    error: unknown,
  ): Promise<void> {
    if (batch.length > 1) for (const one of batch) await this.#write([one], row)
    else if (error instanceof RowExistsError) this.#reject(batch[0]!, unavailable('its row exists', error))
    else if (!(error instanceof RowLockedError)) this.#reject(batch[0]!, error)
    else this.#moveToRow(batch[0]!, `a row that call ${++this.#stuckCalls} adds`)
  }

  #rejectLate(batch: readonly Waiting[], lastError: unknown): readonly Waiting[] {
    const nowMs = this.#options.stopwatch.nowMs()
    return batch.filter((one) => {
      if (one.deadlineMs > nowMs) return true
      this.#reject(one, unavailable('it could not be done in time', lastError))
      return false
    })
  }

  /** Writes a batch once; resolves to the calls that remain, because they requested rows in too many steps. */
  async #attempt(
    batch: readonly Waiting[],
    row: BlockedRow | undefined,
    options: { readonly avoidsCache: boolean },
  ): Promise<readonly Waiting[]> {
    // The deadline is that of the first call to expire.
    const deadlineMs = batch.reduce((first, one) => Math.min(first, one.deadlineMs), Infinity)
    const startedAtMs = this.#options.stopwatch.nowMs()
    const transaction = this.#options.driver.begin({ patienceMs: deadlineMs - startedAtMs, ...options })
    let attempt: Attempt
    try {
      attempt = await decideAndCommit(transaction, batch, { waitsForLocks: row !== undefined })
    } catch (error) {
      await transaction.rollBack()
      throw error
    }
    const { answers, blocked } = attempt
    this.#options.onWritten?.({
      size: answers.size,
      waitedMs: startedAtMs - batch.reduce((first, one) => Math.min(first, one.sinceMs), Infinity),
      tookMs: this.#options.stopwatch.nowMs() - startedAtMs,
    })
    this.#waiting -= answers.size
    for (const [one, outcome] of answers) one.settle.resolve(outcome)
    for (const [one, name] of blocked) this.#moveToRow(one, name)
    if (this.#options.lanes > 1) for (const one of batch) this.#noteLocks(one)
    return batch.filter((one) => !answers.has(one) && !blocked.has(one))
  }

  /** Remembers which rows a call has locked, for calls like it. The next call for a range has other bounds. */
  #noteLocks({ operation, reads, requested }: Waiting): void {
    const [first, ...later] = [...reads, ...requested].filter(({ isLocked }) => isLocked)
    if (first?.kind !== 'row' || (later.length === 0 && this.#laterLocks.isEmpty)) return
    this.#laterLocks.note(operation.name, [first, ...later].map(readText))
  }

  #moveToRow(one: Waiting, name: string): void {
    const known = this.#blockedRows.get(name)
    if (known) {
      known.queue.push(one)
      return
    }
    if (this.#blockedRows.size >= this.#options.maxBlockedRows) {
      void this.#tryLater(one)
      return
    }
    const row = { name, queue: [one] }
    this.#blockedRows.set(name, row)
    void this.#runBlockedRow(row)
  }

  async #tryLater(one: Waiting): Promise<void> {
    const leftMs = Math.max(0, one.deadlineMs - this.#options.stopwatch.nowMs())
    await this.#options.stopwatch.sleep(Math.min(this.#pauseAfter(one.delays++), leftMs))
    this.#enqueue(one)
  }

  #pauseAfter(earlierPauses: number): number {
    return pauseAfter(earlierPauses, this.#options.random())
  }
}

/**
 * How often a batch may find a row that it was to add, which its next attempt reads. Beyond this, a call does not read it,
 * such as the event of its first attempt, whose effect another call has undone since: its batch must not wait for it.
 */
const maxCollisions = 5

/**
 * A read that depends on others needs a step for each. Beyond this, a batch leaves requests to the next one; for a
 * single call it is a bug.
 */
const maxSteps = 16

interface Attempt {
  readonly answers: ReadonlyMap<Waiting, unknown>
  /** Calls for a row that another transaction has locked, with the row's name. */
  readonly blocked: ReadonlyMap<Waiting, string>
}

async function decideAndCommit(
  transaction: DriverTransaction,
  batch: readonly Waiting[],
  { waitsForLocks }: { readonly waitsForLocks: boolean },
): Promise<Attempt> {
  const facts = new BatchFacts({ isRerun: batch.some(({ isRerun }) => isRerun) })
  const blocked = new Map<Waiting, string>()
  let free = [...batch]
  for (const one of free) {
    one.reads = one.operation.reads(one.call)
    one.requested = []
    for (const read of one.reads) facts.ask(read)
  }
  for (let step = 0; step < maxSteps; step++) {
    const answer = await transaction.read(facts.reads, { waitsForLocks })
    if (answer.blocked.size > 0) {
      const names = new Set([...answer.blocked].map(readText))
      free = free.filter((one) => {
        const name = [...one.reads, ...one.requested].map(readText).find((text) => names.has(text))
        if (name !== undefined) blocked.set(one, name)
        return name === undefined
      })
    }
    facts.learn(answer)
    const answers = decideAll(free, facts)
    if (answers.size < free.length && (step < maxSteps - 1 || answers.size === 0)) continue
    const changes = facts.netChanges()
    await transaction.commit([...changes, ...activityPartsOf(changes)])
    return { answers, blocked }
  }
  throw new Error('an operation asks for ever more rows')
}

/**
 * Decides the calls one by one, each on the result of the earlier ones, up to one that needs an unread row:
 * then everything is read and decided again.
 */
function decideAll(batch: readonly Waiting[], facts: BatchFacts): ReadonlyMap<Waiting, unknown> {
  const answers = new Map<Waiting, unknown>()
  for (const [index, one] of batch.entries()) {
    const decision = facts.decide(one.operation, one.call)
    one.requested = facts.requested
    if (!decision) {
      requestMore(one, batch.slice(index + 1), facts)
      return answers
    }
    facts.apply(decision.changes)
    answers.set(one, decision.outcome)
  }
  return answers
}

/**
 * Requests what the first call has just needed, and what later calls for other rows need, so that they are not discovered one
 * per step. What a call reads after another call for the same row depends on that call.
 */
function requestMore(first: Waiting, later: readonly Waiting[], facts: BatchFacts): void {
  for (const read of first.requested) facts.ask(read)
  if (later.length === 0) return
  const taken = new Set(locksOf(first))
  const isTaken = (one: Waiting) => locksOf(one).some((name) => taken.has(name))
  for (const one of later) {
    if (isTaken(one)) continue
    try {
      facts.decide(one.operation, one.call)
    } catch {
      // A call that fails is decided again in its turn, and fails then.
      continue
    }
    one.requested = facts.requested
    if (isTaken(one)) continue
    for (const name of locksOf(one)) taken.add(name)
    for (const read of one.requested) facts.ask(read)
  }
}

/** The names of the rows that a call locks. */
function locksOf({ reads, requested }: Pick<Waiting, 'reads' | 'requested'>): readonly string[] {
  return [...reads, ...requested].filter(({ isLocked }) => isLocked).map(readText)
}

function unavailable(reason: string, cause?: unknown): StoreUnavailableError {
  return new StoreUnavailableError(`the ledger is not available: ${reason}`, { retryAfterSeconds: 2, cause })
}

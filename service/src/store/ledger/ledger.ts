import type { WrittenBatch } from '../store-metrics.ts'
import { StoreUnavailableError } from '../store.ts'
import { BatchFacts } from './batch-facts.ts'
import {
  OutcomeUnknownError,
  RolledBackError,
  RowExistsError,
  RowLockedError,
  type Driver,
  type DriverTransaction,
} from './driver.ts'
import { readText, type Operation } from './operation.ts'
import { activityPartsOf } from './operations/activity.ts'

/** The time as the ledger measures it: it never goes back, and says nothing about the date. */
export interface Stopwatch {
  readonly nowMs: () => number
  readonly sleep: (ms: number) => Promise<void>
}

export interface LedgerOptions {
  readonly driver: Driver
  readonly stopwatch: Stopwatch
  /** From 0 to below 1; spreads the attempts of transactions that met. */
  readonly random: () => number
  /** Max calls in one transaction. */
  readonly maxBatch?: number
  /** Max calls that wait; one more is turned away. */
  readonly maxWaiting?: number
  /** How many batches are written at once. */
  readonly lanes?: number
  /** How long no batch must have begun for a lane to start beside a busy one; left out, it starts at once. */
  readonly stalledAfterMs?: number | undefined
  /**
   * The group of an account, for a database that spreads accounts over machines: all calls of a batch are for accounts of one
   * group, and each group has one batch at a time.
   */
  readonly groupOf?: ((accountId: string) => string | number) | undefined
  /** Max rows locked by others that are waited for at once, each by a lane of its own. Calls for more try again later. */
  readonly maxBlockedRows?: number
  /** How long a call may take. */
  readonly patienceMs?: number
  /** Is told of each batch that was committed. */
  readonly onWritten?: ((batch: WrittenBatch) => void) | undefined
  /** Called after each batch: calls that are made before it resolves are in the next. */
  readonly afterBatch?: () => Promise<void>
}

export interface RunOptions {
  /** How long this call may take, instead of `patienceMs` of the ledger. */
  readonly patienceMs?: number
}

/** Who is told of an outcome, once it is durable, or why there is none. */
export interface Settle<Outcome> {
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (error: unknown) => void
}

interface Waiting {
  readonly operation: Operation<unknown, unknown>
  readonly call: unknown
  readonly settle: Settle<unknown>
  readonly deadlineMs: number
  /** Whether an attempt at it may have been committed. */
  isRerun: boolean
  /** How often it was put off because its row was locked, and too many others were waited for. */
  delays: number
  /** Whether it has asked for all that it ever will: what it looks at does not depend on what is found. */
  hasFixedReads: boolean
  /** What a batch is chosen by; known once it is asked for. */
  traits?: Traits
}

interface Traits {
  /** The names of the rows that it locks first, and of its group. */
  readonly locks: readonly string[]
  /** The group of the account whose rows it changes. */
  readonly group: string | number
}

/** What writes one batch after another. */
interface Lane {
  batch: readonly Waiting[]
  /** The names of the rows that the batch locks first, once they are asked for. */
  locks: ReadonlySet<string> | undefined
}

/** Calls that wait for a row which another transaction has locked. */
interface BlockedRow {
  readonly name: string
  readonly queue: Waiting[]
}

/**
 * Runs operations. Calls that come while others are being written wait and form the next batch, which is one transaction: it
 * locks and reads what they look at, decides one after the other, each on what those before it leave, writes what has
 * changed, commits, and answers each. A lonely call waits for nobody.
 *
 * @example
 * const outcome = await ledger.run(capture, { nonce, caller, nowMs: now() })
 */
export class Ledger {
  readonly #driver: Driver
  readonly #stopwatch: Stopwatch
  readonly #random: () => number
  readonly #maxBatch: number
  readonly #maxWaiting: number
  readonly #lanes: number
  readonly #stalledAfterMs: number | undefined
  readonly #groupOf: LedgerOptions['groupOf']
  readonly #maxBlockedRows: number
  readonly #patienceMs: number
  readonly #onWritten: LedgerOptions['onWritten']
  readonly #afterBatch: LedgerOptions['afterBatch']
  readonly #queue: Waiting[] = []
  readonly #blockedRows = new Map<string, BlockedRow>()
  /** The lanes that take batches. */
  readonly #running = new Set<Lane>()
  #stuckCalls = 0
  /** How many batches were begun. */
  #begun = 0
  #isWatched = false
  #waiting = 0

  constructor(options: LedgerOptions) {
    this.#driver = options.driver
    this.#stopwatch = options.stopwatch
    this.#random = options.random
    this.#maxBatch = options.maxBatch ?? 128
    this.#maxWaiting = options.maxWaiting ?? 10_000
    this.#lanes = options.lanes ?? 1
    this.#stalledAfterMs = options.stalledAfterMs
    this.#groupOf = options.groupOf
    this.#maxBlockedRows = options.maxBlockedRows ?? 4
    this.#patienceMs = options.patienceMs ?? 10_000
    this.#onWritten = options.onWritten
    this.#afterBatch = options.afterBatch
  }

  /** Calls that are not answered yet. */
  get waiting(): number {
    return this.#waiting
  }

  /**
   * The outcome of an operation, once it is durable.
   *
   * @throws StoreUnavailableError when it could not be done in time, or whether it was done is not known: a call with the
   * same ids tells
   */
  run<Call, Outcome>(
    operation: Operation<Call, Outcome>,
    call: Call,
    options?: RunOptions,
  ): Promise<Outcome> {
    return new Promise<Outcome>((resolve, reject) =>
      this.submit(operation, call, { resolve, reject }, options),
    )
  }

  /** As `run`, for a caller who needs no promise. */
  submit<Call, Outcome>(
    operation: Operation<Call, Outcome>,
    call: Call,
    settle: Settle<Outcome>,
    { patienceMs = this.#patienceMs }: RunOptions = {},
  ): void {
    if (this.#waiting >= this.#maxWaiting) {
      settle.reject(unavailable('too many calls wait for it'))
      return
    }
    this.#waiting += 1
    this.#enqueue({
      operation: operation as Operation<unknown, unknown>,
      call,
      settle: settle as Settle<unknown>,
      deadlineMs: this.#stopwatch.nowMs() + patienceMs,
      isRerun: false,
      delays: 0,
      hasFixedReads: false,
    })
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
      .reads(call, new BatchFacts({ isRerun: false }))
      .map((read) => this.#blockedRows.get(readText(read)))
      .find((row) => row !== undefined)
  }

  #startLane(): void {
    if (this.#running.size >= this.#lanes) return
    if (this.#running.size > 0 && this.#stalledAfterMs !== undefined) {
      if (!this.#isWatched) void this.#startLaneOnceStalled(this.#stalledAfterMs)
      return
    }
    void this.#runLane()
  }

  /** One large batch costs less than two small ones side by side: so a lane is started beside another only while that one hangs. */
  async #startLaneOnceStalled(afterMs: number): Promise<void> {
    this.#isWatched = true
    let begun: number
    do {
      begun = this.#begun
      await this.#stopwatch.sleep(afterMs)
    } while (this.#begun !== begun && this.#queue.length > 0)
    this.#isWatched = false
    if (this.#queue.length > 0 && this.#running.size < this.#lanes) void this.#runLane()
  }

  async #runLane(): Promise<void> {
    const lane: Lane = { batch: [], locks: undefined }
    this.#running.add(lane)
    // Calls of the same turn of the event loop form one batch.
    await Promise.resolve()
    for (;;) {
      lane.batch = this.#takeBatch(lane)
      if (lane.batch.length === 0) break
      const begun = ++this.#begun
      if (this.#queue.length > 0) this.#startLane()
      await this.#write(lane.batch, undefined)
      lane.batch = []
      lane.locks = undefined
      await this.#afterBatch?.()
      // Another lane has begun a batch since, and goes on with what waits.
      if (this.#stalledAfterMs !== undefined && this.#begun > begun) break
    }
    this.#running.delete(lane)
    if (this.#stalledAfterMs !== undefined && this.#queue.length > 0) this.#startLane()
  }

  /** The next calls, without those for rows that another lane is writing. */
  #takeBatch(lane: Lane): readonly Waiting[] {
    if (this.#running.size === 1 && !this.#groupOf) return this.#queue.splice(0, this.#maxBatch)
    const taken = [...this.#running].filter((other) => other !== lane).map(locksOf)
    const batch: Waiting[] = []
    const left: Waiting[] = []
    // It looks ahead some way only: a row may have any number of calls.
    for (const one of this.#queue.splice(0, this.#maxBatch * 4)) {
      ;(this.#mayJoin(one, batch, taken) ? batch : left).push(one)
    }
    this.#queue.unshift(...left)
    return batch
  }

  #mayJoin(one: Waiting, batch: readonly Waiting[], taken: readonly ReadonlySet<string>[]): boolean {
    if (batch.length >= this.#maxBatch) return false
    const { locks, group } = traitsOf(one, this.#groupOf)
    if (taken.some((names) => locks.some((name) => names.has(name)))) return false
    const [first] = batch
    return !first || group === traitsOf(first).group
  }

  /** Writes what waits for one row, batch after batch, and waits for its lock each time. */
  async #runBlockedRow(row: BlockedRow): Promise<void> {
    while (row.queue.length > 0) await this.#write(row.queue.splice(0, this.#maxBatch), row)
    this.#blockedRows.delete(row.name)
  }

  /** Writes a batch, until it is written or its time is over. Answers every call. */
  async #write(batch: readonly Waiting[], row: BlockedRow | undefined): Promise<void> {
    let left = batch
    let lastError: unknown
    for (let attempt = 0; left.length > 0; attempt++) {
      left = this.#rejectLate(left, lastError)
      if (left.length === 0) return
      try {
        left = await this.#attempt(left, row)
        continue
      } catch (error) {
        lastError = error
        if (error instanceof OutcomeUnknownError || error instanceof RowExistsError) {
          for (const one of left) one.isRerun = true
        } else if (error instanceof StoreUnavailableError) {
          for (const one of left) this.#reject(one, error)
          return
        } else if (error instanceof RowLockedError && !row) {
          await this.#writeAround(left)
          return
        } else if (!(error instanceof RolledBackError)) {
          await this.#writeOneByOne(left, row, error)
          return
        }
        await this.#stopwatch.sleep(this.#pauseAfter(attempt))
      }
    }
  }

  /** One that cannot be written fails alone. */
  async #writeOneByOne(
    batch: readonly Waiting[],
    row: BlockedRow | undefined,
    error: unknown,
  ): Promise<void> {
    if (batch.length === 1) {
      this.#reject(batch[0]!, error)
      return
    }
    for (const one of batch) await this.#write([one], row)
  }

  /** Of calls that met a row which another transaction is adding, those that meet it wait by themselves, the others go on. */
  async #writeAround(batch: readonly Waiting[]): Promise<void> {
    const [one] = batch
    if (batch.length === 1 && one) this.#moveToRow(one, `a row that call ${++this.#stuckCalls} adds`)
    else for (const each of batch) await this.#write([each], undefined)
  }

  #rejectLate(batch: readonly Waiting[], lastError: unknown): readonly Waiting[] {
    const nowMs = this.#stopwatch.nowMs()
    return batch.filter((one) => {
      if (one.deadlineMs > nowMs) return true
      this.#reject(one, unavailable('it could not be done in time', lastError))
      return false
    })
  }

  /** Writes a batch once; resolves to those that are left to be written, because they asked for too many rows in turn. */
  async #attempt(batch: readonly Waiting[], row: BlockedRow | undefined): Promise<readonly Waiting[]> {
    // It ends with the patience of the first that has to be told.
    const deadlineMs = batch.reduce((first, one) => Math.min(first, one.deadlineMs), Infinity)
    const startedAtMs = this.#stopwatch.nowMs()
    const { answers, blocked } = await this.#driver.transaction(
      (transaction) => decideAndCommit(transaction, batch, { waitsForLocks: row !== undefined }),
      { patienceMs: deadlineMs - startedAtMs },
    )
    this.#onWritten?.({
      size: answers.size,
      waitedMs: Math.max(0, startedAtMs - (deadlineMs - this.#patienceMs)),
      tookMs: this.#stopwatch.nowMs() - startedAtMs,
    })
    this.#waiting -= answers.size
    for (const [one, outcome] of answers) one.settle.resolve(outcome)
    for (const [one, name] of blocked) this.#moveToRow(one, name)
    return batch.filter((one) => !answers.has(one) && !blocked.has(one))
  }

  #moveToRow(one: Waiting, name: string): void {
    const known = this.#blockedRows.get(name)
    if (known) {
      known.queue.push(one)
      return
    }
    if (this.#blockedRows.size >= this.#maxBlockedRows) {
      void this.#tryLater(one)
      return
    }
    const row = { name, queue: [one] }
    this.#blockedRows.set(name, row)
    void this.#runBlockedRow(row)
  }

  async #tryLater(one: Waiting): Promise<void> {
    const leftMs = Math.max(0, one.deadlineMs - this.#stopwatch.nowMs())
    await this.#stopwatch.sleep(Math.min(this.#pauseAfter(one.delays++), leftMs))
    this.#enqueue(one)
  }

  #pauseAfter(attempt: number): number {
    return Math.min(maxPauseMs, minPauseMs * 2 ** attempt) * (0.5 + this.#random())
  }
}

/** The rows that a lane is writing: others leave calls for them in the queue. */
function locksOf(lane: Lane): ReadonlySet<string> {
  return (lane.locks ??= new Set(lane.batch.flatMap((one) => traitsOf(one).locks)))
}

function traitsOf(one: Waiting, groupOf?: LedgerOptions['groupOf']): Traits {
  return (one.traits ??= findTraits(one, groupOf))
}

function findTraits({ operation, call }: Waiting, groupOf: LedgerOptions['groupOf']): Traits {
  const reads = operation.reads(call, new BatchFacts({ isRerun: false }))
  const locked = reads.filter(({ isLocked }) => isLocked)
  const read = locked[0] ?? reads[0]
  const values = read?.kind === 'range' ? read.where : read?.key
  const locks = locked.map(readText)
  if (!groupOf) return { locks, group: '' }
  const account = values?.['accountId'] ?? values?.['id']
  const group = typeof account === 'string' ? groupOf(account) : ''
  return { locks: [...locks, `group ${group}`], group }
}

const minPauseMs = 2
const maxPauseMs = 500

/** A read that depends on others is found in as many steps. What a batch asks for then is left to the next; one call is a bug. */
const maxSteps = 8

interface Attempt {
  readonly answers: ReadonlyMap<Waiting, unknown>
  /** Calls that look at a row which another transaction has locked, with its name. */
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
  for (const one of free) one.hasFixedReads = false
  addReads(free, facts)
  for (let step = 0; step < maxSteps; step++) {
    const answer = await transaction.read(facts.reads, { waitsForLocks })
    if (answer.blocked.size > 0) {
      const names = new Set([...answer.blocked].map(readText))
      free = free.filter((one) => {
        const name = one.operation
          .reads(one.call, facts)
          .map(readText)
          .find((text) => names.has(text))
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
 * Decides the calls one after the other, each on what those before it leave, up to one that looks at a row that was not read:
 * then all of them are read and decided anew.
 */
function decideAll(batch: readonly Waiting[], facts: BatchFacts): ReadonlyMap<Waiting, unknown> {
  const answers = new Map<Waiting, unknown>()
  for (const [index, one] of batch.entries()) {
    if (addReads([one], facts)) {
      addReadsOfOthers(batch.slice(index), facts)
      return answers
    }
    const decision = one.operation.decide(one.call, facts)
    facts.apply(decision.changes)
    answers.set(one, decision.outcome)
  }
  return answers
}

/**
 * Adds what calls for other rows look at, too, so that they are not found one in each step. What a call looks at behind
 * another of the same row depends on what that one leaves.
 */
function addReadsOfOthers(batch: readonly Waiting[], facts: BatchFacts): void {
  const locked = new Set<string>()
  for (const one of batch) {
    if (one.hasFixedReads) continue
    const reads = one.operation.reads(one.call, facts)
    const names = reads.filter(({ isLocked }) => isLocked).map(readText)
    if (names.some((name) => locked.has(name))) continue
    for (const name of names) locked.add(name)
    for (const read of reads) facts.ask(read)
  }
}

/** Adds what the calls look at; whether any of it was not asked for before, or not with a lock. */
function addReads(batch: readonly Waiting[], facts: BatchFacts): boolean {
  let isNew = false
  for (const one of batch) {
    if (one.hasFixedReads) continue
    const { looks } = facts
    for (const read of one.operation.reads(one.call, facts)) if (facts.ask(read)) isNew = true
    one.hasFixedReads = facts.looks === looks
  }
  return isNew
}

function unavailable(reason: string, cause?: unknown): StoreUnavailableError {
  return new StoreUnavailableError(`the ledger is not available: ${reason}`, { retryAfterSeconds: 2, cause })
}

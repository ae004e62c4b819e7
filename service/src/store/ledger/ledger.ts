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
  /** Whether all calls of a batch are for one account, as a database needs it that spreads accounts over machines. */
  readonly groupsByAccount?: boolean
  /** Max rows locked by others that are waited for at once, each by a lane of its own. Calls for more try again later. */
  readonly maxBlockedRows?: number
  /** How long a call may take. */
  readonly patienceMs?: number
  /** Called after each batch: calls that are made before it resolves are in the next. */
  readonly afterBatch?: () => Promise<void>
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
  /** The names of the rows that it locks first. */
  readonly locks: readonly string[]
  /** The account whose rows it changes. */
  readonly account: unknown
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
  readonly #groupsByAccount: boolean
  readonly #maxBlockedRows: number
  readonly #patienceMs: number
  readonly #afterBatch: LedgerOptions['afterBatch']
  readonly #queue: Waiting[] = []
  readonly #blockedRows = new Map<string, BlockedRow>()
  /** The rows that lanes are writing: others leave calls for them in the queue. */
  readonly #taken = new Set<string>()
  #stuckCalls = 0
  #busyLanes = 0
  #waiting = 0

  constructor(options: LedgerOptions) {
    this.#driver = options.driver
    this.#stopwatch = options.stopwatch
    this.#random = options.random
    this.#maxBatch = options.maxBatch ?? 128
    this.#maxWaiting = options.maxWaiting ?? 10_000
    this.#lanes = options.lanes ?? 1
    this.#groupsByAccount = options.groupsByAccount ?? false
    this.#maxBlockedRows = options.maxBlockedRows ?? 4
    this.#patienceMs = options.patienceMs ?? 10_000
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
  run<Call, Outcome>(operation: Operation<Call, Outcome>, call: Call): Promise<Outcome> {
    return new Promise<Outcome>((resolve, reject) => this.submit(operation, call, { resolve, reject }))
  }

  /** As `run`, for a caller who needs no promise. */
  submit<Call, Outcome>(operation: Operation<Call, Outcome>, call: Call, settle: Settle<Outcome>): void {
    if (this.#waiting >= this.#maxWaiting) {
      settle.reject(unavailable('too many calls wait for it'))
      return
    }
    this.#waiting += 1
    this.#enqueue({
      operation: operation as Operation<unknown, unknown>,
      call,
      settle: settle as Settle<unknown>,
      deadlineMs: this.#stopwatch.nowMs() + this.#patienceMs,
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
    if (this.#busyLanes >= this.#lanes) return
    this.#busyLanes += 1
    void this.#runLane()
  }

  async #runLane(): Promise<void> {
    // Calls of the same turn of the event loop form one batch.
    await Promise.resolve()
    for (;;) {
      const { batch, locks } = this.#takeBatch()
      if (batch.length === 0) break
      if (this.#queue.length > 0) this.#startLane()
      await this.#write(batch, undefined)
      for (const name of locks) this.#taken.delete(name)
      await this.#afterBatch?.()
    }
    this.#busyLanes -= 1
  }

  /** The next calls, without those for rows that another lane is writing. */
  #takeBatch(): { readonly batch: readonly Waiting[]; readonly locks: ReadonlySet<string> } {
    const locks = new Set<string>()
    const isChosen = this.#lanes > 1 || this.#groupsByAccount
    if (!isChosen) return { batch: this.#queue.splice(0, this.#maxBatch), locks }
    const batch: Waiting[] = []
    const left: Waiting[] = []
    let account: unknown
    // It looks ahead some way only: a row may have any number of calls.
    for (const one of this.#queue.splice(0, this.#maxBatch * 4)) {
      one.traits ??= traitsOf(one)
      if (this.#mayJoin(one.traits, { batch, account })) {
        account ??= one.traits.account
        for (const name of one.traits.locks) locks.add(name)
        batch.push(one)
      } else left.push(one)
    }
    this.#queue.unshift(...left)
    for (const name of locks) this.#taken.add(name)
    return { batch, locks }
  }

  #mayJoin(
    { locks, account }: Traits,
    others: { readonly batch: readonly Waiting[]; readonly account: unknown },
  ): boolean {
    if (others.batch.length >= this.#maxBatch || locks.some((name) => this.#taken.has(name))) return false
    return !this.#groupsByAccount || others.batch.length === 0 || account === others.account
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
        if (left.length === 0) return
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

  /** Writes a batch once; resolves to those that are left to be written, because they met rows that others have locked. */
  async #attempt(batch: readonly Waiting[], row: BlockedRow | undefined): Promise<readonly Waiting[]> {
    // It ends with the patience of the first that has to be told.
    const deadlineMs = batch.reduce((first, one) => Math.min(first, one.deadlineMs), Infinity)
    const { answers, blocked } = await this.#driver.transaction(
      (transaction) => decideAndCommit(transaction, batch, { waitsForLocks: row !== undefined }),
      { patienceMs: deadlineMs - this.#stopwatch.nowMs() },
    )
    this.#waiting -= answers.size
    for (const [one, outcome] of answers) one.settle.resolve(outcome)
    for (const [one, name] of blocked) this.#moveToRow(one, name)
    return []
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

function traitsOf({ operation, call }: Waiting): Traits {
  const reads = operation.reads(call, new BatchFacts({ isRerun: false }))
  const locked = reads.filter(({ isLocked }) => isLocked)
  const read = locked[0] ?? reads[0]
  const values = read?.kind === 'range' ? read.where : read?.key
  return { locks: locked.map(readText), account: values?.['accountId'] ?? values?.['id'] }
}

const minPauseMs = 2
const maxPauseMs = 500

/** A read that depends on others is found in as many steps; more of them are a bug. */
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
    if (!answers) continue
    await transaction.commit(facts.netChanges())
    return { answers, blocked }
  }
  throw new Error('an operation asks for ever more rows')
}

/**
 * Decides the calls one after the other, each on what those before it leave. Undefined when a call looks at a row that was
 * not read: then all of them are read and decided anew.
 */
function decideAll(batch: readonly Waiting[], facts: BatchFacts): ReadonlyMap<Waiting, unknown> | undefined {
  const answers = new Map<Waiting, unknown>()
  let isMissing = false
  for (const one of batch) {
    // What the others look at is read in the same step.
    if (addReads([one], facts)) isMissing = true
    if (isMissing) continue
    const decision = one.operation.decide(one.call, facts)
    facts.apply(decision.changes)
    answers.set(one, decision.outcome)
  }
  return isMissing ? undefined : answers
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

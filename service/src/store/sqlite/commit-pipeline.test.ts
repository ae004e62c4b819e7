import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { test } from 'node:test'

import type { Settled } from '../group-commit.ts'
import { CommitMarks, DurableReads } from './commit-marks.ts'
import { batchSize, CommitPipeline } from './commit-pipeline.ts'
import type { Call } from './ledger.ts'

/** A pipeline over a log of which the test says when it is synced; a call's outcome is its number. */
class Bench {
  readonly marks = new CommitMarks()
  /** What was written, answered and synced at once, in their order. */
  readonly events: string[] = []
  /** What arrives while the next batch is written. */
  arriving = 0
  #calls = 0
  readonly #syncs: ((error: Error | null) => void)[] = []
  readonly pipeline: CommitPipeline

  constructor({ maxBatch = 128 } = {}) {
    this.pipeline = new CommitPipeline({
      write: (calls) => this.#write(calls),
      syncNow: () => this.events.push('synced at once'),
      sync: (done) => {
        this.events.push('sync begins')
        this.#syncs.push(done)
      },
      answer: (outcomes) => {
        if (outcomes.length > 0) this.events.push(`answered ${namesOf(outcomes)}`)
      },
      takeArrived: () => {
        const count = this.arriving
        this.arriving = 0
        this.#arrive(count)
      },
      marks: this.marks,
      maxBatch,
    })
  }

  /** Hands over so many calls, and sees what comes of it until nothing happens by itself. */
  async submit(count: number): Promise<string[]> {
    this.#arrive(count)
    this.pipeline.goOn()
    return this.settle()
  }

  async endSync(error: Error | null = null): Promise<string[]> {
    const done = this.#syncs.shift()
    assert(done, 'nothing is being synced')
    done(error)
    return this.settle()
  }

  async settle(): Promise<string[]> {
    for (let turn = 0; turn < 20; turn++) await nextTurn()
    return this.events.splice(0)
  }

  #arrive(count: number): void {
    for (let index = 0; index < count; index++) {
      this.#calls += 1
      this.pipeline.add({ act: 'releaseExpiredHolds', input: [this.#calls, 1] })
    }
  }

  #write(calls: readonly Call[]): Settled<unknown>[] {
    this.marks.begin()
    const outcomes = calls.map(({ input }) => ({ value: input[0] }))
    this.events.push(`wrote ${namesOf(outcomes)}`)
    return outcomes
  }
}

function namesOf(outcomes: readonly Settled<unknown>[]): string {
  const numbers = outcomes.map((settled) => ('value' in settled ? String(settled.value) : 'error'))
  return numbers.length > 1 ? `${numbers[0]}-${numbers.at(-1)}` : String(numbers[0])
}

test('A lonely call is synced at once, and answered only after that [decision.9] [decision.52]', async () => {
  const bench = new Bench()
  assert.deepEqual(await bench.submit(1), ['wrote 1', 'synced at once', 'answered 1'])
  assert(bench.pipeline.isIdle)
  assert.equal(bench.marks.durable, bench.marks.begun)
})

test('While the disk is busy the next batch is written, and each is answered after a sync that began when it was written [decision.9] [decision.52]', async () => {
  const bench = new Bench()
  assert.deepEqual(await bench.submit(40), ['wrote 1-20', 'sync begins', 'wrote 21-36'])
  assert(bench.marks.durable < bench.marks.begun)
  assert.deepEqual(await bench.submit(20), ['wrote 37-52'])
  assert.deepEqual(await bench.endSync(), ['answered 1-20', 'sync begins'])
  assert.equal(bench.pipeline.isIdle, false)
  assert.deepEqual(await bench.endSync(), [
    'answered 21-52',
    'wrote 53-60',
    'synced at once',
    'answered 53-60',
  ])
  assert(bench.pipeline.isIdle)
})

test('While the disk is busy few calls wait for more, and are written when it is not', async () => {
  const bench = new Bench()
  bench.arriving = 3
  assert.deepEqual(await bench.submit(0), ['wrote 1-3', 'synced at once', 'answered 1-3'])
  assert.deepEqual(await bench.submit(20), ['wrote 4-19', 'sync begins'])
  assert.deepEqual(await bench.submit(2), [], 'six are too few')
  assert.deepEqual(await bench.endSync(), [
    'answered 4-19',
    'wrote 20-25',
    'synced at once',
    'answered 20-25',
  ])
})

test('What only reads is answered at once when nothing is on its way to the disk, and after it otherwise [decision.9]', async () => {
  const answered: string[] = []
  const marks = new CommitMarks()
  let endSync: (() => void) | undefined
  const pipeline = new CommitPipeline({
    write: (calls) => {
      if (calls.some(({ act }) => act !== 'readAgentFacts')) marks.begin()
      return calls.map(({ act }) => ({ value: act }))
    },
    syncNow: () => assert.fail('nothing was written'),
    sync: (done) => (endSync = () => done(null)),
    answer: (outcomes) =>
      answered.push(...outcomes.map((settled) => String('value' in settled && settled.value))),
    takeArrived: () => undefined,
    marks,
    maxBatch: 128,
  })
  const read = { act: 'readAgentFacts', input: [] } as unknown as Call
  pipeline.add(read)
  pipeline.goOn()
  assert.deepEqual(answered.splice(0), ['readAgentFacts'])
  for (let index = 0; index < 16; index++) pipeline.add({ act: 'releaseExpiredHolds', input: [0, 1] })
  for (let index = 0; index < 16; index++) pipeline.add(read)
  pipeline.goOn()
  for (let turn = 0; turn < 20; turn++) await nextTurn()
  assert.deepEqual(answered, [], 'the reads came after a commit that is not durable')
  endSync?.()
  assert.equal(answered.length, 32)
})

test('Without group commit each call is synced by itself', async () => {
  const bench = new Bench({ maxBatch: 1 })
  const events = [1, 2, 3].map((call) => [`wrote ${call}`, 'synced at once', `answered ${call}`])
  assert.deepEqual(await bench.submit(3), events.flat())
})

test('A sync that fails is answered for by nobody: it ends the thread [decision.27]', async () => {
  const bench = new Bench()
  await bench.submit(40)
  await assert.rejects(bench.endSync(new Error('EIO')), { message: 'EIO' })
  assert.deepEqual(await bench.settle(), [])
  assert(bench.marks.durable < bench.marks.begun)
})

test('Who reads what is not durable yet waits for it, and for nothing that comes later [decision.9] [decision.52]', async () => {
  const marks = new CommitMarks()
  const seen: string[] = []
  // The other thread has marks of its own, on the same memory.
  const reads = new DurableReads(new CommitMarks(marks.shared))
  assert.equal(reads.wait(), undefined, 'there is nothing to wait for')
  marks.begin()
  void reads.wait()?.then(() => seen.push('first'))
  marks.begin()
  void reads.wait()?.then(() => seen.push('second'))
  reads.letGo()
  await nextTurn()
  assert.deepEqual(seen, [])
  marks.durable = 1n
  reads.letGo()
  await nextTurn()
  assert.deepEqual(seen, ['first'])
  marks.durable = 2n
  reads.letGo()
  await nextTurn()
  assert.deepEqual(seen, ['first', 'second'])
  assert.equal(reads.wait(), undefined)
  marks.begin()
  const waiting = reads.wait()
  assert(waiting)
  reads.fail(new Error('the thread has ended'))
  await assert.rejects(waiting, { message: 'the thread has ended' })
  await assert.rejects(async () => reads.wait(), { message: 'the thread has ended' })
})

test('Of many calls that wait half are written together, of few all', () => {
  const rows = [
    { waiting: 1, together: 16 },
    { waiting: 16, together: 16 },
    { waiting: 33, together: 17 },
    { waiting: 64, together: 32 },
    { waiting: 1_000, together: 128 },
  ]
  for (const { waiting, together } of rows) assert.equal(batchSize(waiting, 128), together, `${waiting}`)
  assert.equal(batchSize(64, 1), 1, 'without group commit')
})

import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { test } from 'node:test'

import type { Settled } from '../group-commit.ts'
import { CommitLoop } from './commit-loop.ts'
import { CommitMarks, DurableReads } from '../ledger/sqlite/commit-marks.ts'
import type { Call } from './ledger.ts'

/** A loop over a log whose syncs are noted; a call's outcome is its number. */
class Bench {
  readonly marks = new CommitMarks()
  /** What was written, synced and answered, in their order. */
  readonly events: string[] = []
  /** What arrives while a batch is written. */
  arriving = 0
  /** What the disk says, when it fails. */
  failure: Error | undefined
  #calls = 0
  readonly loop: CommitLoop

  constructor({ maxBatch = 128 } = {}) {
    this.loop = new CommitLoop({
      write: (calls) => this.#write(calls),
      sync: () => {
        if (this.failure) throw this.failure
        this.events.push('synced')
      },
      answer: (outcomes) => {
        this.events.push(
          `${this.marks.durable < this.marks.begun ? 'too soon ' : ''}answered ${namesOf(outcomes)}`,
        )
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
    this.loop.goOn()
    for (let turn = 0; turn < 20; turn++) await nextTurn()
    return this.events.splice(0)
  }

  #arrive(count: number): void {
    for (let index = 0; index < count; index++) {
      this.#calls += 1
      this.loop.add({ act: 'releaseExpiredHolds', input: [this.#calls, 1] })
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

test('A lonely call is written, synced and answered at once [decision.9] [decision.52]', async () => {
  const bench = new Bench()
  assert.deepEqual(await bench.submit(1), ['wrote 1', 'synced', 'answered 1'])
  assert(bench.loop.isIdle)
  assert.equal(bench.marks.durable, bench.marks.begun)
})

test('All that waits is one batch, and what arrives meanwhile is the next [decision.9] [decision.52]', async () => {
  const bench = new Bench()
  bench.arriving = 3
  assert.deepEqual(await bench.submit(40), ['wrote 1-43', 'synced', 'answered 1-43'])
  bench.loop.add({ act: 'releaseExpiredHolds', input: [0, 1] })
  assert.equal(bench.loop.isIdle, false)
  assert.deepEqual(await bench.submit(0), ['wrote 0', 'synced', 'answered 0'])
  assert(bench.loop.isIdle)
})

test('No batch is larger than the most that there may be in one, and each has a sync of its own', async () => {
  const bench = new Bench()
  const events = ['1-128', '129-256', '257-300'].map((calls) => [
    `wrote ${calls}`,
    'synced',
    `answered ${calls}`,
  ])
  assert.deepEqual(await bench.submit(300), events.flat())
})

test('What only reads is answered without a sync when nothing was written with it [decision.9]', () => {
  const events: string[] = []
  const marks = new CommitMarks()
  const loop = new CommitLoop({
    write: (calls) => {
      if (calls.some(({ act }) => act !== 'readAgentFacts')) marks.begin()
      return calls.map(({ act }) => ({ value: act }))
    },
    sync: () => events.push('synced'),
    answer: ({ length }) => events.push(`answered ${length}`),
    takeArrived: () => undefined,
    marks,
    maxBatch: 128,
  })
  const read = { act: 'readAgentFacts', input: [] } as unknown as Call
  loop.add(read)
  loop.goOn()
  assert.deepEqual(events.splice(0), ['answered 1'])
  loop.add({ act: 'releaseExpiredHolds', input: [0, 1] })
  loop.add(read)
  loop.goOn()
  assert.deepEqual(events, ['synced', 'answered 2'], 'the read came after a commit')
})

test('Without group commit each call is synced by itself', async () => {
  const bench = new Bench({ maxBatch: 1 })
  const events = [1, 2, 3].map((call) => [`wrote ${call}`, 'synced', `answered ${call}`])
  assert.deepEqual(await bench.submit(3), events.flat())
})

test('A sync that fails is answered for by nobody: it ends the thread [decision.27]', async () => {
  const bench = new Bench()
  bench.failure = new Error('EIO')
  await assert.rejects(bench.submit(40), { message: 'EIO' })
  assert.deepEqual(bench.events, ['wrote 1-40'])
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

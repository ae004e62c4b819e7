import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'

import { GroupCommit, type GroupCommitOptions, type Settled } from './group-commit.ts'
import { StoreUnavailableError } from './store.ts'

test('Calls that arrive in one turn are written as one batch, each with its own outcome', async () => {
  const { queue, batches } = doubling()
  const outcomes = await Promise.all([1, 2, 3].map((call) => queue.submit(call)))
  assert.deepEqual(outcomes, [2, 4, 6])
  assert.deepEqual(batches, [[1, 2, 3]])
})

test('Calls that arrive while a batch is being written go into the next one, together and in their order', async () => {
  const { queue, batches, writes } = manual()
  const first = queue.submit(1)
  await turnOfTheLoop()
  const later = [queue.submit(2), queue.submit(3)]
  await turnOfTheLoop()
  later.push(queue.submit(4))
  assert.deepEqual(batches, [[1]], 'nothing is written beside the batch that is being written')
  writes[0]?.finish()
  assert.equal(await first, 1)
  await turnOfTheLoop()
  assert.deepEqual(batches, [[1], [2, 3, 4]])
  writes[1]?.finish()
  assert.deepEqual(await Promise.all(later), [2, 3, 4])
})

test('A lonely call waits for no timer: it is written in the very next turn of the event loop', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
  const { queue, batches } = doubling()
  for (const call of [1, 2, 3]) {
    const outcome = queue.submit(call)
    await turnOfTheLoop()
    assert.deepEqual(batches.at(-1), [call])
    assert.equal(await outcome, call * 2)
  }
})

test('A batch is begun beside another one when enough calls wait, and until then waits for the other to end', async () => {
  const { queue, batches, writes } = manual({ lanes: 2, beside: { least: 3, waitMs: 60_000 } })
  const outcomes = [1, 2, 3, 4].map((call) => queue.submit(call))
  await turnOfTheLoop()
  outcomes.push(queue.submit(5), queue.submit(6))
  await turnOfTheLoop()
  assert.deepEqual(batches, [[1, 2, 3, 4]])
  outcomes.push(queue.submit(7))
  await turnOfTheLoop()
  assert.deepEqual(batches, [
    [1, 2, 3, 4],
    [5, 6, 7],
  ])
  outcomes.push(queue.submit(8))
  writes[0]?.finish()
  await turnOfTheLoop()
  assert.equal(batches.length, 2, 'the other batch is still under way')
  writes[1]?.finish()
  await turnOfTheLoop()
  await turnOfTheLoop()
  assert.deepEqual(batches.at(-1), [8])
  writes[2]?.finish()
  assert.deepEqual(await Promise.all(outcomes), [1, 2, 3, 4, 5, 6, 7, 8])
  await queue.drain()
})

test('Beside a small batch one as small is begun at once', async () => {
  const { queue, batches, writes } = manual({ lanes: 2, beside: { least: 16, waitMs: 60_000 } })
  const outcomes = [queue.submit(1)]
  await turnOfTheLoop()
  outcomes.push(queue.submit(2))
  await turnOfTheLoop()
  assert.deepEqual(batches, [[1], [2]])
  for (const { finish } of writes) finish()
  assert.deepEqual(await Promise.all(outcomes), [1, 2])
})

test('Where a batch hangs, few calls are written beside it after a while', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const { queue, batches, writes } = manual({ lanes: 2, beside: { least: 3, waitMs: 10 } })
  const hanging = [1, 2, 3].map((call) => queue.submit(call))
  await turnOfTheLoop()
  const few = queue.submit(4)
  await turnOfTheLoop()
  context.mock.timers.tick(9)
  await turnOfTheLoop()
  assert.deepEqual(batches, [[1, 2, 3]])
  context.mock.timers.tick(1)
  await turnOfTheLoop()
  assert.deepEqual(batches, [[1, 2, 3], [4]])
  writes[1]?.finish()
  assert.equal(await few, 4)
  writes[0]?.finish()
  assert.deepEqual(await Promise.all(hanging), [1, 2, 3])
})

test('An answer leaves only after its batch is durable', async () => {
  const { queue, writes } = manual()
  const settled: number[] = []
  const outcome = queue.submit(1).then((value) => settled.push(value))
  for (let turn = 0; turn < 5; turn++) await turnOfTheLoop()
  assert.deepEqual(settled, [])
  writes[0]?.finish()
  await outcome
  assert.deepEqual(settled, [1])
})

for (const kind of ['synchronous', 'asynchronous'] as const) {
  test(`One bad call never fails its neighbours, with a ${kind} writer`, async () => {
    const queue = new GroupCommit<number, number>({
      writeBatch: kind === 'synchronous' ? failTwo : (calls) => Promise.resolve(failTwo(calls)),
      maxBatch: 10,
      maxWaiting: 10,
    })
    const outcomes = await Promise.allSettled([1, 2, 3].map((call) => queue.submit(call)))
    assert.deepEqual(
      outcomes.map((one) => (one.status === 'fulfilled' ? one.value : String(one.reason))),
      [1, 'RangeError: two', 3],
    )
  })

  test(`A batch that fails as a whole, with a ${kind} writer, fails its own calls and no others`, async () => {
    let written = 0
    const failure = new Error('the disk is full')
    const writeBatch = (calls: readonly number[]): Settled<number>[] => {
      if (++written === 1) throw failure
      return calls.map((call) => ({ value: call }))
    }
    const queue = new GroupCommit<number, number>({
      // oxlint-disable-next-line typescript/require-await -- what it throws must become a rejection
      writeBatch: kind === 'synchronous' ? writeBatch : async (calls) => writeBatch(calls),
      maxBatch: 2,
      maxWaiting: 10,
    })
    const outcomes = await Promise.allSettled([1, 2, 3, 4].map((call) => queue.submit(call)))
    assert.deepEqual(outcomes, [
      { status: 'rejected', reason: failure },
      { status: 'rejected', reason: failure },
      { status: 'fulfilled', value: 3 },
      { status: 'fulfilled', value: 4 },
    ])
    assert.equal(await queue.submit(5), 5, 'the queue goes on')
  })
}

test('A writer that forgets a call fails that call, and an undefined outcome is an outcome', async () => {
  const queue = new GroupCommit<number, undefined>({
    writeBatch: () => [{ value: undefined }],
    maxBatch: 10,
    maxWaiting: 10,
  })
  const [first, second] = await Promise.allSettled([queue.submit(1), queue.submit(2)])
  assert.deepEqual(first, { status: 'fulfilled', value: undefined })
  assert.equal(second?.status, 'rejected')
})

test('A batch holds maxBatch calls at the most, and the rest follow in their order', async () => {
  const { queue, batches } = doubling({ maxBatch: 3 })
  const calls = Array.from({ length: 8 }, (_, index) => index)
  const outcomes = await Promise.all(calls.map((call) => queue.submit(call)))
  assert.deepEqual(
    outcomes,
    calls.map((call) => call * 2),
  )
  assert.deepEqual(batches, [
    [0, 1, 2],
    [3, 4, 5],
    [6, 7],
  ])
})

test('Calls beyond maxWaiting are refused as unavailable and not written', async () => {
  const { queue, batches, writes } = manual({ maxWaiting: 2 })
  const writing = queue.submit(1)
  await turnOfTheLoop()
  const waiting = [queue.submit(2), queue.submit(3)]
  await assert.rejects(queue.submit(4), (error) => {
    assert(error instanceof StoreUnavailableError)
    assert.equal(error.retryAfterSeconds, 1)
    return true
  })
  writes[0]?.finish()
  await writing
  await turnOfTheLoop()
  const afterwards = queue.submit(5)
  writes[1]?.finish()
  assert.deepEqual(await Promise.all(waiting), [2, 3])
  await turnOfTheLoop()
  writes[2]?.finish()
  assert.equal(await afterwards, 5, 'there is room again')
  assert.deepEqual(batches, [[1], [2, 3], [5]])
})

test('A drain resolves at once when nothing is under way', async () => {
  const { queue, batches } = doubling()
  await queue.drain()
  await queue.submit(1)
  await queue.drain()
  assert.deepEqual(batches, [[1]])
})

test('A drain waits for what is being written, for what waits, and for what still arrives meanwhile', async () => {
  const { queue, batches, writes } = manual({ maxBatch: 1 })
  const calls = [queue.submit(1), queue.submit(2)]
  const order: string[] = []
  const drained = Promise.all([queue.drain(), queue.drain()]).then(() => order.push('drained'))
  await turnOfTheLoop()
  writes[0]?.finish()
  await turnOfTheLoop()
  calls.push(queue.submit(3))
  await turnOfTheLoop()
  writes[1]?.finish()
  await turnOfTheLoop()
  await turnOfTheLoop()
  assert.deepEqual(order, [])
  writes[2]?.finish()
  assert.deepEqual(await Promise.all(calls), [1, 2, 3])
  await drained
  assert.deepEqual(order, ['drained'])
  assert.deepEqual(batches, [[1], [2], [3]])
})

test('A drain resolves after a batch that failed, too', async () => {
  const queue = new GroupCommit<number, number>({
    writeBatch: () => Promise.reject(new Error('the disk is full')),
    maxBatch: 10,
    maxWaiting: 10,
  })
  const failed = assert.rejects(queue.submit(1), /the disk is full/)
  await queue.drain()
  await failed
})

test('A thousand calls from a hundred callers that each wait for their answer all get the right one', async () => {
  const { queue, batches } = doubling({ maxBatch: 64 })
  const callers = Array.from({ length: 100 }, async (_, caller) => {
    for (let round = 0; round < 10; round++) {
      const call = caller * 10 + round
      assert.equal(await queue.submit(call), call * 2)
    }
  })
  await Promise.all(callers)
  const written = batches.flat().toSorted((left, right) => left - right)
  assert.deepEqual(
    written,
    Array.from({ length: 1_000 }, (_, call) => call),
  )
  assert(batches.length < 100, `under load the batches grow: ${batches.length} for 1,000 calls`)
})

function failTwo(calls: readonly number[]): Settled<number>[] {
  return calls.map((call) => (call === 2 ? { error: new RangeError('two') } : { value: call }))
}

interface Bounds {
  readonly maxBatch?: number
  readonly maxWaiting?: number
}

/** A queue whose writer doubles each call at once, and the batches that it was given. */
function doubling({ maxBatch = 100, maxWaiting = 1_000 }: Bounds = {}) {
  const batches: number[][] = []
  const queue = new GroupCommit<number, number>({
    writeBatch: (calls) => {
      batches.push([...calls])
      return calls.map((call) => ({ value: call * 2 }))
    },
    maxBatch,
    maxWaiting,
  })
  return { queue, batches }
}

type LaneOptions = Pick<GroupCommitOptions<number, number>, 'lanes' | 'beside'>

/** A queue whose batches are written when the test says so, and then give back their calls. */
function manual({ maxBatch = 100, maxWaiting = 1_000, ...lanes }: Bounds & LaneOptions = {}) {
  const batches: number[][] = []
  const writes: { finish: () => void }[] = []
  const queue = new GroupCommit<number, number>({
    writeBatch: (calls) => {
      batches.push([...calls])
      return new Promise((resolve) => {
        writes.push({ finish: () => resolve(calls.map((call) => ({ value: call }))) })
      })
    },
    maxBatch,
    maxWaiting,
    ...lanes,
  })
  return { queue, batches, writes }
}

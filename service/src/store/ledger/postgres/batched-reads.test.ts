import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'

import { StoreUnavailableError } from '../../store.ts'
import { BatchedReads, type BatchedReadsOptions } from './batched-reads.ts'

test('Keys requested in one turn of the event loop are read as one batch, each with its own result', async () => {
  const { reads, batches } = doubling()
  assert.deepEqual(await Promise.all([1, 2, 3].map((key) => reads.find(key))), [2, 4, 6])
  assert.deepEqual(batches, [[1, 2, 3]])
})

test('Keys requested while two batches are being read form the next one, in order', async () => {
  const { reads, batches, pending } = manual()
  const first = [reads.find(1)]
  await turnOfTheLoop()
  first.push(reads.find(2))
  await turnOfTheLoop()
  const later = [reads.find(3), reads.find(4)]
  await turnOfTheLoop()
  later.push(reads.find(5))
  assert.deepEqual(batches, [[1], [2]], 'no third batch starts')
  pending[0]?.finish()
  assert.equal(await first[0], 1)
  await turnOfTheLoop()
  assert.deepEqual(batches, [[1], [2], [3, 4, 5]])
  pending[1]?.finish()
  pending[2]?.finish()
  assert.deepEqual(await Promise.all(later), [3, 4, 5])
})

test('A single key waits for no timer: it is read in the next turn of the event loop', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
  const { reads, batches } = doubling()
  for (const key of [1, 2, 3]) {
    const found = reads.find(key)
    await turnOfTheLoop()
    assert.deepEqual(batches.at(-1), [key])
    assert.equal(await found, key * 2)
  }
})

test('A batch that fails rejects its own keys and no others', async () => {
  let batches = 0
  const failure = new Error('the connection broke')
  const reads = new BatchedReads<number, number>({
    // oxlint-disable-next-line typescript/require-await -- an exception must become a rejection
    read: async (keys) => {
      if (++batches === 1) throw failure
      return keys
    },
    maxBatch: 2,
    maxWaiting: 10,
  })
  assert.deepEqual(await Promise.allSettled([1, 2, 3, 4].map((key) => reads.find(key))), [
    { status: 'rejected', reason: failure },
    { status: 'rejected', reason: failure },
    { status: 'fulfilled', value: 3 },
    { status: 'fulfilled', value: 4 },
  ])
  assert.equal(await reads.find(5), 5, 'it continues')
})

test('A batch has at most maxBatch keys, and the others follow in order', async () => {
  const { reads, batches } = doubling({ maxBatch: 3 })
  const keys = Array.from({ length: 8 }, (_, index) => index)
  assert.deepEqual(
    await Promise.all(keys.map((key) => reads.find(key))),
    keys.map((key) => key * 2),
  )
  assert.deepEqual(batches, [
    [0, 1, 2],
    [3, 4, 5],
    [6, 7],
  ])
})

test('Keys beyond maxWaiting are refused as unavailable and not read', async () => {
  const { reads, batches, pending } = manual({ maxBatch: 1, maxWaiting: 2 })
  const reading = [reads.find(1), reads.find(2)]
  await turnOfTheLoop()
  await turnOfTheLoop()
  const waiting = [reads.find(3), reads.find(4)]
  await assert.rejects(reads.find(5), (error) => {
    assert(error instanceof StoreUnavailableError)
    assert.equal(error.retryAfterSeconds, 1)
    return true
  })
  for (const batch of [0, 1, 2, 3]) {
    pending[batch]?.finish()
    await turnOfTheLoop()
    await turnOfTheLoop()
  }
  assert.deepEqual(await Promise.all([...reading, ...waiting]), [1, 2, 3, 4])
  assert.deepEqual(batches, [[1], [2], [3], [4]])
})

test('A drain resolves at once if nothing is being read', async () => {
  const { reads, batches } = doubling()
  await reads.drain()
  await reads.find(1)
  await reads.drain()
  assert.deepEqual(batches, [[1]])
})

test('A drain waits for running reads, waiting keys and keys that still arrive', async () => {
  const { reads, batches, pending } = manual({ maxBatch: 1 })
  const keys = [reads.find(1), reads.find(2)]
  const order: string[] = []
  const drained = Promise.all([reads.drain(), reads.drain()]).then(() => order.push('drained'))
  await turnOfTheLoop()
  pending[0]?.finish()
  await turnOfTheLoop()
  keys.push(reads.find(3))
  await turnOfTheLoop()
  pending[1]?.finish()
  await turnOfTheLoop()
  await turnOfTheLoop()
  assert.deepEqual(order, [])
  pending[2]?.finish()
  assert.deepEqual(await Promise.all(keys), [1, 2, 3])
  await drained
  assert.deepEqual(order, ['drained'])
  assert.deepEqual(batches, [[1], [2], [3]])
})

test('A drain also resolves after a batch that failed', async () => {
  const reads = new BatchedReads<number, number>({
    read: () => Promise.reject(new Error('the connection broke')),
    maxBatch: 10,
    maxWaiting: 10,
  })
  const failed = assert.rejects(reads.find(1), /the connection broke/)
  await reads.drain()
  await failed
})

test('A thousand keys from a hundred callers all get the right result', async () => {
  const { reads, batches } = doubling({ maxBatch: 64 })
  const callers = Array.from({ length: 100 }, async (_, caller) => {
    for (let round = 0; round < 10; round++) {
      const key = caller * 10 + round
      assert.equal(await reads.find(key), key * 2)
    }
  })
  await Promise.all(callers)
  assert.deepEqual(
    batches.flat().toSorted((left, right) => left - right),
    Array.from({ length: 1_000 }, (_, key) => key),
  )
  assert(batches.length < 100, `under load the batches grow: ${batches.length} for 1,000 keys`)
})

type Options = Partial<Omit<BatchedReadsOptions<number, number>, 'read'>>

const defaults = { maxBatch: 100, maxWaiting: 1_000 }

/** Doubles each key at once. */
function doubling(options?: Options) {
  const batches: number[][] = []
  const reads = new BatchedReads<number, number>({
    ...defaults,
    ...options,
    read: (keys) => {
      batches.push([...keys])
      return Promise.resolve(keys.map((key) => key * 2))
    },
  })
  return { reads, batches }
}

/** Returns the keys themselves, once the test finishes their batch. */
function manual(options?: Options) {
  const batches: number[][] = []
  const pending: { finish: () => void }[] = []
  const reads = new BatchedReads<number, number>({
    ...defaults,
    ...options,
    read: (keys) => {
      batches.push([...keys])
      return new Promise((resolve) => pending.push({ finish: () => resolve(keys) }))
    },
  })
  return { reads, batches, pending }
}

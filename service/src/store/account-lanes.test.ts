import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'

import { AccountLanes } from './account-lanes.ts'
import { StoreUnavailableError } from './store.ts'

test('A batch holds calls of one account only, in their order [decision.80]', async () => {
  const { queue, batches, finish } = manual({ lanes: 3 })
  const calls = ['a1', 'b1', 'a2', 'c1', 'b2', 'a3'].map((call) => queue.submit(call))
  await turnOfTheLoop()
  assert.deepEqual(batches, [['a1', 'a2', 'a3'], ['b1', 'b2'], ['c1']])
  finish('b1', 'c1', 'a1')
  assert.deepEqual(await Promise.all(calls), ['a1!', 'b1!', 'a2!', 'c1!', 'b2!', 'a3!'])
})

test('An account has one batch on its way, and as many accounts as there are lanes have one [decision.80]', async () => {
  const { queue, batches, finish } = manual({ lanes: 2 })
  for (const call of ['a1', 'b1', 'c1']) void queue.submit(call)
  await turnOfTheLoop()
  void queue.submit('a2')
  await turnOfTheLoop()
  assert.deepEqual(batches, [['a1'], ['b1']], 'c waits for a lane, and a for its own batch')
  finish('b1')
  await settled()
  assert.deepEqual(batches.slice(2), [['c1']])
  finish('a1')
  await settled()
  assert.deepEqual(batches.slice(3), [['a2']])
  finish('c1', 'a2')
  await queue.drain()
})

test('Accounts take turns: a busy one keeps no other waiting for more than a batch [decision.80]', async () => {
  const { queue, batches, finish } = manual({ lanes: 1, maxBatch: 2 })
  for (const call of ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'c1', 'c2', 'c3']) void queue.submit(call)
  const order = [['a1', 'a2'], ['b1'], ['c1', 'c2'], ['a3', 'a4'], ['c3'], ['a5']]
  for (const batch of order) {
    await settled()
    assert.deepEqual(batches.at(-1), batch)
    finish(batch[0] ?? '')
  }
  await queue.drain()
  assert.deepEqual(batches, order)
})

test('One call more than maxWaiting is turned away, whosever it is, and written nowhere [decision.27] [decision.80]', async () => {
  const { queue, batches, finish } = manual({ lanes: 1, maxWaiting: 2 })
  const writing = queue.submit('a1')
  await turnOfTheLoop()
  const waiting = [queue.submit('b1'), queue.submit('c1')]
  for (const call of ['a2', 'd1']) await assert.rejects(queue.submit(call), StoreUnavailableError)
  finish('a1')
  await writing
  await settled()
  const afterwards = queue.submit('d2')
  for (const call of ['b1', 'c1', 'd2']) {
    finish(call)
    await settled()
  }
  assert.deepEqual(await Promise.all([...waiting, afterwards]), ['b1!', 'c1!', 'd2!'])
  assert.deepEqual(batches, [['a1'], ['b1'], ['c1'], ['d2']])
})

test('A batch that fails fails its own calls, and its account goes on [decision.80]', async () => {
  const { queue, finish, fail } = manual({ lanes: 2 })
  const calls = [queue.submit('a1'), queue.submit('b1')]
  await turnOfTheLoop()
  fail('a1', new Error('the machine of a is gone'))
  finish('b1')
  const [first, second] = await Promise.allSettled(calls)
  assert.equal(first?.status, 'rejected')
  assert.deepEqual(second, { status: 'fulfilled', value: 'b1!' })
  const again = queue.submit('a2')
  await settled()
  finish('a2')
  assert.equal(await again, 'a2!')
})

test('A drain waits for what is being written and for what waits', async () => {
  const { queue, finish } = manual({ lanes: 1 })
  await queue.drain()
  const calls = [queue.submit('a1'), queue.submit('b1')]
  let isDrained = false
  const drained = queue.drain().then(() => (isDrained = true))
  await settled()
  finish('a1')
  await settled()
  assert.equal(isDrained, false)
  finish('b1')
  await drained
  await Promise.all(calls)
})

/** Lanes whose batches end when the test says so; the account of a call is its first letter. */
function manual(options: { lanes: number; maxBatch?: number; maxWaiting?: number }) {
  const batches: (readonly string[])[] = []
  const writes = new Map<string, PromiseWithResolvers<void>>()
  const queue = new AccountLanes<string, string>({
    maxBatch: 10,
    maxWaiting: 100,
    ...options,
    accountOf: (call) => call.slice(0, 1),
    writeBatch: async (calls) => {
      batches.push(calls)
      const write = Promise.withResolvers<void>()
      writes.set(calls[0] ?? '', write)
      await write.promise
      return calls.map((call) => ({ value: `${call}!` }))
    },
  })
  return {
    queue,
    batches,
    finish: (...calls: string[]) => {
      for (const call of calls) writes.get(call)?.resolve()
    },
    fail: (call: string, error: Error) => writes.get(call)?.reject(error),
  }
}

/** Lets everything happen that waits for nothing but the event loop. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await turnOfTheLoop()
}

import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'

import { createStreamSlots } from './stream-slots.ts'

function openStream(): Readable {
  const stream = new Readable({ read: () => undefined })
  stream.on('error', () => undefined)
  return stream
}

test('Accounts with all slots make room for one with fewer: the oldest stream of the largest account ends', () => {
  const slots = createStreamSlots({ most: 8, mostOfAccount: 2 })
  const held = ['a', 'b', 'c', 'd'].flatMap((account) =>
    [0, 1].map(() => {
      const stream = openStream()
      assert.equal(slots.take(account, stream), true)
      return stream
    }),
  )
  const honest = openStream()
  assert.equal(slots.take('honest', honest), true)
  assert.deepEqual(
    held.map(({ destroyed }) => destroyed),
    [true, false, false, false, false, false, false, false],
  )
  assert.equal(slots.open, 8)
})

test('No account loses a stream to one that would then have more', () => {
  const slots = createStreamSlots({ most: 2, mostOfAccount: 2 })
  const streams = ['a', 'b'].map((account) => {
    const stream = openStream()
    slots.take(account, stream)
    return stream
  })
  assert.equal(slots.take('c', openStream()), false)
  assert.equal(slots.take('a', openStream()), false)
  assert.ok(streams.every(({ destroyed }) => !destroyed))
})

test('Each account has its own limit, and a finished stream frees its slot', async () => {
  const slots = createStreamSlots({ most: 8, mostOfAccount: 2 })
  const [first, second] = [openStream(), openStream()]
  assert.equal(slots.take('a', first), true)
  assert.equal(slots.take('a', second), true)
  assert.equal(slots.take('a', openStream()), false)
  first.destroy()
  await new Promise((resolve) => first.once('close', resolve))
  assert.equal(slots.open, 1)
  assert.equal(slots.take('a', openStream()), true)
})

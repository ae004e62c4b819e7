import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Packer, Unpacker } from './packing.ts'

test('Packed values are unpacked unchanged, and field names are sent once', () => {
  const packer = new Packer()
  const unpacker = new Unpacker()
  const values = [
    { one: 1n, two: null },
    { one: 2n, two: ['a'] },
    { two: 3, one: 4 },
    'text',
    undefined,
    [1, 2],
    {},
    null,
  ]
  for (const [at, value] of values.entries()) packer.add('label', at, value)
  assert.equal(packer.count, values.length)
  packer.add('other', 7, { one: 5n, two: 6 })
  const unpacked: unknown[] = []
  unpacker.unpack(structuredClone(packer.take()), (...item) => unpacked.push(item))
  assert.deepEqual(unpacked, [
    ...values.map((value, at) => ['label', at, value]),
    ['other', 7, { one: 5n, two: 6 }],
  ])
  assert.equal(packer.count, 0)
  packer.add('label', 9, { two: 6, one: 5n })
  const parcel = packer.take()
  assert.deepEqual(parcel.shapes, [])
  unpacker.unpack(parcel, (label, number, value) =>
    assert.deepEqual([label, number, value], ['label', 9, { two: 6, one: 5n }]),
  )
})

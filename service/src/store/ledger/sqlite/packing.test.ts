import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Packer, Unpacker } from './packing.ts'

test('What is packed comes out as it was, and the names of its fields are sent once', () => {
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
  const shapes = []
  for (const value of values) {
    const packed = structuredClone(packer.pack('label', value))
    shapes.push(...packer.takeFresh())
    unpacker.learn(structuredClone(shapes.splice(0)))
    assert.deepEqual(unpacker.unpack(packed), { label: 'label', value })
  }
  packer.pack('label', { one: 5n, two: 6 })
  assert.deepEqual(packer.takeFresh(), [])
  packer.pack('other', { one: 5n, two: 6 })
  assert.deepEqual(packer.takeFresh(), [['other', ['one', 'two']]])
})

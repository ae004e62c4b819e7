import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Packer, Unpacker } from './packing.ts'

const odd = JSON.parse('{ "a b": 1, "__proto__": { "admin": true }, "x-y": [{ "c": null }] }') as object

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

test('The names in an inner object are sent once, and names that tenants choose neither run nor fill the memory', () => {
  const packer = new Packer()
  const unpacker = new Unpacker()
  const send = (value: unknown) => {
    packer.add('label', 1, value)
    const parcel = structuredClone(packer.take())
    const unpacked: unknown[] = []
    unpacker.unpack(parcel, (_label, _number, one) => unpacked.push(one))
    assert.deepStrictEqual(unpacked, [value])
    return parcel
  }
  send({ hold: { nonce: 'n', metadata: { team: 'one' } }, actor: 'key_1' })
  const again = send({ hold: { nonce: 'o', metadata: { order: 'two' } }, actor: 'key_2' })
  assert.deepEqual(again, { shapes: [], items: [0, 1, 'o', { order: 'two' }, 'key_2'] })
  send({ hold: null, actor: 'key_1' })
  send(odd)
  send({ hold: odd, actor: undefined })
  const shapes = Array.from(
    { length: 2_000 },
    (_, index) => send({ metadata: { [`name${index}`]: index } }).shapes,
  )
  assert.ok(shapes.flat().length < 1_000)
})

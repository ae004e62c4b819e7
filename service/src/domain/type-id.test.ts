import assert from 'node:assert/strict'
import { test } from 'node:test'

import { createIds } from '../ids.ts'
import { seededRandom } from '../../testing/seeded-random.ts'
import { idBytes, idPrefixes, idText, type IdKind } from './type-id.ts'

const kinds = Object.keys(idPrefixes) as IdKind[]

test('An id converts to its 16 bytes and back, and the bytes sort like the texts', () => {
  const random = seededRandom(1)
  const ids = createIds(() => Date.UTC(2026, 10, 20), random.bytes)
  for (const kind of [...kinds, 'nonce'] as const) {
    let before: Buffer | undefined
    for (let round = 0; round < 200; round++) {
      const text = kind === 'nonce' ? ids.nonce() : ids.next(kind)
      const bytes = idBytes(kind, text)
      assert(bytes)
      assert.equal(bytes.length, 16)
      assert.equal(idText(kind, bytes), text)
      assert.ok(!before || Buffer.compare(before, bytes) < 0)
      before = bytes
    }
    const any = Buffer.from(random.bytes(16))
    assert.deepEqual(idBytes(kind, idText(kind, any)), any)
  }
  assert.equal(idText('mandate', Buffer.alloc(16)), 'mandate_00000000000000000000000000')
  assert.equal(idText('mandate', Buffer.alloc(16, 255)), 'mandate_7zzzzzzzzzzzzzzzzzzzzzzzzz')
  assert.equal(
    idText('mandate', Buffer.from('01890a5dac96774bbcceb302099a8057', 'hex')),
    'mandate_01h455vb4pex5vsknk084sn02q',
  )
})

test('A text that is not an id has no bytes', () => {
  const suffix = '01h455vb4pex5vsknk084sn02q'
  for (const text of [
    '',
    'mandate',
    'mandate_',
    suffix,
    `agent_${suffix}`,
    `MANDATE_${suffix}`,
    `mandate_${suffix.toUpperCase()}`,
    `mandate_${suffix.slice(1)}`,
    `mandate_${suffix}0`,
    `mandate_8${suffix.slice(1)}`,
    `mandate_${suffix.slice(1)}u`,
    `mandate_${suffix.slice(1)}ü`,
    `mandate_${suffix.slice(1)}\0`,
    ` mandate_${suffix.slice(1)}`,
    '01890a5d-ac96-774b-bcce-b302099a8057',
  ]) {
    assert.equal(idBytes('mandate', text), undefined, text)
  }
  for (const text of [
    '',
    suffix,
    '01890A5D-AC96-774B-BCCE-B302099A8057',
    '01890a5dac96774bbcceb302099a8057',
    '01890a5d-ac96-774b-bcce-b302099a805g',
    '01890a5d-ac96-774b-bcce-b302099a8057\n',
  ]) {
    assert.equal(idBytes('nonce', text), undefined, text)
  }
})

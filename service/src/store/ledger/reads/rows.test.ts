import assert from 'node:assert/strict'
import { test } from 'node:test'

import { idText } from '../../../domain/type-id.ts'
import { seededRandom } from '../../../../testing/seeded-random.ts'
import { spelling } from '../sqlite/sqlite-reader.ts'
import { firstId } from './rows.ts'

const first = Buffer.alloc(16)
const last = Buffer.alloc(16, 0xff)

test('A page starts at the first id that does not sort before its cursor, whatever text that is', () => {
  const random = seededRandom(1)
  const letters = '0123456789abcdefghijklmnopqrstuvwxyzAZ-_ '.split('') as unknown as readonly [string]
  for (let round = 0; round < 20_000; round++) {
    const start = random.pick(['txn_0', 'txn_7', 'txn_', 'txn', 'a', 'z', ''])
    const text = start + Array.from({ length: random.below(30) }, () => random.pick(letters)).join('')
    const bytes = firstId('transaction', text).render(spelling).values[0] as Buffer
    // All ids sort before some texts; then it is the last id.
    if (!bytes.equals(last)) assert.ok(idText('transaction', bytes) >= text.slice(0, 30), text)
    if (!bytes.equals(first)) assert.ok(idText('transaction', before(bytes)) < text, text)
  }
})
test('A cursor with a letter that sorts after all others starts at the last id with the same letters before it', () => {
  const { values } = firstId('transaction', 'txn_01é').render(spelling)
  assert.equal(idText('transaction', values[0] as Buffer), `txn_01${'z'.repeat(24)}`)
})

function before(bytes: Buffer): Buffer {
  const number = BigInt(`0x${bytes.toString('hex')}`) - 1n
  return Buffer.from(number.toString(16).padStart(32, '0'), 'hex')
}

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'

import { environments } from '@purser/wire/fields'

import { seededRandom } from '../../testing/seeded-random.ts'
import { hashApiKey, hintOf, isWellFormedApiKey, mintApiKey } from './api-key.ts'

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'.split('')
const prefixes = { sandbox: 'svc_sand_', production: 'svc_prod_' } as const
const checksumLength = 6

for (const environment of environments) {
  const prefix = prefixes[environment]
  test(`A ${environment} key is ${prefix}, at least 160 random bits in base62, and 6 characters of checksum [auth.2]`, () => {
    const key = mintApiKey(environment, seededRandom(2).bytes)
    assert(key.startsWith(prefix))
    const rest = key.slice(prefix.length)
    assert.match(rest, /^[0-9A-Za-z]+$/)
    assert((rest.length - checksumLength) * Math.log2(62) >= 160)
    assert.equal(isWellFormedApiKey(key), true)
  })
}

test('The checksum catches every change of a single character', () => {
  const key = mintApiKey('sandbox', seededRandom(3).bytes)
  for (const [index, right] of key.split('').entries()) {
    for (const wrong of [...base62, '_', '-', ' '].filter((character) => character !== right)) {
      const mistyped = key.slice(0, index) + wrong + key.slice(index + 1)
      assert.equal(isWellFormedApiKey(mistyped), false, mistyped)
    }
  }
})

test('The checksum catches two swapped neighbors, a missing character and an extra one', () => {
  const key = mintApiKey('production', seededRandom(4).bytes)
  for (let index = 0; index < key.length; index++) {
    const [left = '', right = ''] = key.slice(index, index + 2)
    const swapped = key.slice(0, index) + right + left + key.slice(index + 2)
    if (swapped !== key) assert.equal(isWellFormedApiKey(swapped), false, swapped)
    assert.equal(isWellFormedApiKey(key.slice(0, index) + key.slice(index + 1)), false)
    assert.equal(isWellFormedApiKey(`${key.slice(0, index)}0${key.slice(index)}`), false)
  }
})

test('A key of one environment is invalid under the prefix of the other [auth.2]', () => {
  const key = mintApiKey('sandbox', seededRandom(5).bytes)
  assert.equal(isWellFormedApiKey(key.replace(prefixes.sandbox, prefixes.production)), false)
})

for (const text of [
  '',
  'svc_sand_',
  'svc_prod_',
  'sk_live_abc',
  'svc_test_'.padEnd(45, '0'),
  '0'.repeat(45),
]) {
  test(`${JSON.stringify(text)} is refused without a lookup`, () => {
    assert.equal(isWellFormedApiKey(text), false)
  })
}

test('No base62 character is more likely than others: bytes that would wrap around are discarded', () => {
  const bytes = [...Array.from({ length: 8 }, (_, index) => 248 + index), 247, 0, 61, 62, 123, 124]
  let drawn = 0
  const key = mintApiKey('sandbox', (size) =>
    Uint8Array.from({ length: size }, () => bytes[drawn++ % bytes.length] ?? 0),
  )
  const random = key.slice(prefixes.sandbox.length, -checksumLength)
  assert.equal(random, 'z0z0z0'.repeat(5), '247 is 3 * 62 + 61, and bytes from 248 on are discarded')
})

test('Over many keys, all characters are equally frequent', () => {
  const random = seededRandom(6)
  const counts = new Map(base62.map((character) => [character, 0]))
  const keys = 8_000
  for (let round = 0; round < keys; round++) {
    const key = mintApiKey('sandbox', random.bytes)
    for (const character of key.slice(prefixes.sandbox.length, -checksumLength)) {
      counts.set(character, (counts.get(character) ?? 0) + 1)
    }
  }
  const expected = (keys * 30) / 62
  // Modulo bias would make the first characters 25 percent more frequent.
  for (const [character, count] of counts) {
    assert(
      Math.abs(count - expected) < expected * 0.1,
      `${character} occurred ${count} times, not ${expected}`,
    )
  }
})

test('Two keys are never equal, and only the SHA-256 of a key is stored', () => {
  const random = seededRandom(7)
  const keys = new Set(Array.from({ length: 500 }, () => mintApiKey('sandbox', random.bytes)))
  assert.equal(keys.size, 500)
  const [key = ''] = keys
  assert.deepEqual(hashApiKey(key), createHash('sha256').update(key).digest())
  assert.equal(hashApiKey(key).length, 32)
})

test('The hint of a key is its last four characters', () => {
  const key = mintApiKey('production', seededRandom(8).bytes)
  assert.equal(hintOf(key), key.slice(-4))
  assert.equal(hintOf(key).length, 4)
})

import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { test } from 'node:test'

import { hmacSha256 } from './hmac.ts'

test('Texts of every length have the HMAC-SHA256 that OpenSSL gives them [decision.14]', () => {
  for (const keyBytes of [0, 1, 32, 63, 64]) {
    const key = randomBytes(keyBytes)
    const hmac = hmacSha256(key)
    // From long to short, so that what is left of a longer text would show.
    for (let length = 1_100; length >= 0; length -= 7) {
      for (const text of [
        'a'.repeat(length),
        'é'.repeat(length),
        '€'.repeat(length),
        '😀'.repeat(length / 2),
      ]) {
        assert.equal(
          hmac(text),
          createHmac('sha256', key).update(text).digest('hex'),
          `${keyBytes} ${length}`,
        )
      }
    }
    const long = '€'.repeat(65_536)
    assert.equal(hmac(long), createHmac('sha256', key).update(long).digest('hex'))
  }
})

test('HMAC-SHA256 answers the second test case of RFC 4231 [decision.14]', () => {
  const hmac = hmacSha256(Buffer.from('Jefe'))
  const expected = '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843'
  assert.equal(hmac('what do ya want for nothing?'), expected)
})

test('Two keys in turn do not disturb each other [decision.14]', () => {
  const keys = [randomBytes(32), randomBytes(32)]
  const hmacs = keys.map(hmacSha256)
  for (const text of ['one', 'another', 'one']) {
    const expected = keys.map((key) => createHmac('sha256', key).update(text).digest('hex'))
    assert.deepEqual(
      hmacs.map((hmac) => hmac(text)),
      expected,
    )
  }
})

test('A key that is longer than a block is refused', () => {
  assert.throws(() => hmacSha256(randomBytes(65)), RangeError)
})

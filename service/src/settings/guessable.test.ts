import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'

import { mintApiKey } from '../domain/api-key.ts'
import { isGuessableKey, isGuessableSecret } from './guessable.ts'

const guessable = [
  'password',
  'changeme',
  '12345678',
  'aaaaaaaaaaaaaaaa',
  'passwordpassword',
  'password-12345678',
  'abcdefgh12345678',
  'sandbox_operator',
]
const good = [
  'conformance',
  'test_key',
  'test_key_1',
  'kill_test_key',
  'test_operator_key_x7f2',
  'J8s2kQ0fLw3p',
  's'.repeat(32),
  'test-key-'.repeat(4),
]

test('A key is guessable if it is short, or consists of common words, repetitions and sequences', () => {
  for (const text of guessable) assert.equal(isGuessableKey(text), true, text)
  for (const text of good) assert.equal(isGuessableKey(text), false, text)
  for (let count = 0; count < 1_000; count++) {
    const minted = mintApiKey('sandbox', randomBytes).slice('svc_sand_'.length)
    assert.equal(isGuessableKey(minted), false, minted)
    const random = randomBytes(12).toString('hex')
    assert.equal(isGuessableKey(random), false, random)
  }
})

test('A proof secret is guessable if it repeats a few characters', () => {
  for (const text of ['a'.repeat(40), 'password'.repeat(5), 'secret'.repeat(8), 'changeme'.repeat(4)]) {
    assert.equal(isGuessableSecret(text), true, text)
  }
  for (let count = 0; count < 1_000; count++) {
    assert.equal(isGuessableSecret(randomBytes(32).toString('hex')), false)
  }
})

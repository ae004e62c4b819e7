import assert from 'node:assert/strict'
import { test } from 'node:test'

import { hostNameReader } from './host-name.ts'
import { Refusal } from './refusal.ts'

test('a host name is passed on unchanged', () => {
  const names = [
    'api.example.com',
    'API.Example.COM.',
    ' example.com ',
    'localhost',
    'my_host.internal',
    'exämple.com',
    'xn--exmple-cua.com',
    '127.0.0.1',
    '[::1]',
    `${'a'.repeat(63)}.com`,
  ]
  for (const name of names) assert.equal(hostNameReader(name), name)
})

test('anything other than a host name is a value error', () => {
  const texts = [
    '',
    '.',
    '*',
    '*.example.com',
    'https://example.com',
    'example.com/data',
    'example.com:443',
    'user@example.com',
    'exa mple.com',
    'ex%61mple.com',
    'example..com',
    '-example.com',
    '256.1.1.1',
    '::1',
    '[::1',
    `${'a'.repeat(64)}.com`,
    'a.'.repeat(127) + 'com',
  ]
  for (const text of texts) {
    const refusal = hostNameReader(text)
    assert.ok(refusal instanceof Refusal, text)
    const error = 'value is not a host name such as api.example.com, without scheme, port and path'
    assert.deepEqual(refusal.items, [
      { type: 'value_error', loc: [], msg: `Value error, ${error}`, input: text, ctx: { error } },
    ])
  }
})

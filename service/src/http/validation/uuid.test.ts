import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Refusal } from './refusal.ts'
import { uuidReader } from './uuid.ts'

const uuid = '7f8d1c1e-6a1f-4d57-9c1e-2f4f1b3a9c55'

test('each notation of a UUID is passed on unchanged', () => {
  const forms = [uuid, uuid.toUpperCase(), uuid.replaceAll('-', ''), `{${uuid}}`, `urn:uuid:${uuid}`]
  for (const form of forms) assert.equal(uuidReader(form), form)
})

test('an invalid UUID is refused with a reason', () => {
  const errors: [text: string, error: string][] = [
    ['', 'invalid length: expected length 32 for simple format, found 0'],
    ['abc', 'invalid length: expected length 32 for simple format, found 3'],
    ['not-a-uuid', 'invalid character: found `n` at 1'],
    ['7f8dé', 'invalid character: found `é` at 5'],
    ['é☃', 'invalid character: found `é` at 1'],
    ['{7g}', 'invalid character: found `g` at 3'],
    ['urn:uuid:7g', 'invalid character: found `g` at 11'],
    [`URN:UUID:${uuid}`, 'invalid character: found `U` at 1'],
    [`{${uuid.replace('8', 'g')}}`, 'invalid character: found `g` at 3'],
    ['{}', 'invalid group count: expected 5, found 1'],
    ['7f8d1c1e-6a1f', 'invalid group count: expected 5, found 2'],
    [uuid.replace('4d57-9', '4d579-'), 'invalid group length in group 2: expected 4, found 5'],
    [`${uuid}0`, 'invalid group length in group 4: expected 12, found 13'],
  ]
  for (const [text, error] of errors) {
    const refusal = uuidReader(text)
    assert.ok(refusal instanceof Refusal, text)
    assert.deepEqual(refusal.items[0]?.ctx, { error }, text)
  }
})

test('a UUID is text', () => {
  for (const input of [null, 1, {}, []]) {
    const refusal = uuidReader(input)
    assert.ok(refusal instanceof Refusal)
    assert.equal(refusal.items[0]?.type, 'uuid_type')
  }
})

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { readJsonBody } from './json-body.ts'

const read = (text: string) => readJsonBody(Buffer.from(text), 'application/json')

test('an empty body has no value', () => {
  for (const contentType of ['application/json', 'text/plain', undefined]) {
    assert.deepEqual(readJsonBody(Buffer.alloc(0), contentType), { kind: 'value', value: undefined })
  }
})

test('a body is JSON if its content type says so, and text otherwise', () => {
  const json = [
    'application/json',
    'Application/JSON; charset=latin-1',
    ' application/json ;x',
    'application/problem+json',
    'application/+json',
  ]
  for (const contentType of json) {
    assert.deepEqual(readJsonBody(Buffer.from('[1]'), contentType), {
      kind: 'value',
      value: [1],
      json: '[1]',
    })
  }
  const text = [
    '',
    'text/json',
    'application/jsonp',
    'application/ json',
    'application/json/x',
    'application/x+json+y',
    undefined,
  ]
  for (const contentType of text) {
    assert.deepEqual(readJsonBody(Buffer.from('[1]'), contentType), { kind: 'value', value: '[1]' })
  }
})

test('the last of several equal keys counts, and no key is dangerous', () => {
  const reading = read('{"a":1,"__proto__":{"polluted":true},"constructor":2,"a":3}')
  assert.equal(reading.kind, 'value')
  const value = reading.kind === 'value' ? (reading.value as Record<string, unknown>) : {}
  assert.equal(value['a'], 3)
  assert.equal(Object.getPrototypeOf(value), Object.prototype)
  assert.deepEqual(Object.keys(value), ['a', '__proto__', 'constructor'])
  assert.equal(Object.hasOwn(Object.prototype, 'polluted'), false)
})

test('one byte order mark is skipped, and positions count from after it', () => {
  assert.deepEqual(read('\uFEFF[]'), { kind: 'value', value: [], json: '[]' })
  assert.deepEqual(errorOf('\uFEFF[x]'), [1, 'Expecting value'])
  assert.deepEqual(errorOf('\uFEFF\uFEFF[]'), [0, 'Expecting value'])
})

test('invalid JSON is reported with its position in code points', () => {
  const noComma = "Expecting ',' delimiter"
  const errors: [text: string, position: number, error: string][] = [
    ['nul', 0, 'Expecting value'],
    ['[1', 2, noComma],
    ['[1 2]', 3, noComma],
    ['["😀", 😀]', 6, 'Expecting value'],
    ['{"😀" 1}', 5, "Expecting ':' delimiter"],
    ['{"a":1 ', 7, noComma],
    ['{"a":1;', 6, noComma],
    ['"a', 0, 'Unterminated string starting at'],
    ['"a\\', 0, 'Unterminated string starting at'],
    ['"a\tb"', 2, 'Invalid control character at'],
    ['"\\u12g4"', 2, 'Invalid \\uXXXX escape'],
    ['"\\u1234', 2, 'Invalid \\uXXXX escape'],
    ['"\\ud83d\\u12"', 8, 'Invalid \\uXXXX escape'],
    ['-', 0, 'Expecting value'],
    ['[-x]', 1, 'Expecting value'],
    ['1.', 1, 'Extra data'],
    ['1e', 1, 'Extra data'],
    ['[1] \u00a0', 4, 'Extra data'],
    ['[NaN]', 1, 'Expecting value'],
    ['{"a":-Infinity}', 5, 'Expecting value'],
    ['Infinity', 0, 'Expecting value'],
  ]
  for (const [text, position, error] of errors) assert.deepEqual(errorOf(text), [position, error], text)
})

test('a body that is not UTF-8 is unreadable, whatever its content type', () => {
  for (const contentType of ['application/json', 'text/plain']) {
    for (const bytes of [[0xff], [0x22, 0xed, 0xa0, 0x80, 0x22], [0x22, 0xc0, 0xaf, 0x22]]) {
      assert.deepEqual(readJsonBody(Buffer.from(bytes), contentType), { kind: 'unreadable' })
    }
  }
})

test('a body nested deeper than 200 levels is unreadable', () => {
  assert.equal(read(nested(200)).kind, 'value')
  assert.equal(read(nested(201)).kind, 'unreadable')
  assert.equal(read(nested(32_768)).kind, 'unreadable')
  assert.equal(read('{"a":'.repeat(201) + '1' + '}'.repeat(201)).kind, 'unreadable')
  assert.equal(read('['.repeat(65_536)).kind, 'unreadable')
  assert.deepEqual(errorOf(nested(200, 'x')), [200, 'Expecting value'])
  assert.deepEqual(errorOf(`[x, ${nested(201)}]`), [1, 'Expecting value'])
})

test('an integer of more than 4300 digits makes a body unreadable, unless there is a syntax error before it', () => {
  const long = '1'.repeat(4301)
  assert.equal(read('1'.repeat(4300)).kind, 'value')
  assert.equal(read(long).kind, 'unreadable')
  assert.equal(read(`[-${long}]`).kind, 'unreadable')
  assert.equal(read(`[${long}, x]`).kind, 'unreadable')
  assert.deepEqual(errorOf(`[x, ${long}]`), [1, 'Expecting value'])
  assert.equal(read(`${long}.0`).kind, 'value')
  assert.equal(read(`"${long}"`).kind, 'value')
})

const nested = (levels: number, within = '') => '['.repeat(levels) + within + ']'.repeat(levels)

function errorOf(text: string): unknown {
  const reading = read(text)
  if (reading.kind !== 'invalid') return reading.kind
  const [{ type, loc, msg, input, ctx } = assert.fail('no item'), ...others] = reading.items
  assert.deepEqual([type, loc[0], msg, input, others], ['json_invalid', 'body', 'JSON decode error', {}, []])
  return [loc[1], ctx?.['error']]
}

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { parseList } from './parsed-lists.ts'

test('A text gives the same list each time, which nobody can change', () => {
  const list = parseList('["a.example","b.example"]')
  assert.deepEqual(list, ['a.example', 'b.example'])
  assert.equal(parseList('["a.example","b.example"]'), list)
  assert.throws(() => list.push('c.example'), TypeError)
})

test('A text that many others followed is forgotten', () => {
  const text = '["first.example"]'
  const first = parseList(text)
  for (let index = 0; index < 10_000; index++) parseList(`["${index}.example"]`)
  assert.notEqual(parseList(text), first)
  const long = JSON.stringify(['x'.repeat(9 * 1024 * 1024)])
  const firstLong = parseList(long)
  parseList(long.replace('x', 'y'))
  assert.notEqual(parseList(long), firstLong)
})

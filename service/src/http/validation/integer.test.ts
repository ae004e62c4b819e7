import assert from 'node:assert/strict'
import { test } from 'node:test'

import { integerReader } from './integer.ts'
import { Refusal } from './refusal.ts'

const inQuery = integerReader({ minimum: 1, maximum: 200 }, 'query')

test('an integer in a query may have several notations', () => {
  const texts: [text: string, value: number][] = [
    ['5', 5],
    ['+5', 5],
    [' 5\n', 5],
    ['\u00855', 5],
    ['005', 5],
    ['0_0_5', 5],
    ['1_0', 10],
    ['1.0', 1],
    ['1.000', 1],
    ['200', 200],
  ]
  for (const [text, value] of texts) assert.equal(inQuery(text), value, text)
})

test('an integer in a query is refused for its notation or its size', () => {
  const texts: [text: string, type: string][] = [
    ['', 'int_parsing'],
    ['ten', 'int_parsing'],
    ['1.5', 'int_parsing'],
    ['1.', 'int_parsing'],
    ['1e2', 'int_parsing'],
    ['0x5', 'int_parsing'],
    ['٣', 'int_parsing'],
    ['+-5', 'int_parsing'],
    ['- 5', 'int_parsing'],
    ['_5', 'int_parsing'],
    ['5_', 'int_parsing'],
    ['1__0', 'int_parsing'],
    ['\ufeff5', 'int_parsing'],
    ['0', 'greater_than_equal'],
    ['0.0', 'greater_than_equal'],
    ['-5', 'greater_than_equal'],
    ['201', 'less_than_equal'],
    ['9'.repeat(4300), 'less_than_equal'],
    ['9'.repeat(4301), 'int_parsing_size'],
  ]
  for (const [text, type] of texts) {
    const refusal = inQuery(text)
    assert.ok(refusal instanceof Refusal, text)
    assert.equal(refusal.items[0]?.type, type, text)
    assert.equal(refusal.items[0]?.input, text)
  }
})

test('an integer in a body is a JSON number', () => {
  const inBody = integerReader({ minimum: 0 }, 'body')
  assert.equal(inBody(7), 7)
  for (const input of ['7', 1.5, true, null]) {
    const refusal = inBody(input)
    assert.ok(refusal instanceof Refusal)
    assert.equal(refusal.items[0]?.type, 'int_type')
  }
})

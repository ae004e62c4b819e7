import assert from 'node:assert/strict'
import { test } from 'node:test'

import {
  addAmounts,
  compareAmounts,
  formatAmount,
  isAmount,
  PurserError,
  sameAmount,
  subtractAmounts,
} from './client.ts'

const written: [amount: string, formatted: string][] = [
  ['0', '0.00'],
  ['10', '10.00'],
  ['10.0', '10.00'],
  ['10.00', '10.00'],
  ['0.5', '0.50'],
  ['0.000001', '0.000001'],
  ['1.234500', '1.2345'],
  ['007.10', '7.10'],
  ['999999999999.999999', '999999999999.999999'],
]

test('An amount is written with two decimals at least and no more than needed', () => {
  for (const [amount, formatted] of written) {
    assert.equal(formatAmount(amount), formatted)
    assert.ok(sameAmount(amount, formatted))
  }
})

test('10.0 equals 10.00 in value, and sums are exact', () => {
  assert.ok(sameAmount('10.0', '10.00'))
  assert.ok(!sameAmount('10.0', '10.000001'))
  assert.equal(addAmounts('0.1', '0.2'), '0.30')
  assert.equal(addAmounts(), '0.00')
  assert.equal(addAmounts('9007199254740993', '0.000001'), '9007199254740993.000001')
  assert.equal(subtractAmounts('100.00', '99.999999'), '0.000001')
  assert.throws(() => subtractAmounts('1.00', '1.01'), /1\.01 is more than 1\.00/)
  assert.deepEqual(['10', '9.5', '9.50', '0'].sort(compareAmounts), ['0', '9.5', '9.50', '10'])
})

test('Invalid amounts are refused, including numbers', () => {
  for (const text of ['', '.5', '5.', '-1', '+1', '1e3', '1,00', ' 1', '1.0000000', '٣', '1\n', 1, null]) {
    assert.equal(isAmount(text), false, String(text))
    assert.throws(() => formatAmount(text as string), PurserError)
  }
})

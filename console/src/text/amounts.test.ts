import assert from 'node:assert/strict'
import { test } from 'node:test'

import { amountInWords, readMicro, shareOf, sumOf, writeMicro } from './amounts.ts'

test('An amount is parsed to the millionth, and other text is rejected', () => {
  const rows: [string, bigint | undefined][] = [
    ['0', 0n],
    ['10.00', 10_000_000n],
    ['0.000001', 1n],
    ['999999999999.999999', 999_999_999_999_999_999n],
    [' 4.20 ', 4_200_000n],
    ['', undefined],
    ['1.0000001', undefined],
    ['-1', undefined],
    ['1e3', undefined],
    ['1,000', undefined],
    ['.5', undefined],
  ]
  for (const [text, micro] of rows) assert.equal(readMicro(text), micro, text)
})

test('A sum is exact where floating point would not be', () => {
  assert.equal(sumOf(['0.1', '0.2']), '0.30')
  assert.equal(sumOf(['999999999999.999999', '0.000001']), '1000000000000.00')
  assert.equal(writeMicro(-1_500_000n), '-1.50')
})

test('An amount is shown with commas and at least two decimals, without losing a digit', () => {
  assert.equal(amountInWords('1234567.5'), '1,234,567.50')
  assert.equal(amountInWords('999.00'), '999.00')
  assert.equal(amountInWords('1000'), '1,000.00')
  assert.equal(amountInWords('0.000001'), '0.000001')
  assert.equal(amountInWords('999999999999.999999'), '999,999,999,999.999999')
})

test('A share is between 0 and 1, even for a budget of zero', () => {
  assert.deepEqual(
    [shareOf('1', '4'), shareOf('5', '4'), shareOf('0', '0'), shareOf('1', '0')],
    [0.25, 1, 0, 1],
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { amountPattern } from '@purser/wire/fields'

import { seededRandom } from '../../testing/seeded-random.ts'
import { addMicro, formatSum, parseAmount, subtractMicro, type MicroUsdc } from './money.ts'

const amounts: readonly (readonly [text: string, micro: bigint, sum: string])[] = [
  ['0', 0n, '0.00'],
  ['0.0', 0n, '0.00'],
  ['0.00', 0n, '0.00'],
  ['0.000001', 1n, '0.000001'],
  ['0.00001', 10n, '0.00001'],
  ['0.0001', 100n, '0.0001'],
  ['0.001', 1_000n, '0.001'],
  ['0.01', 10_000n, '0.01'],
  ['0.1', 100_000n, '0.10'],
  ['1', 1_000_000n, '1.00'],
  ['12.5', 12_500_000n, '12.50'],
  ['12.50', 12_500_000n, '12.50'],
  ['12.500000', 12_500_000n, '12.50'],
  ['12.500001', 12_500_001n, '12.500001'],
  ['12.505', 12_505_000n, '12.505'],
  ['10.10', 10_100_000n, '10.10'],
  ['007.00', 7_000_000n, '7.00'],
  ['1000000', 1_000_000_000_000n, '1000000.00'],
]
for (const [text, micro, sum] of amounts) {
  test(`${text} is ${micro} millionths, and its sum prints as ${sum} [what.amounts]`, () => {
    assert.equal(parseAmount(text), micro)
    assert.equal(formatSum(parseAmount(text)), sum)
  })
}

test('Twelve integer and six fraction digits are exact to the last millionth', () => {
  const most = parseAmount('999999999999.999999')
  assert.equal(most, 999_999_999_999_999_999n)
  assert.equal(formatSum(most), '999999999999.999999')
  assert.equal(formatSum(subtractMicro(most, parseAmount('0.000001'))), '999999999999.999998')
})

test('No amount is converted to a float: neighbors beyond 2^53 millionths stay distinct', () => {
  const atLimit = parseAmount('9007199254.740992')
  const beyond = parseAmount('9007199254.740993')
  assert.equal(Number(atLimit), Number(beyond), 'a float cannot tell the two apart')
  assert.equal(beyond - atLimit, 1n)
  assert.equal(formatSum(addMicro(parseAmount('0.1'), parseAmount('0.2'))), '0.30')
})

const noAmounts = [
  '',
  ' ',
  '.',
  '.5',
  '5.',
  '1.0000001',
  '-1',
  '+1',
  '1e3',
  '0x10',
  '1_000',
  '1,000.00',
  ' 1',
  '1 ',
  '1\n',
  '1.5\n',
  '1.2.3',
  'NaN',
  'Infinity',
  '１',
  '٣',
]
for (const text of noAmounts) {
  test(`${JSON.stringify(text)} is not an amount, and parsing it is a bug that throws`, () => {
    assert.doesNotMatch(text, new RegExp(amountPattern))
    assert.throws(() => parseAmount(text), RangeError)
  })
}

test('The text of any sum parses back to it and is as short as possible', () => {
  const random = seededRandom(16)
  for (let round = 0; round < 5_000; round++) {
    const micro = randomMicro(random.below(19), random)
    const text = formatSum(micro)
    assert.match(text, /^(0|[1-9]\d{0,11})\.(\d{2}|\d{2,5}[1-9])$/)
    assert.equal(parseAmount(text), micro)
  }
})

test('Amounts are compared, added and subtracted exactly', () => {
  const random = seededRandom(17)
  for (let round = 0; round < 5_000; round++) {
    const left = randomMicro(1 + random.below(18), random)
    const right = randomMicro(1 + random.below(18), random)
    assert.equal(left < right, asDigits(left) < asDigits(right))
    const sum = addMicro(left, right)
    assert.equal(sum, BigInt(asDigits(left)) + BigInt(asDigits(right)))
    assert.equal(subtractMicro(sum, right), left)
  }
})

/** Random millionths with this many digits. */
function randomMicro(digits: number, random: ReturnType<typeof seededRandom>): MicroUsdc {
  return BigInt(`0${Array.from({ length: digits }, () => random.below(10)).join('')}`) as MicroUsdc
}

/** The amount's digits without the point, padded to one length, so that they sort like numbers. */
function asDigits(micro: MicroUsdc): string {
  const [whole = '', fraction = ''] = formatSum(micro).split('.')
  return whole.padStart(12, '0') + fraction.padEnd(6, '0')
}

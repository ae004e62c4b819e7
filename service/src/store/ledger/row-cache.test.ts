import assert from 'node:assert/strict'
import { test } from 'node:test'

import { RowCache } from './row-cache.ts'
import type { Row } from './table.ts'
import { mandates } from './tables.ts'

const longList = Array.from({ length: 1_000 }, (_, index) => `${'s'.repeat(230)}${index}.example`)
const manyRows = 5_000

test('Few long rows are cached, and many short ones', () => {
  for (const [allowedSellers, least, most] of [
    [['a.example'], manyRows, manyRows],
    [longList, 50, 200],
  ] as const) {
    const cache = new RowCache<{ row: Row }>()
    for (let number = 0; number < manyRows; number++) keep(cache, number, allowedSellers)
    const cached = countCached(cache)
    assert.ok(cached >= least && cached <= most, `${cached} rows`)
  }
})

test('A cached row that grows counts with its new length, once', () => {
  const cache = new RowCache<{ row: Row }>()
  for (let number = 0; number < manyRows; number++) keep(cache, number, [])
  for (let time = 0; time < manyRows; time++) keep(cache, 0, [...longList])
  assert.equal(countCached(cache), manyRows, 'a row that is written often drops no others')
  for (let number = 0; number < manyRows; number++) keep(cache, number, [...longList])
  assert.ok(countCached(cache) <= 200)
})

test('A row that is forgotten counts no longer', () => {
  const cache = new RowCache<{ row: Row }>()
  keep(cache, 0, [])
  for (let number = 1; number < manyRows; number++) {
    keep(cache, number, longList)
    cache.forget(mandates, keyOf(number))
  }
  assert.equal(countCached(cache), 1)
})

function keep(cache: RowCache<{ row: Row }>, number: number, allowedSellers: readonly string[]) {
  const row = { ...keyOf(number), purpose: 'Buy maps', allowedSellers }
  cache.set(mandates, row, { row })
}

/** Looks up the newest rows first: an older one that is found counts as used, and may drop others. */
function countCached(cache: RowCache<{ row: Row }>): number {
  const numbers = Array.from({ length: manyRows }, (_, index) => manyRows - 1 - index)
  return numbers.filter((number) => cache.get(mandates, keyOf(number)) !== undefined).length
}

function keyOf(number: number) {
  return { accountId: 'acct_1', id: `mandate_${number}` }
}

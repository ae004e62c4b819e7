import assert from 'node:assert/strict'
import { test } from 'node:test'

import { columnsIn, compileDecodeRecord, compileDecodeRow, compileTakeChanged } from './compiled-rows.ts'
import type { Row } from './table.ts'

test('A row is decoded from values that follow each other', () => {
  const columns = [
    { name: 'id', decode: (value: string) => value },
    { name: 'count', decode: Number },
    { name: 'name', decode: (value: string) => value.toUpperCase() },
  ]
  const decode = compileDecodeRow<string | null>(columns)
  assert.deepEqual(decode(['skipped', 'a', '5', null], 1), { id: 'a', count: 5, name: null })
  assert.deepEqual(decode(['a'], 0), { id: 'a', count: null, name: null })
})

test('A row is decoded from a record whose values have other names', () => {
  const decode = compileDecodeRecord([
    { name: 'accountId', source: 'p_account_id', decode: String },
    { name: 'count', source: 'p_count', decode: (value) => value ?? null },
  ])
  assert.deepEqual(decode({ p_account_id: 5, count: 1 }), { accountId: '5', count: null })
  assert.throws(
    () => compileDecodeRecord([{ name: 'id', source: 'id) || evil(', decode: String }]),
    /is not the name of a column/,
  )
})

test('The changed columns of a row are encoded, and a missing value equals null', () => {
  const takeChanged = compileTakeChanged([
    { name: 'id', encode: String },
    { name: 'count', encode: (value) => `count ${String(value)}` },
    { name: 'name', encode: String },
  ])
  const values: (string | null)[] = ['kept']
  assert.equal(
    takeChanged({ id: 'a', count: 1, name: 'x' }, { id: 'a', count: 2, name: null }, values),
    0b110,
  )
  assert.deepEqual(values, ['kept', 'count 2', null])
  assert.equal(takeChanged({}, { id: 'a', count: 0, name: null }, values), 0b011)
  assert.equal(takeChanged({ name: null }, {}, values), 0)
  assert.deepEqual(values.slice(3), ['a', 'count 0'])
})

test('The changed columns of rows of more than 32 columns are found', () => {
  const names = Array.from({ length: 40 }, (_, index) => `column${index}`)
  const takeChanged = compileTakeChanged(names.map((name) => ({ name, encode: String })))
  const changedColumns = (from: Row, to: Row) => takeChanged(from, to, [])
  const row = Object.fromEntries(names.map((name) => [name, 1]))
  const masks = [
    changedColumns(row, row),
    changedColumns(row, { ...row, column0: 2, column39: null }),
    changedColumns({ ...row, column33: null }, { ...row, column33: undefined }),
    changedColumns({ ...row, column5: null }, row),
  ]
  assert.deepEqual(masks, [0, 1 + 2 ** 39, 0, 2 ** 5])
  assert.deepEqual(columnsIn(new Set(masks), names), ['column0', 'column5', 'column39'])
})

test('A column whose name is not one word is not compiled', () => {
  const column = { name: 'a: 1, b', encode: String, decode: String }
  const message = 'a: 1, b is not the name of a column'
  assert.throws(() => compileDecodeRow([column]), { message })
  assert.throws(() => compileTakeChanged([column]), { message })
})

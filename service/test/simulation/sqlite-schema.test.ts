import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Ledger } from '../../src/store/ledger/ledger.ts'
import { partsOf, typeOf } from '../../src/store/ledger/sqlite/schema.ts'
import { sqlName } from '../../src/store/ledger/table.ts'
import { allTables } from '../../src/store/ledger/tables.ts'
import { openSqlite } from './driver-beds.ts'
import { RandomCalls } from './random-calls.ts'

interface ColumnInfo {
  readonly name: string
  readonly type: string
  readonly notnull: bigint
}

test('The file has every declared column with its type, and every key', async () => {
  const { database, close } = await openSqlite()
  for (const table of allTables) {
    const found = partsOf(table).flatMap(({ name }) => database.pragma(`table_info(${name})`) as ColumnInfo[])
    for (const [column, declared] of Object.entries(table.columns)) {
      const matching = found.filter(({ name }) => name === sqlName(column))
      assert.equal(matching.length, 1, `${table.name}.${column}`)
      const { type, notnull } = matching[0]!
      assert.equal(type.toLowerCase(), typeOf(declared), `${table.name}.${column}`)
      assert.equal(notnull, declared.isNullable ? 0n : 1n, `${table.name}.${column}`)
    }
    const indexes = database.pragma(`index_list(${table.name})`) as { name: string; unique: bigint }[]
    const uniqueColumns = indexes
      .filter(({ unique }) => unique === 1n)
      .map(({ name }) =>
        (database.pragma(`index_info(${name})`) as ColumnInfo[]).map((column) => column.name),
      )
    assert.deepEqual(uniqueColumns, [table.key.map(sqlName)], table.name)
  }
  await close()
})

test('No read of an operation scans a table', async () => {
  const { database, driver, close } = await openSqlite()
  const texts = new Set<string>()
  const prepare = database.prepare.bind(database)
  database.prepare = (text: string) => {
    texts.add(text)
    return prepare(text)
  }
  const ledger = new Ledger({
    driver,
    stopwatch: { nowMs: () => 0, sleep: () => Promise.resolve() },
    random: () => 0,
  })
  const calls = new RandomCalls(1)
  for (let made = 0; made < 1_000; made++) {
    const { operation, call } = calls.next()
    await ledger.run(operation, call)
  }
  const reads = [...texts].filter((text) => text.startsWith('select'))
  assert.ok(reads.filter((text) => text.includes('order by')).length >= 4, reads.join('\n'))
  for (const text of texts) {
    if (text.startsWith('insert')) continue
    const values = Array.from(text.matchAll(/\?/g), () => null)
    const plan = prepare(`explain query plan ${text}`).all(...values) as { readonly detail: string }[]
    for (const { detail } of plan) assert.match(detail, /^(SEARCH|SCALAR SUBQUERY) /, text)
  }
  await close()
})

test('The database refuses an overspend, an unknown status, and a value of another type', async () => {
  const { database, driver, close } = await openSqlite()
  const ledger = new Ledger({
    driver,
    stopwatch: { nowMs: () => 0, sleep: () => Promise.resolve() },
    random: () => 0,
  })
  const calls = new RandomCalls(1)
  for (let made = 0; made < 100; made++) {
    const { operation, call } = calls.next()
    await ledger.run(operation, call)
  }
  for (const [set, expected] of [
    [
      'mandates_sums set held_micro = max_total_micro - spent_micro + 1',
      /CHECK constraint failed: spent_micro \+/,
    ],
    ['mandates_sums set spent_micro = -1', /CHECK constraint failed: spent_micro/],
    ['mandates_sums set open_payments = -1', /CHECK constraint failed: open_payments/],
    ["mandates_sums set epoch = 'one'", /cannot store TEXT value in INTEGER column/],
    ["mandates set status = 'gone'", /CHECK constraint failed/],
    ["mandates set agent_id = 'agent_1'", /cannot store TEXT value in BLOB column/],
    ['mandates set purpose = null', /NOT NULL constraint failed/],
  ] as const) {
    assert.throws(() => database.exec(`update ${set}`), expected)
  }
  await close()
})

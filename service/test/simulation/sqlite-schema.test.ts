import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Ledger } from '../../src/store/ledger/ledger.ts'
import { typeOf } from '../../src/store/ledger/sqlite/schema.ts'
import { sqlName } from '../../src/store/ledger/table.ts'
import { allTables, mandates } from '../../src/store/ledger/tables.ts'
import { openSqlite } from './driver-beds.ts'
import { RandomCalls } from './random-calls.ts'

interface ColumnInfo {
  readonly name: string
  readonly type: string
  readonly notnull: bigint
  readonly pk: bigint
}

test('The file has every declared column with its type, and every primary key', async () => {
  const { database, close } = await openSqlite()
  for (const { name, columns, key } of allTables) {
    const found = database.pragma(`table_info(${name})`) as ColumnInfo[]
    const expected = Object.entries(columns).map(([column, declared]) => ({
      name: sqlName(column),
      type: typeOf(declared).toUpperCase(),
      notnull: declared.isNullable ? 0n : 1n,
      pk: BigInt(key.indexOf(column) + 1),
    }))
    assert.deepEqual(
      // SQLite spells the types as they are written.
      found
        .filter(({ name: column }) => column !== 'blank')
        .map(({ name: column, type, notnull, pk }) => ({
          name: column,
          type: type.toUpperCase(),
          notnull,
          pk,
        })),
      expected,
      name,
    )
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
    for (const { detail } of plan) assert.match(detail, /^SEARCH /, text)
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
    ['held_micro = max_total_micro - spent_micro + 1', /CHECK constraint failed: spent_micro/],
    ['spent_micro = -1', /CHECK constraint failed/],
    ["status = 'gone'", /CHECK constraint failed/],
    ["epoch = 'one'", /cannot store TEXT value in INTEGER column/],
    ["agent_id = 'agent_1'", /cannot store TEXT value in BLOB column/],
    ['purpose = null', /NOT NULL constraint failed/],
  ] as const) {
    assert.throws(() => database.exec(`update ${mandates.name} set ${set}`), expected)
  }
  await close()
})

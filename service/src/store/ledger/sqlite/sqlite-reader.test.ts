import assert from 'node:assert/strict'
import { test } from 'node:test'

import Database from 'better-sqlite3'

import { readerOf } from './sqlite-reader.ts'

test('A reader runs more statements than it keeps prepared, each with its own values', async (context) => {
  const database = new Database(':memory:')
  context.after(() => database.close())
  const reader = readerOf(database)
  for (let round = 0; round < 2; round++) {
    for (let number = 0; number < 450; number++) {
      const rows = await reader.query(`select ${number} as number, ? as value`, [round])
      assert.deepEqual(rows, [{ number, value: round }])
    }
  }
})

test('A prepared statement can run again after it has failed', async (context) => {
  const database = new Database(':memory:')
  context.after(() => database.close())
  const reader = readerOf(database)
  const text = 'select json_extract(?, ?) as found'
  await assert.rejects(reader.query(text, ['not json', '$.a']), /malformed JSON/)
  assert.deepEqual(await reader.query(text, ['{"a":1}', '$.a']), [{ found: 1 }])
})

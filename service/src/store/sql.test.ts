import assert from 'node:assert/strict'
import { test } from 'node:test'

import { sql, type Sql } from './sql.ts'

/** The text and the values of a statement, as a database gets them. */
async function written(statement: Sql, parameter: (number: number) => string): Promise<unknown> {
  const { rows } = await statement.execute({
    parameter,
    idParameter: (bytes) => bytes,
    nameOf: ({ name }) => name,
    withLetters: '',
    query: async (text, values) => [{ text, values }],
  })
  return rows[0]
}

test('Values become parameters, numbered in the order of the text, also within inserted parts', async () => {
  const inner = sql`b = ${'x'} and c in (${sql.join([1, null, sql`now()`])})`
  const statement = sql`select * from t where a = ${true} and ${inner} or d = ${['e']}`
  assert.deepEqual(await written(statement, (number) => `$${number}`), {
    text: 'select * from t where a = $1 and b = $2 and c in ($3, $4, now()) or d = $5',
    values: [true, 'x', 1, null, ['e']],
  })
  assert.deepEqual(await written(sql`select ${1}, ${2}`, () => '?'), { text: 'select ?, ?', values: [1, 2] })
})

test('Names and literals are quoted, so that none ends early', async () => {
  const statement = sql`select ${sql.ref('t.a"b')}, ${sql.lit("it's")}, ${sql.lit(7n)} from ${sql.table('t')} ${sql.raw('limit 1')}`
  assert.deepEqual(await written(statement, () => '?'), {
    text: `select "t"."a""b", 'it''s', 7 from "t" limit 1`,
    values: [],
  })
})

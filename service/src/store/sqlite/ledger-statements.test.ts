import assert from 'node:assert/strict'
import { test } from 'node:test'

import Database from 'better-sqlite3'

import { createLedger } from './ledger.ts'
import type { SqliteDatabase } from '../ledger/sqlite/open.ts'
import { migrations } from './schema.ts'

// Decision 54: SQLite plans a join anew each time that it is given values, which takes longer than all else that a
// payment does with it.

interface PlanRow {
  readonly parent: bigint
  readonly detail: string
}

test('No statement of the ledger is a join, but the one that adds up many transactions at once [decision.54]', (context) => {
  const database = new Database(':memory:').defaultSafeIntegers(true)
  context.after(() => database.close())
  for (const step of migrations) database.exec(step)
  const statements = statementsOf(database)
  assert.ok(statements.length > 50, `${statements.length} statements`)
  const joins = statements.filter((statement) => isJoin(database, statement)).map((text) => text.trim())
  assert.deepEqual(
    joins.map((text) => text.slice(0, 20)),
    ['insert into activity'],
  )
})

test('What is taken for a join is one', (context) => {
  const database = new Database(':memory:').defaultSafeIntegers(true)
  context.after(() => database.close())
  for (const step of migrations) database.exec(step)
  assert.equal(isJoin(database, 'select * from mandates where id = ?'), true)
  assert.equal(isJoin(database, 'select * from mandate_terms where id = ?'), false)
  assert.equal(isJoin(database, 'select (select 1 from agents where id = m.id) from mandate_terms m'), false)
})

/** Everything that the ledger prepares on a database. */
function statementsOf(database: SqliteDatabase): string[] {
  const statements: string[] = []
  const prepare = database.prepare.bind(database)
  database.prepare = (text: string) => {
    statements.push(text)
    return prepare(text)
  }
  createLedger(database)
  database.prepare = prepare
  return statements
}

/** Whether the plan of a statement looks into two tables at the same place. */
function isJoin(database: SqliteDatabase, statement: string): boolean {
  const withoutValues = statement.replaceAll(/\?|:\w+/g, 'null')
  const plan = database.prepare<[], PlanRow>(`explain query plan ${withoutValues}`).all()
  const looks = plan.filter(({ detail }) => /^(SEARCH|SCAN) /.test(detail))
  return [...Map.groupBy(looks, ({ parent }) => parent).values()].some(({ length }) => length > 1)
}

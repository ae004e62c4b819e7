import Database from 'better-sqlite3'

import { execute } from '../postgres-databases.ts'

/** A text so long that no buffer holds a page of such transactions; requests may not be this long today. */
const longText = 'x'.repeat(30_000)

/** Gives every evaluation of a ledger a long category, as records of an earlier release may have. */
export async function lengthenEvaluations(database: string): Promise<void> {
  const statement = `update evaluations set category = '${longText}'`
  if (database.startsWith('postgres')) return void (await execute(database, statement))
  const db = new Database(database)
  db.exec(statement)
  db.close()
}

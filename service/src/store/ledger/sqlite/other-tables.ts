import Database from 'better-sqlite3'

import { StoreOpenError } from '../../open-error.ts'

/**
 * Throws a `StoreOpenError` if a file lacks a table, view or index of its schema, or has a different one.
 * Unreleased builds may have had another schema under the same number.
 */
export function refuseOtherTables(
  database: Database.Database,
  place: string,
  steps: readonly string[],
): void {
  const expected = new Database(':memory:')
  try {
    for (const step of steps) expected.exec(step)
    const found = new Map(partsOf(database).map((part) => [part.name, part]))
    for (const { type, name, sql } of partsOf(expected)) {
      const own = found.get(name)
      if (own?.sql === sql) continue
      const difference =
        own?.type === type ? `its ${type} ${name} is different` : `it lacks the ${type} ${name}`
      throw new StoreOpenError('other_tables', { place, found: steps.length, difference })
    }
  } finally {
    expected.close()
  }
}

interface SchemaPart {
  readonly type: string
  readonly name: string
  readonly sql: string
}

function partsOf(database: Database.Database): SchemaPart[] {
  return database
    .prepare<[], SchemaPart>('select type, name, sql from sqlite_schema where sql is not null')
    .all()
}

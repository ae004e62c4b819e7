import { readDatabaseSetting } from './database-option.ts'
import { adviseUnfinished, readSchemaStatus, runMissingSteps, spreadTables } from './schema-status.ts'
import { CommandError, UsageError, type Io } from './io.ts'

/** Upgrades the schema of a ledger and, if requested, distributes its tables. */
export async function migrateUp(
  options: { readonly database?: string; readonly distribute?: true; readonly json?: true },
  io: Io,
): Promise<void> {
  const database = readDatabaseSetting(options.database, io)
  if (options.distribute && database.kind === 'sqlite') {
    throw new UsageError('--distribute is for PostgreSQL with Citus, and the ledger is a SQLite file')
  }
  // Text is printed as things are done; the JSON document comes at the end.
  const say = options.json ? () => undefined : io.print
  const { place, found, needed, unfinished } = await readSchemaStatus(database)
  if (unfinished) throw new CommandError(adviseUnfinished(unfinished, io.calledAs))
  await runMissingSteps(database)
  say(whatWasDone(place, found, needed))
  let spread: readonly string[] | undefined
  if (options.distribute && database.kind === 'postgres') {
    spread = await spreadTables(database)
    say(
      spread.length === 0
        ? 'Its tables are already distributed; nothing was done.'
        : `Distributed by account: ${spread.join(', ')}.`,
    )
  }
  if (!options.json) return
  const result = { ledger: place, schema_version: needed, previous_version: found }
  io.print(JSON.stringify(spread ? { ...result, spread_tables: spread } : result, null, 2))
}

function whatWasDone(place: string, found: number, needed: number): string {
  if (found === needed) return `${place} already has schema ${needed}; nothing was done.`
  if (found === 0) return `Created an empty ledger at ${place}, with schema ${needed}.`
  return `${place} was upgraded from schema ${found} to ${needed}.`
}

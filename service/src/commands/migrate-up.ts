import { readDatabaseSetting } from './database-option.ts'
import { adviseUnfinishedCopy, readSchemaStatus, runMissingSteps, spreadTables } from './schema-status.ts'
import { CommandError, UsageError, type Surroundings } from './surroundings.ts'

/** Brings the schema of a ledger up to this release and, if asked to, spreads its tables over machines. */
export async function migrateUp(
  options: { readonly database?: string; readonly distribute?: true; readonly json?: true },
  surroundings: Surroundings,
): Promise<void> {
  const database = readDatabaseSetting(options.database, surroundings)
  if (options.distribute && database.kind === 'sqlite') {
    throw new UsageError('--distribute is for PostgreSQL with Citus, and the ledger is a file of SQLite')
  }
  // Words come as things are done; the one document comes at the end.
  const say = options.json ? () => undefined : surroundings.print
  const { place, found, needed, hasUnfinishedCopy } = await readSchemaStatus(database)
  if (hasUnfinishedCopy) throw new CommandError(adviseUnfinishedCopy(surroundings.calledAs))
  await runMissingSteps(database)
  say(whatWasDone(place, found, needed))
  let spread: readonly string[] | undefined
  if (options.distribute && database.kind === 'postgres') {
    spread = await spreadTables(database)
    say(
      spread.length === 0
        ? 'Its tables are spread over machines already; nothing was done.'
        : `Spread over machines, by account: ${spread.join(', ')}.`,
    )
  }
  if (!options.json) return
  const result = { ledger: place, schema_version: needed, previous_version: found }
  surroundings.print(JSON.stringify(spread ? { ...result, spread_tables: spread } : result, null, 2))
}

function whatWasDone(place: string, found: number, needed: number): string {
  if (found === needed) return `${place} has version ${needed} of the schema already; nothing was done.`
  if (found === 0) return `A new, empty ledger was made at ${place}, with version ${needed} of the schema.`
  return `${place} has version ${needed} of the schema now, and had version ${found}.`
}

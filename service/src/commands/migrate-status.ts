import { readDatabaseSetting } from './database-option.ts'
import { adviseUnfinished, readSchemaStatus, type SchemaStatus } from './schema-status.ts'
import { CommandError, exitCodes, type Io } from './io.ts'

/** Shows the schema version of a ledger; exits with 1 if this release cannot serve it and `up` would not help. */
export async function migrateStatus(
  { database, json }: { readonly database?: string; readonly json?: true },
  io: Io,
): Promise<void> {
  const status = await readSchemaStatus(readDatabaseSetting(database, io))
  const { place, isMissing, found, needed, unfinished } = status
  if (isMissing) {
    // A missing file more often means a wrong path than a first start.
    throw new CommandError(
      `There is no ledger at ${place}; correct the path in PURSER_DATABASE or --database, or create an empty one with ${io.calledAs} migrate up`,
    )
  }
  io.print(
    json
      ? JSON.stringify(asJson(status, io), null, 2)
      : [
          `Ledger   ${place}`,
          `Schema   ${found === 0 ? 'none yet' : `version ${found}`}; this release needs version ${needed}`,
          `To do    ${whatToDo(status, io)}`,
        ].join('\n'),
  )
  if (found > needed || unfinished) io.exitWith(exitCodes.failed)
}

function asJson(status: SchemaStatus, io: Io) {
  return {
    ledger: status.place,
    schema_version: status.found,
    needed_version: status.needed,
    unfinished: status.unfinished ?? null,
    to_do: whatToDo(status, io),
  }
}

function whatToDo({ found, needed, unfinished }: SchemaStatus, { calledAs }: Io): string {
  if (found > needed) return 'a newer Purser has written this ledger: start that release or a later one'
  if (unfinished) return adviseUnfinished(unfinished, calledAs)
  if (found === needed) return 'nothing'
  const steps = Array.from({ length: needed - found }, (_, index) => found + index + 1)
  return `${calledAs} migrate up, or the next start, runs ${steps.length === 1 ? 'step' : 'steps'} ${steps.join(', ')}`
}

import { readDatabaseSetting } from './database-option.ts'
import { adviseUnfinishedCopy, readSchemaStatus, type SchemaStatus } from './schema-status.ts'
import { CommandError, exitCodes, type Surroundings } from './surroundings.ts'

/** Tells how far the schema of a ledger is; exits with 1 when this release cannot serve it and `up` would not help. */
export async function migrateStatus(
  { database, json }: { readonly database?: string; readonly json?: true },
  surroundings: Surroundings,
): Promise<void> {
  const status = await readSchemaStatus(readDatabaseSetting(database, surroundings))
  const { place, isMissing, found, needed, hasUnfinishedCopy } = status
  if (isMissing) {
    // Whoever asks after a ledger has one; that its file is missing means a wrong path more often than a first start.
    throw new CommandError(
      `There is no ledger at ${place}; correct the path in PURSER_DATABASE or --database, or make a new, empty one with ${surroundings.calledAs} migrate up`,
    )
  }
  surroundings.print(
    json
      ? JSON.stringify(asJson(status, surroundings), null, 2)
      : [
          `Ledger   ${place}`,
          `Schema   ${found === 0 ? 'none yet' : `version ${found}`}; this release needs version ${needed}`,
          `To do    ${whatToDo(status, surroundings)}`,
        ].join('\n'),
  )
  if (found > needed || hasUnfinishedCopy) surroundings.exitWith(exitCodes.failed)
}

function asJson(status: SchemaStatus, surroundings: Surroundings) {
  return {
    ledger: status.place,
    schema_version: status.found,
    needed_version: status.needed,
    has_unfinished_copy: status.hasUnfinishedCopy,
    to_do: whatToDo(status, surroundings),
  }
}

function whatToDo({ found, needed, hasUnfinishedCopy }: SchemaStatus, { calledAs }: Surroundings): string {
  if (found > needed) return 'a newer Purser has written this ledger: start that release or a later one'
  if (hasUnfinishedCopy) return adviseUnfinishedCopy(calledAs)
  if (found === needed) return 'nothing'
  const steps = Array.from({ length: needed - found }, (_, index) => found + index + 1)
  return `${calledAs} migrate up, or the next start, runs ${steps.length === 1 ? 'step' : 'steps'} ${steps.join(', ')}`
}

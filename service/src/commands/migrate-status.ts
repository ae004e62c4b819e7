import { exitCodes, type Command } from './command.ts'
import { databaseHelp, readDatabaseFlag } from './database-flag.ts'
import { readSchemaStatus, type SchemaStatus } from './schema-status.ts'

export const migrateStatus: Command = {
  name: 'migrate status',
  summary: 'says how far the schema of the ledger is, and changes nothing',
  help: [
    'Usage: purser migrate status [--database <address>]',
    '',
    'Says which version of the schema the ledger has, which one this release needs, and what',
    'purser migrate up would do. It changes nothing. The exit code is 1 when this release cannot serve the',
    'ledger as it is and migrate up would not help.',
    '',
    ...databaseHelp,
  ].join('\n'),
  async run(args, surroundings) {
    const status = await readSchemaStatus(readDatabaseFlag(args, surroundings))
    const { place, found, needed } = status
    surroundings.print(
      [
        `Ledger   ${place}`,
        `Schema   ${found === 0 ? 'none yet' : `version ${found}`}; this release needs version ${needed}`,
        `To do    ${whatToDo(status)}`,
      ].join('\n'),
    )
    return found > needed || status.hasUnfinishedCopy ? exitCodes.failed : exitCodes.done
  },
}

function whatToDo({ found, needed, hasUnfinishedCopy }: SchemaStatus): string {
  if (found > needed) return 'a newer Purser has written this ledger: start that release or a later one'
  if (hasUnfinishedCopy)
    return 'the ledger is a copy that was interrupted: run the same purser migrate copy again'
  if (found === needed) return 'nothing'
  const steps = Array.from({ length: needed - found }, (_, index) => found + index + 1)
  return `purser migrate up, or the next start, runs ${steps.length === 1 ? 'step' : 'steps'} ${steps.join(', ')}`
}

import { exitCodes, type Command } from './command.ts'
import { databaseHelp, readDatabaseFlag } from './database-flag.ts'
import { readSchemaStatus, runMissingSteps } from './schema-status.ts'

export const migrateUp: Command = {
  name: 'migrate up',
  summary: 'brings the schema of the ledger up to this release',
  help: [
    'Usage: purser migrate up [--database <address>]',
    '',
    'Runs the steps of the schema that the ledger has not seen, in one transaction and under a lock. There',
    'is no way down: make a backup first. A start of the service does the same by itself.',
    '',
    ...databaseHelp,
  ].join('\n'),
  async run(args, surroundings) {
    const database = readDatabaseFlag(args, surroundings)
    const { place, found, needed } = await readSchemaStatus(database)
    await runMissingSteps(database)
    surroundings.print(
      found === needed
        ? `${place} has version ${needed} of the schema already; nothing was done.`
        : `${place} has version ${needed} of the schema now${found === 0 ? '' : `, and had version ${found}`}.`,
    )
    return exitCodes.done
  },
}

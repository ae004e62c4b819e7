import { exitCodes, UsageError, type Command } from './command.ts'
import { databaseHelp, readDatabaseSetting, readFlags } from './database-flag.ts'
import { readSchemaStatus, runMissingSteps, spreadTables } from './schema-status.ts'

export const migrateUp: Command = {
  name: 'migrate up',
  summary: 'brings the schema of the ledger up to this release',
  help: [
    'Usage: purser migrate up [--database <address>] [--distribute]',
    '',
    'Runs the steps of the schema that the ledger has not seen, in one transaction and under a lock. There',
    'is no way down: make a backup first. A start of the service does the same by itself.',
    '',
    ...databaseHelp,
    '  --distribute           then spreads the tables of tenants over the machines of Citus, by account; what',
    '                         is spread already stays. The service needs PURSER_ACCOUNT_LANES=on there.',
  ].join('\n'),
  async run(args, surroundings) {
    const flags = readFlags(args, ['database'], ['distribute'])
    const database = readDatabaseSetting(flags.database, surroundings)
    if (flags.distribute && database.kind === 'sqlite') {
      throw new UsageError('--distribute is for PostgreSQL with Citus, and the ledger is a file of SQLite')
    }
    const { place, found, needed } = await readSchemaStatus(database)
    await runMissingSteps(database)
    surroundings.print(
      found === needed
        ? `${place} has version ${needed} of the schema already; nothing was done.`
        : `${place} has version ${needed} of the schema now${found === 0 ? '' : `, and had version ${found}`}.`,
    )
    if (flags.distribute && database.kind === 'postgres') {
      const spread = await spreadTables(database)
      surroundings.print(
        spread.length === 0
          ? 'Its tables are spread over machines already; nothing was done.'
          : `Spread over machines, by account: ${spread.join(', ')}. Start the service with PURSER_ACCOUNT_LANES=on.`,
      )
    }
    return exitCodes.done
  },
}

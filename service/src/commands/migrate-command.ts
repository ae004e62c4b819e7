import { Command } from '@commander-js/extra-typings'

import { databaseOption } from './database-option.ts'
import { action, type Io } from './io.ts'

const jsonHelp = 'print one JSON document instead of text'

export function migrateCommand(io: Io) {
  return new Command('migrate')
    .summary('show and upgrade the schema of a ledger, or copy it to PostgreSQL')
    .addCommand(statusCommand(io))
    .addCommand(upCommand(io))
    .addCommand(copyCommand(io))
}

function statusCommand(io: Io) {
  return new Command('status')
    .summary('show the schema version of the ledger, without changes')
    .description(
      'Shows the schema version of the ledger, the one that this release needs, and what purser migrate up would do. It changes nothing. The exit code is 1 if the file does not exist, or if this release cannot serve the ledger and migrate up would not help.',
    )
    .addOption(databaseOption())
    .option('--json', jsonHelp)
    .action(
      action(io, async (options) => {
        const { migrateStatus } = await import('./migrate-status.ts')
        await migrateStatus(options, io)
      }),
    )
}

function upCommand(io: Io) {
  return new Command('up')
    .summary('upgrade the schema of the ledger')
    .description(
      'Runs the missing schema steps, in one transaction and under a lock. There is no downgrade: make a backup first. If there is no ledger, it creates an empty one, with its folder, and says so. A start of the service does the same.',
    )
    .addOption(databaseOption())
    .option(
      '--distribute',
      'then distribute the tenant tables over the machines of Citus, by account; distributed tables stay unchanged',
    )
    .option('--json', jsonHelp)
    .action(
      action(io, async (options) => {
        const { migrateUp } = await import('./migrate-up.ts')
        await migrateUp(options, io)
      }),
    )
}

function copyCommand(io: Io) {
  return new Command('copy')
    .summary('copy a ledger from SQLite to PostgreSQL')
    .description(
      [
        'Copies everything from a SQLite file, which no service may be using, to an empty PostgreSQL database: accounts, keys, agents, mandates, sellers, proofs, payments, the audit log, and the proof secret beside the file. The file is not changed. Finally it verifies that every table has the same rows and sums, and that the ledger is consistent.',
        'Run the same command again to continue an interrupted copy; no service starts on a database with an incomplete ledger.',
      ].join('\n\n'),
    )
    .requiredOption('--from <address>', 'sqlite: and a path')
    .requiredOption(
      '--to <address>',
      'postgresql://user@host/name; the password in PGPASSWORD, because flags are visible in the process list',
    )
    .option('--json', jsonHelp)
    .action(
      action(io, async (options) => {
        const { migrateCopy } = await import('./migrate-copy.ts')
        await migrateCopy(options, io)
      }),
    )
}

import { Command } from '@commander-js/extra-typings'

import { databaseOption } from './database-option.ts'
import { action, type Surroundings } from './surroundings.ts'

const jsonHelp = 'one JSON document instead of words'

export function migrateCommand(surroundings: Surroundings) {
  return new Command('migrate')
    .summary('look at the schema of a ledger, bring it up to date, carry it to PostgreSQL')
    .addCommand(statusCommand(surroundings))
    .addCommand(upCommand(surroundings))
    .addCommand(copyCommand(surroundings))
}

function statusCommand(surroundings: Surroundings) {
  return new Command('status')
    .summary('say how far the schema of the ledger is, and change nothing')
    .description(
      'Says which version of the schema the ledger has, which one this release needs, and what purser migrate up would do. It changes nothing. The exit code is 1 when there is no file at the path, and when this release cannot serve the ledger as it is and migrate up would not help.',
    )
    .addOption(databaseOption())
    .option('--json', jsonHelp)
    .action(
      action(surroundings, async (options) => {
        const { migrateStatus } = await import('./migrate-status.ts')
        await migrateStatus(options, surroundings)
      }),
    )
}

function upCommand(surroundings: Surroundings) {
  return new Command('up')
    .summary('bring the schema of the ledger up to this release')
    .description(
      'Runs the steps of the schema that the ledger has not seen, in one transaction and under a lock. There is no way down: make a backup first. Where there is no ledger, it makes a new, empty one, with its folder, and says so. A start of the service does the same by itself.',
    )
    .addOption(databaseOption())
    .option(
      '--distribute',
      'then spread the tables of tenants over the machines of Citus, by account; what is spread already stays.',
    )
    .option('--json', jsonHelp)
    .action(
      action(surroundings, async (options) => {
        const { migrateUp } = await import('./migrate-up.ts')
        await migrateUp(options, surroundings)
      }),
    )
}

function copyCommand(surroundings: Surroundings) {
  return new Command('copy')
    .summary('carry a ledger over from SQLite to PostgreSQL')
    .description(
      [
        'Copies everything from a SQLite file, which no service may use meanwhile, to an empty PostgreSQL database: accounts, keys, agents, mandates, sellers, proofs, payments, the audit log, and the proof secret that is kept beside the file. The file is left as it is. At the end it proves that every table has as many rows there and adds up to the same, and that the ledger is sound.',
        'A copy that was interrupted goes on where it was when the same command is run again; no service starts on a database that holds half a ledger.',
      ].join('\n\n'),
    )
    .requiredOption('--from <address>', 'sqlite: and a path')
    .requiredOption(
      '--to <address>',
      'postgresql://user@host/name; the password in PGPASSWORD, since a flag is seen in the list of processes',
    )
    .option('--json', jsonHelp)
    .action(
      action(surroundings, async (options) => {
        const { migrateCopy } = await import('./migrate-copy.ts')
        await migrateCopy(options, surroundings)
      }),
    )
}

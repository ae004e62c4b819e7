import { Command, Option } from '@commander-js/extra-typings'

import { databaseOption } from './database-option.ts'
import { action, type Io } from './io.ts'

export function restoreCommand(io: Io) {
  return new Command('restore')
    .summary('replace the ledger by a backup')
    .description(
      'Replaces a SQLite ledger that no service uses with a backup from purser backup, and keeps the replaced ledger beside it; or restores into an empty PostgreSQL database. Proofs that are open in the backup are ended, because they may have been charged since; new proofs are signed with a new secret; and all console sessions end. It checks the restored ledger, and lists what was revoked or stopped since the backup and works again.',
    )
    .argument('[file]', 'the backup; none with --recovered')
    .addOption(databaseOption())
    .addOption(
      new Option(
        '--replaces <address>',
        'the PostgreSQL ledger that the restored one replaces: lists what was revoked there since the backup',
      ),
    )
    .option(
      '--recovered',
      'the PostgreSQL server has already recovered the database from a base backup: do only the rest, before any service starts',
    )
    .option('--json', 'print one JSON document instead of text')
    .action(
      action(io, async (file, options) => {
        const { restore } = await import('./restore.ts')
        await restore(file, options, io)
      }),
    )
}

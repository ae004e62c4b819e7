import { Command } from '@commander-js/extra-typings'

import { databaseOption } from './database-option.ts'
import { action, type Io } from './io.ts'

export function backupCommand(io: Io) {
  return new Command('backup')
    .summary('write the ledger to a file, while the service runs')
    .description(
      'Writes a consistent snapshot of the ledger to a file that only this user can read, and checks the copy like purser ledger check does. The service can keep running. A SQLite ledger becomes a SQLite file; a PostgreSQL ledger becomes an archive of pg_dump, which must be installed. It does not contain the secret that signs proofs: purser restore creates a new one. The file appears under its name once it is complete. The exit code is 1 if the backup failed or is inconsistent.',
    )
    .argument('<file>', 'the file to write')
    .addOption(databaseOption())
    .option('--replace', 'replace an existing backup')
    .option('--json', 'print one JSON document instead of text')
    .action(
      action(io, async (file, options) => {
        const { backUp } = await import('./backup.ts')
        await backUp(file, options, io)
      }),
    )
}

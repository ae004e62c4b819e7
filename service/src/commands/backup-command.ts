import { Command } from '@commander-js/extra-typings'

import { databaseOption } from './database-option.ts'
import { action, type Surroundings } from './surroundings.ts'

export function backupCommand(surroundings: Surroundings) {
  return new Command('backup')
    .summary('write the ledger to a file, while the service runs')
    .description(
      'Writes the ledger, as it is at one moment, to a file that only this user can read, and adds the copy up as purser ledger check does. The service goes on meanwhile. A SQLite ledger becomes a SQLite file; a PostgreSQL ledger becomes an archive of pg_dump, which must be installed. The secret that signs proofs is not part of it: purser restore makes a new one. The file appears under its name when it is whole. The exit code is 1 when there is no backup, or when something in it does not agree.',
    )
    .argument('<file>', 'the file to write')
    .addOption(databaseOption())
    .option('--replace', 'replace an earlier backup of that name')
    .option('--json', 'one JSON document instead of words')
    .action(
      action(surroundings, async (file, options) => {
        const { backUp } = await import('./backup.ts')
        await backUp(file, options, surroundings)
      }),
    )
}

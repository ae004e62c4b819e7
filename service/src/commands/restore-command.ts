import { Command, Option } from '@commander-js/extra-typings'

import { databaseOption } from './database-option.ts'
import { action, type Surroundings } from './surroundings.ts'

export function restoreCommand(surroundings: Surroundings) {
  return new Command('restore')
    .summary('put a backup in the place of the ledger')
    .description(
      'Puts a backup of purser backup in the place of a SQLite ledger that no service uses, and keeps the ledger that was there beside it; or into an empty PostgreSQL database. Proofs that are open in the backup are ended, because they may have been charged since, proofs are signed with a new secret, and everybody is signed out of the console. It adds the restored ledger up, and lists what was revoked or stopped since the backup and works again.',
    )
    .argument('<file>', 'the backup')
    .addOption(databaseOption())
    .addOption(
      new Option(
        '--replaces <address>',
        'the PostgreSQL ledger that the restored one takes the place of: what was revoked there since the backup is listed',
      ),
    )
    .option('--json', 'one JSON document instead of words')
    .action(
      action(surroundings, async (file, options) => {
        const { restore } = await import('./restore.ts')
        await restore(file, options, surroundings)
      }),
    )
}

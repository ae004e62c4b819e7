import { Command } from '@commander-js/extra-typings'

import { databaseOption } from './database-option.ts'
import { action, type Io } from './io.ts'

export function ledgerCommand(io: Io) {
  return new Command('ledger').summary('check the ledger').addCommand(
    new Command('check')
      .summary('recompute the whole ledger, and report inconsistencies')
      .description(
        'Recomputes the spent and held totals of every mandate, every limit and every shared budget from the payments, and compares every payment with its entries in the journal and the sums of the console with the journal. It reads a consistent snapshot and writes nothing, so the service can keep running. The exit code is 1 if something is inconsistent.',
      )
      .addOption(databaseOption())
      .option('--json', 'print one JSON document instead of text')
      .action(
        action(io, async (options) => {
          const { checkLedger } = await import('./ledger-check.ts')
          await checkLedger(options, io)
        }),
      ),
  )
}

import { Command } from '@commander-js/extra-typings'

import { databaseOption } from './database-option.ts'
import { action, type Surroundings } from './surroundings.ts'

export function ledgerCommand(surroundings: Surroundings) {
  return new Command('ledger').summary('look after the ledger').addCommand(
    new Command('check')
      .summary('add the whole ledger up anew, and say what does not agree')
      .description(
        'Adds up every mandate anew: what it has spent against its payments, what it holds against its open proofs, every payment against its proof, its audit event and its copy at the other account. It reads the ledger as it is at one moment and writes nothing, so the service may run meanwhile. The exit code is 1 when something does not agree.',
      )
      .addOption(databaseOption())
      .option('--json', 'one JSON document instead of words')
      .action(
        action(surroundings, async (options) => {
          const { checkLedger } = await import('./ledger-check.ts')
          await checkLedger(options, surroundings)
        }),
      ),
  )
}

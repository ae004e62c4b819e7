import { Option } from '@commander-js/extra-typings'

import { connect } from '../../connection.ts'
import { CommandError } from '../../exit-codes.ts'
import { showRecord } from '../../output/show.ts'
import type { Io } from '../../io.ts'
import { recordColumns } from '../approvals.ts'
import { clientCommand, givenFields, parseAmount } from '../client-command.ts'
import { collectLimits, limitHelp } from '../limit-options.ts'
import { parseWhen } from '../when.ts'

/** `purser mandates request-increase`: asks the owner for wider terms, as the agent of the mandate. */
export function requestIncreaseCommand(io: Io) {
  return clientCommand('request-increase')
    .summary('ask the owner for wider terms of a mandate')
    .description(
      'Asks the owner for wider terms; nothing changes until an owner approves. --limit replaces all limits over time: omitted ones are removed.',
    )
    .argument('<mandate-id>')
    .requiredOption('--reason <text>', 'why more is needed, for the person who decides')
    .option('--total <amount>', 'total budget in USDC, such as 100.00', parseAmount)
    .option('--per-payment <amount>', 'max amount per payment, such as 10.00', parseAmount)
    .option('--expires <when>', 'a time with a time zone, or a duration from now', parseWhen(io.now))
    .option('--limit <limit>', limitHelp, collectLimits)
    .addOption(new Option('--no-limits', 'remove all limits over time').conflicts('limit'))
    .action(async (id, options) => {
      const terms = givenFields({
        max_spend_total: options.total,
        max_spend_per_transaction: options.perPayment,
        expires_at: options.expires,
        limits: options.limits ? options.limit : [],
      })
      if (Object.keys(terms).length === 0) {
        throw new CommandError('name at least one term to widen, such as --total', 'usage')
      }
      const { mandates } = await connect(options, io)
      const signal = io.interruption()
      const request = await mandates.requestIncrease(id, { ...terms, reason: options.reason }, { signal })
      showRecord(recordColumns, request, options, io)
    })
}

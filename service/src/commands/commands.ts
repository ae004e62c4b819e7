import type { CommandUnknownOpts } from '@commander-js/extra-typings'

import { backupCommand } from './backup-command.ts'
import { initCommand } from './init-command.ts'
import { ledgerCommand } from './ledger-command.ts'
import { migrateCommand } from './migrate-command.ts'
import { policyCommand } from './policy-command.ts'
import { restoreCommand } from './restore-command.ts'
import { serveCommand } from './serve-command.ts'
import type { OperatorKeyOptions } from './issue-operator-key.ts'
import { action, type Io } from './io.ts'

/**
 * The commands of `purser` that need the service. Their code is loaded when they are called, so that `purser --help`
 * opens no database.
 */
export function serviceCommands(io: Io): CommandUnknownOpts[] {
  return [
    serveCommand(io),
    initCommand(io),
    migrateCommand(io),
    ledgerCommand(io),
    backupCommand(io),
    restoreCommand(io),
    policyCommand(io),
  ]
}

/** The findings of `purser doctor` about the service of this folder: its settings, ledger and files. */
export async function examineService(io: Io) {
  const { examine } = await import('./examine.ts')
  return examine(io)
}

/** Issues an operator key in the ledger itself, for `purser keys issue --operator`. */
export function issueOperatorKey(options: OperatorKeyOptions, io: Io) {
  const issue = action(io, async () => {
    const { issueOperatorKey: issueInLedger } = await import('./issue-operator-key.ts')
    return issueInLedger(options, io)
  })
  return issue()
}

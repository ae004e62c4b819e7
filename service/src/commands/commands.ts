import type { CommandUnknownOpts } from '@commander-js/extra-typings'

import { backupCommand } from './backup-command.ts'
import { initCommand } from './init-command.ts'
import { ledgerCommand } from './ledger-command.ts'
import { migrateCommand } from './migrate-command.ts'
import { restoreCommand } from './restore-command.ts'
import { serveCommand } from './serve-command.ts'
import type { OperatorKeyOptions } from './issue-operator-key.ts'
import { action, type Surroundings } from './surroundings.ts'

/**
 * The commands of `purser` that need the service itself. What a command does is loaded when it is called,
 * so that `purser --help` opens no database.
 */
export function serviceCommands(surroundings: Surroundings): CommandUnknownOpts[] {
  return [
    serveCommand(surroundings),
    initCommand(surroundings),
    migrateCommand(surroundings),
    ledgerCommand(surroundings),
    backupCommand(surroundings),
    restoreCommand(surroundings),
  ]
}

/** What `purser doctor` says about the service of this folder: its settings, its ledger, its files. */
export async function examineService(surroundings: Surroundings) {
  const { examine } = await import('./examine.ts')
  return examine(surroundings)
}

/** Issues an operator key in the ledger itself, for `purser keys issue --operator`. */
export function issueOperatorKey(options: OperatorKeyOptions, surroundings: Surroundings) {
  const issue = action(surroundings, async () => {
    const { issueOperatorKey: issueInLedger } = await import('./issue-operator-key.ts')
    return issueInLedger(options, surroundings)
  })
  return issue()
}

import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'

import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings'

import { pathOf, withAllBelow } from './command-tree.ts'
import { accountsCommand } from './commands/accounts.ts'
import { agentsCommand } from './commands/agents.ts'
import { approvalsCommand } from './commands/approvals.ts'
import { auditCommand } from './commands/audit.ts'
import { budgetsCommand } from './commands/budgets.ts'
import { completionCommand } from './commands/completion.ts'
import { doctorCommand } from './commands/doctor.ts'
import { evaluateCommand } from './commands/evaluate.ts'
import { keysCommand } from './commands/keys.ts'
import { mandatesCommand } from './commands/mandates.ts'
import { journalCommand } from './commands/journal.ts'
import { payCommand } from './commands/pay.ts'
import { profileCommand } from './commands/profile.ts'
import { paymentsCommand } from './commands/payments.ts'
import { proofsCommand } from './commands/proofs.ts'
import { sellersCommand } from './commands/sellers.ts'
import { sessionsCommand } from './commands/sessions.ts'
import { testClockCommand } from './commands/limits/test-clock.ts'
import { transactionsCommand } from './commands/transactions.ts'
import { exits } from './exit-codes.ts'
import { loadServiceCommands, namesServiceCommand } from './service-commands.ts'
import type { Io } from './io.ts'

/**
 * Every command, in the order of `purser --help`. The service's commands are loaded only if the args may need
 * them, so that the others start faster.
 */
export async function createProgram(words: readonly string[], io: Io): Promise<CommandUnknownOpts> {
  const program = new Command('purser')
    .usage('<command> [options]')
    .version(
      isAskedForVersion(words) ? readVersion() : '',
      '--version',
      'the version of this command, with its commit',
    )
    .addHelpText('before', 'Purser: spending mandates for software agents.\n')
    .addHelpText('after', `\npurser <command> --help describes a command.\n\n${exitCodeHelp()}`)
  const own: readonly CommandUnknownOpts[] = [
    accountsCommand(io),
    keysCommand(io),
    sessionsCommand(io),
    agentsCommand(io),
    mandatesCommand(io),
    budgetsCommand(io),
    approvalsCommand(io),
    sellersCommand(io),
    evaluateCommand(io),
    payCommand(io),
    proofsCommand(io),
    paymentsCommand(io),
    transactionsCommand(io),
    journalCommand(io),
    auditCommand(io),
    testClockCommand(io),
    profileCommand(io),
  ]
  const isOwn = own.some((command) => command.name() === words[0])
  const service = isOwn ? [] : await loadServiceCommands(io)
  const all = [...service, doctorCommand(io), ...own, completionCommand(io)]
  for (const command of all) program.addCommand(command)
  for (const command of program.commands) {
    for (const one of withAllBelow(command)) one.helpGroup(groupOf(command.name()))
  }
  for (const command of withAllBelow(program)) configure(command, io)
  return program
}

const groups: Readonly<Record<string, readonly string[]>> = {
  'Accounts and agents:': [
    'accounts',
    'keys',
    'sessions',
    'agents',
    'mandates',
    'budgets',
    'approvals',
    'sellers',
  ],
  'Payments:': ['evaluate', 'pay', 'proofs', 'payments', 'transactions', 'journal', 'audit', 'test-clock'],
  'This machine:': ['profile', 'completion'],
}

function groupOf(name: string): string {
  if (name === 'doctor' || namesServiceCommand(name)) return 'The service:'
  return Object.entries(groups).find(([, names]) => names.includes(name))?.[0] ?? 'Other:'
}

/** Settings shared by all commands. */
function configure(command: CommandUnknownOpts, { print, printError, columns }: Io): void {
  const helpWidth = Math.min(columns, widestHelp)
  command
    .exitOverride()
    .helpOption('-h, --help', 'show this help')
    .helpCommand(false)
    .configureHelp({
      helpWidth,
      // The list shows full command names.
      visibleCommands: (of) => withAllBelow(of).filter((one) => one !== of && one.commands.length === 0),
      subcommandTerm: (of) => pathOf(of).join(' '),
    })
    .configureOutput({
      writeOut: (text) => print(text.replace(/\n$/, '')),
      writeErr: (text) => printError(text.replace(/\n$/, '')),
      // run-purser.ts reports errors, in one format.
      outputError: () => undefined,
    })
  if (command.commands.length > 0) command.usage('<command> [options]')
}

/** Lines that are longer are hard to read. */
const widestHelp = 110

/** Reading it may start git, which nothing else needs. */
function isAskedForVersion(words: readonly string[]): boolean {
  return words.includes('--version')
}

function readVersion(): string {
  const folder = new URL('..', import.meta.url)
  const text = readFileSync(new URL('package.json', folder), 'utf8')
  const { version, gitHead = commitOf(folder) } = JSON.parse(text) as { version: string; gitHead?: string }
  return gitHead === undefined ? version : `${version} (${gitHead.slice(0, 12)})`
}

/** The commit of a checkout; undefined elsewhere. A package has it in its package.json. */
function commitOf(folder: URL): string | undefined {
  if (!existsSync(new URL('../../.git', folder))) return undefined
  try {
    const options = { cwd: folder, encoding: 'utf8', stdio: 'pipe', timeout: 2_000 } as const
    return execFileSync('git', ['rev-parse', 'HEAD'], options).trim()
  } catch {
    return undefined
  }
}

function exitCodeHelp(): string {
  const lines = Object.values(exits).map(({ code, when }) => `  ${String(code).padEnd(5)} ${when}`)
  return ['Exit codes:', ...lines].join('\n')
}

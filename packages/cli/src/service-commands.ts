import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings'

import type { Environment } from '@purser/client'

import { codeOf } from './error-code.ts'
import { CommandError } from './exit-codes.ts'
import type { Io } from './io.ts'

/** The commands of `@purser/service`, listed here so that their names are known without it. */
const names = ['serve', 'init', 'migrate', 'ledger', 'backup', 'restore', 'policy'] as const

export function namesServiceCommand(name: string): boolean {
  return (names as readonly string[]).includes(name)
}

/** The service's commands; if it is not installed, placeholders that say so. */
export async function loadServiceCommands(io: Io): Promise<CommandUnknownOpts[]> {
  const service = await importService()
  return service ? service.serviceCommands(io) : names.map(missingCommand)
}

/** Issues an operator key directly in the ledger. Throws a `CommandError` if the service is not installed. */
export async function issueOperatorKey(options: OperatorKeyOptions, io: Io) {
  const service = await importService()
  if (!service) throw new CommandError(`this ${remedy}`)
  return service.issueOperatorKey(options, io)
}

/** The operator key to issue, and the ledger. */
interface OperatorKeyOptions {
  readonly environment: Environment
  readonly account?: string | undefined
  readonly label?: string | undefined
  readonly database?: string | undefined
}

/** The exports of the service package; undefined if it is not installed. */
export async function importService() {
  try {
    return await import('@purser/service/commands')
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** Whether the service itself is missing, not one of its dependencies. */
function isMissing(error: unknown): boolean {
  return codeOf(error) === 'ERR_MODULE_NOT_FOUND' && /'@purser\/service'/.test(String(error))
}

const remedy =
  'needs the service, which is not installed here; install its package next to this one, or run npx purser in a checkout of Purser'

function missingCommand(name: string): CommandUnknownOpts {
  return new Command(name)
    .summary('(needs the service, which is not installed here)')
    .description(`This command ${remedy}.`)
    .allowUnknownOption()
    .allowExcessArguments()
    .action(() => {
      throw new CommandError(`this ${remedy}`)
    })
}

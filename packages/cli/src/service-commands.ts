import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings'

import type { Environment } from '@purser/client'

import { CommandError } from './exit-codes.ts'
import type { Surroundings } from './surroundings.ts'

/** The commands that come with `@purser/service`, so that their names are known without it. */
const names = ['serve', 'init', 'migrate', 'ledger', 'backup', 'restore'] as const

export function namesServiceCommand(name: string): boolean {
  return (names as readonly string[]).includes(name)
}

/** The service's own commands; where it is not installed, commands of the same names that say so. */
export async function loadServiceCommands(surroundings: Surroundings): Promise<CommandUnknownOpts[]> {
  const service = await importService()
  return service ? service.serviceCommands(surroundings) : names.map(missingCommand)
}

/** Issues an operator key in the ledger itself. Throws a `CommandError` where the service is not installed. */
export async function issueOperatorKey(options: OperatorKeyOptions, surroundings: Surroundings) {
  const service = await importService()
  if (!service) throw new CommandError(`this ${remedy}`)
  return service.issueOperatorKey(options, surroundings)
}

/** Which operator key is wanted, and in which ledger. */
interface OperatorKeyOptions {
  readonly environment: Environment
  readonly account?: string | undefined
  readonly label?: string | undefined
  readonly database?: string | undefined
}

/** What the service package gives to this command; undefined where it is not installed. */
export async function importService() {
  try {
    return await import('@purser/service/commands')
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** Whether it is the service that is missing, and not something that the service needs. */
function isMissing(error: unknown): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    error.code === 'ERR_MODULE_NOT_FOUND' &&
    /'@purser\/service'/.test(error.message)
  )
}

const remedy =
  'needs the service itself, which is not installed here; install its package beside this one, or call it in a checkout of Purser, as npx purser'

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

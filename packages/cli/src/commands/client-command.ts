import { Command, InvalidArgumentError, Option } from '@commander-js/extra-typings'
import { isAmount } from '@purser/client'

/** A command that calls a service, with the options that all of them have. */
export function clientCommand(name: string) {
  return new Command(name)
    .option('--profile <name>', 'use the service and key of this profile')
    .option('--json', 'print one JSON document')
}

/** A list command with a limit. */
export function listCommand(name: string) {
  return clientCommand(name).option('--limit <count>', 'max number of items, newest first', parseCount, 50)
}

/** `--account`, for operators to manage other accounts. */
export function anotherAccountOption() {
  return new Option('--account <account-id>', 'another account (operators only)')
}

/** The fields whose options were given: an omitted option adds nothing to a request. */
export function givenFields<Fields extends object>(fields: Fields) {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given) as { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> }
}

/** Max items of a list; longer lists need --json and your own program. */
const maxCount = 10_000

/** A positive integer. Throws an error that the parser reports as wrong usage. */
export function parseCount(text: string): number {
  const count = /^\d{1,6}$/.test(text) ? Number(text) : 0
  if (count < 1 || count > maxCount) {
    throw new InvalidArgumentError(`It must be a whole number from 1 to ${maxCount}.`)
  }
  return count
}

/** What an id names, by its prefix. */
const namedBy = {
  acct: 'an account',
  agent: 'an agent',
  approval: 'an approval',
  budget: 'a budget',
  event: 'an event',
  key: 'an API key',
  limit: 'a limit',
  mandate: 'a mandate',
  seller: 'a seller',
  session: 'a session',
  stop: 'a stop',
  txn: 'a transaction',
}

/**
 * Parses the id of an agent or a mandate where the service would just find nothing for another one. An id without a
 * known prefix may be one. Throws an error that the parser reports as wrong usage.
 */
export function parseIdOf(kind: 'agent' | 'mandate') {
  return (text: string): string => {
    const named = Object.entries(namedBy).find(([prefix]) => text.startsWith(`${prefix}_`))?.[1]
    if (named === undefined || named === namedBy[kind]) return text
    throw new InvalidArgumentError(`It is the id of ${named}, not of ${namedBy[kind]}.`)
  }
}

/** An amount in USDC. Throws an error that the parser reports as wrong usage. */
export function parseAmount(text: string): string {
  if (isAmount(text)) return text
  throw new InvalidArgumentError('It must be an amount in USDC with at most 6 decimals, such as 5.00.')
}

/** Collects the texts of a repeatable `--metadata name=text`. */
export function collectMetadata(
  value: string,
  collected: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const [, name, text] = /^([^=]+)=(.*)$/s.exec(value) ?? []
  if (name === undefined || text === undefined) {
    throw new InvalidArgumentError('It must be a name, an equals sign and a text, such as project=apollo.')
  }
  return { ...collected, [name]: text }
}

/** Collects the values of a repeatable option. */
export function collect(value: string, collected: readonly string[] = []): string[] {
  return [...collected, value]
}

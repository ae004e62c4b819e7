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

/** What `--account` adds to a request. */
export function inAccount(id: string | undefined): { readonly account_id?: string } {
  return id === undefined ? {} : { account_id: id }
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

import { Command, InvalidArgumentError, Option } from '@commander-js/extra-typings'

/** A command that calls a service, with the options that all of them have. */
export function clientCommand(name: string) {
  return new Command(name)
    .option('--profile <name>', 'call the service of this profile, with its key')
    .option('--json', 'one JSON document instead of words')
}

/** A command that lists what may be long. */
export function listCommand(name: string) {
  return clientCommand(name).option('--limit <count>', 'list at most so many, newest first', parseCount, 50)
}

/** `--account`, of the commands with which an operator looks after other accounts. */
export function anotherAccountOption() {
  return new Option('--account <account-id>', 'another account; for operators')
}

/** What `--account` adds to a request. */
export function inAccount(id: string | undefined): { readonly account_id?: string } {
  return id === undefined ? {} : { account_id: id }
}

/** Most items that a list shows: what is longer is for --json and a program of one's own. */
const maxCount = 10_000

/** A whole number above zero. Throws what the parser tells as a wrong call. */
function parseCount(text: string): number {
  const count = /^\d{1,6}$/.test(text) ? Number(text) : 0
  if (count < 1 || count > maxCount) {
    throw new InvalidArgumentError(`It must be a whole number from 1 to ${maxCount}.`)
  }
  return count
}

/** Collects the values of an option that may be given several times. */
export function collect(value: string, collected: readonly string[] = []): string[] {
  return [...collected, value]
}

import { InvalidArgumentError, Option } from '@commander-js/extra-typings'
import { isAmount } from '@purser/client'

import { connect } from '../connection.ts'
import { CommandError } from '../exit-codes.ts'
import { chooseMandate } from '../payment/choose-mandate.ts'
import { pay } from '../payment/pay.ts'
import type { Surroundings } from '../surroundings.ts'
import { clientCommand } from './client-command.ts'

/** What merchants may take to answer, unless told otherwise. */
const standardTimeout = 120

export function payCommand(surroundings: Surroundings) {
  return clientCommand('pay')
    .summary('fetch an address, and pay when it asks to be paid')
    .description(
      [
        'Fetches an address. When it answers 402 with a challenge, the payment is evaluated, paid within the mandate, and the request sent again with the proof: several times when the merchant fails or does not answer, and always with the same proof, so it is charged once at most. The proof goes to no other origin. The body goes to standard output, all else to standard error.',
        'The exit code is 0 when the answer is 2xx, paid or not; 3 when the payment is denied, or above --max-amount; 7 when it was paid and the goods did not come; 8 when it may still be charged; 1 when nothing was paid and the merchant answers otherwise.',
      ].join('\n\n'),
    )
    .argument('<url>')
    .option('--mandate <mandate-id>', 'the mandate to pay from; not needed when the key sees just one')
    .option('--max-amount <amount>', 'pay no more than this, such as 5.00', parseAmount)
    .option('--method <method>', 'GET, or POST with --data')
    .option('--header <header>', 'a header to send, as "Name: value"; several times', collectHeader)
    .option('--data <text>', 'the body to send')
    .option(
      '--purchase-id <id>',
      'your name for the purchase: run again with the same one, it never pays twice and gets the goods it paid for',
      parsePurchaseId,
    )
    .option('--output <file>', 'write the body into a new file; needed with --json')
    .addOption(
      new Option('--timeout <seconds>', 'how long the whole may take')
        .argParser(parseSeconds)
        .default(standardTimeout),
    )
    .action(async (address, options) => {
      if (options.json && options.output === undefined) {
        throw new CommandError(
          '--json tells what was decided and paid, and needs --output for the body',
          'usage',
        )
      }
      const url = checkedAddress(address)
      const client = await connect(options, surroundings)
      const mandate = await chooseMandate(client, options.mandate, surroundings)
      const init: RequestInit = { method: options.method ?? (options.data === undefined ? 'GET' : 'POST') }
      if (options.header) init.headers = options.header
      if (options.data !== undefined) init.body = options.data
      const { purchaseId } = options
      const purchase = { url, init, client, mandate, purchaseId, timeoutMs: options.timeout * 1_000 }
      await pay(purchase, options, surroundings)
    })
}

function checkedAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw new CommandError('<url> must be an http or https address', 'usage')
  }
  if (url.username !== '' || url.password !== '') {
    throw new CommandError('<url> must be without user and password; send --header instead', 'usage')
  }
  return url.href
}

function parseAmount(text: string): string {
  if (isAmount(text)) return text
  throw new InvalidArgumentError('It must be an amount, such as 5.00.')
}

function parsePurchaseId(text: string): string {
  if (text !== '' && text.length <= 255) return text
  throw new InvalidArgumentError('It must have 1 to 255 characters.')
}

function parseSeconds(text: string): number {
  const seconds = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (seconds < 1) throw new InvalidArgumentError('It must be a whole number of seconds, 1 or more.')
  return seconds
}

function collectHeader(text: string, headers: [string, string][] = []): [string, string][] {
  const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n\0]*)$/.exec(text) ?? []
  if (name === undefined || value === undefined) {
    throw new InvalidArgumentError('It must be a name, a colon and a value, such as "Accept: text/csv".')
  }
  return [...headers, [name, value]]
}

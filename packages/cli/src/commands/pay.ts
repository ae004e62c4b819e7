import { InvalidArgumentError } from '@commander-js/extra-typings'

import { connect } from '../connection.ts'
import { CommandError } from '../exit-codes.ts'
import { chooseMandate } from '../payment/choose-mandate.ts'
import { pay } from '../payment/pay.ts'
import type { Io } from '../io.ts'
import { clientCommand, collectMetadata, parseAmount } from './client-command.ts'

/** The default timeout for merchants. */
const standardTimeout = 120

export function payCommand(io: Io) {
  return clientCommand('pay')
    .summary('fetch a URL, and pay for it if required')
    .description(
      [
        'Fetches a URL. If the response is a 402 with a challenge, evaluates the payment, pays within the mandate, and sends the request again with the proof. If the merchant fails or does not answer, it retries with the same proof, so it is charged at most once. The proof is sent to no other origin. The body goes to standard output, everything else to standard error.',
        'The exit code is 0 if the response is 2xx, paid or not; 3 if the payment is denied, or above --max-amount; 7 if it was paid but the goods did not arrive; 8 if it may still be charged; 1 if nothing was paid and the response is not 2xx.',
        'With --json, the outcome of the payment is paid; delivered_not_charged, if the goods arrived and nothing was charged; delivered_charge_unknown, if they arrived and up to the amount may have been charged, or may still be; paid_not_delivered; not_paid; or uncertain, if no goods arrived and it may still be charged. charged_amount is null if it is not known.',
      ].join('\n\n'),
    )
    .argument('<url>')
    .option('--mandate <mandate-id>', 'mandate to pay from; optional if the key sees just one')
    .option('--max-amount <amount>', 'max price to pay, such as 5.00', parseAmount)
    .option('--method <method>', 'GET, or POST with --data')
    .option('--header <header>', 'header to send, as "Name: value"; repeatable', collectHeader)
    .option('--data <text>', 'body to send')
    .option(
      '--purchase-id <id>',
      'your id for the purchase: repeating it never pays twice, and returns the goods',
      parsePurchaseId,
    )
    .option('--metadata <name=text>', 'your own text for the transaction; repeatable', collectMetadata)
    .option(
      '--wait-for-approval <seconds>',
      'how long to wait for a person to approve the payment',
      parseSeconds,
    )
    .option('--output <file>', 'write the body to a new file; required with --json')
    .option('--timeout <seconds>', 'timeout in total', parseSeconds, standardTimeout)
    .action(async (address, options) => {
      if (options.json && options.output === undefined) {
        throw new CommandError(
          '--json prints the decision and payment, so it needs --output for the body',
          'usage',
        )
      }
      const url = checkedAddress(address)
      const init: RequestInit = { method: options.method ?? (options.data === undefined ? 'GET' : 'POST') }
      if (options.header) init.headers = options.header
      if (options.data !== undefined) init.body = options.data
      checkRequest(url, init)
      const client = await connect(options, io)
      const mandate = await chooseMandate(client, options.mandate, io)
      const { purchaseId, metadata } = options
      const timeoutMs = options.timeout * 1_000
      const approvalWaitMs = (options.waitForApproval ?? 0) * 1_000
      const terms = { purchaseId, metadata, timeoutMs, approvalWaitMs }
      const purchase = { url, init, client, mandate, ...terms }
      await pay(purchase, options, io)
    })
}

function checkedAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw new CommandError('<url> must be an http or https URL', 'usage')
  }
  if (url.username !== '' || url.password !== '') {
    throw new CommandError('<url> must not contain a user or password; use --header instead', 'usage')
  }
  return url.href
}

function checkRequest(url: string, init: RequestInit): void {
  try {
    void new Request(url, init)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new CommandError(`--method, --header and --data make no request: ${why}`, 'usage')
  }
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

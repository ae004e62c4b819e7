import { Command, InvalidArgumentError } from '@commander-js/extra-typings'
import type { Purser, ReleasedDomain, Seller, SellerVerification, Settlement } from '@purser/client'

import { connect } from '../connection.ts'
import { exitCodes } from '../exit-codes.ts'
import { timeCell } from '../output/cells.ts'
import { showList, showRecord } from '../output/show.ts'
import type { Column } from '../output/table.ts'
import type { Io } from '../io.ts'
import { clientCommand, givenFields, listCommand } from './client-command.ts'
import { listItems } from './list-items.ts'

const columns: readonly Column<Seller>[] = [
  { title: 'id', cell: ({ id }) => id },
  { title: 'domain', cell: ({ domain }) => domain },
  { title: 'name', cell: ({ name }) => name, canShrink: true },
  { title: 'verification', cell: ({ status = 'not required' }) => status, canDrop: true },
  { title: 'prices', cell: ({ price_config }) => JSON.stringify(price_config), canShrink: true },
  { title: 'created (utc)', cell: ({ created_at }) => timeCell(created_at), canDrop: true },
]

export function sellersCommand(io: Io) {
  return new Command('sellers')
    .summary('register, list and verify sellers, show their settlements, and release their domains')
    .addCommand(createCommand(io))
    .addCommand(listSellersCommand(io))
    .addCommand(verifyCommand(io))
    .addCommand(settlementsCommand(io))
    .addCommand(releaseCommand(io))
}

function createCommand(io: Io) {
  return clientCommand('create')
    .summary('register a seller under its domain')
    .requiredOption('--name <name>', 'name of the seller')
    .requiredOption('--domain <domain>', 'host name of the seller, such as api.example.com')
    .option('--prices <json>', 'price list of the seller, a JSON object', parseObject)
    .action(async ({ name, domain, prices = {}, ...options }) => {
      const { sellers } = await connect(options, io)
      const body = { name, domain, price_config: prices }
      const seller = await sellers.create(body, { signal: io.interruption() })
      showRecord(columns, seller, options, io)
    })
}

function listSellersCommand(io: Io) {
  return listCommand('list')
    .summary('list sellers, newest first')
    .action(async (options) => {
      const { sellers } = await connect(options, io)
      const none = `There are no sellers yet; ${io.calledAs} sellers create registers one.`
      await listItems({ list: sellers.list, columns, none }, options, io)
    })
}

const verificationColumns: readonly Column<SellerVerification>[] = [
  { title: 'domain', cell: ({ domain }) => domain },
  { title: 'status', cell: ({ status }) => status },
  { title: 'missing', cell: ({ missing }) => missing ?? '' },
  { title: 'txt record', cell: ({ record_name }) => record_name },
  { title: 'or file', cell: ({ file_url }) => file_url },
  { title: 'with the text', cell: ({ text }) => text },
]

function verifyCommand(io: Io) {
  return clientCommand('verify')
    .summary('show how to verify a domain, and run the check')
    .description(
      'Checks that the domain of a seller is yours, and shows how to prove it: with a DNS TXT record, or a file. The exit code is 1 while the domain is not verified.',
    )
    .argument('<domain>')
    .action(async (domain, options) => {
      const { sellers } = await connect(options, io)
      const verification = await sellers.verify(domain, { signal: io.interruption() })
      showRecord(verificationColumns, verification, options, io)
      if (verification.status === 'pending') io.exitWith(exitCodes.failed)
    })
}

type Day = Settlement['days'][number]

const settlementColumns: readonly Column<Day>[] = [
  { title: 'day (utc)', cell: ({ day }) => day },
  { title: 'payments', cell: ({ payments }) => String(payments), align: 'right' },
  { title: 'gross', cell: ({ gross }) => gross, align: 'right' },
  { title: 'refunds', cell: ({ refunds }) => String(refunds), align: 'right' },
  { title: 'refunded', cell: ({ refunded }) => refunded, align: 'right' },
  { title: 'net', cell: ({ net }) => net, align: 'right' },
]

function settlementsCommand(io: Io) {
  return clientCommand('settlements')
    .summary('show what a seller collected and refunded, by day in UTC')
    .argument('<seller>', 'domain or id of the seller')
    .option('--from <day>', 'first day, such as 2026-11-01; 29 days before the last by default')
    .option('--to <day>', 'last day; today by default')
    .action(async (seller, options) => {
      const { sellers } = await connect(options, io)
      const id = await idOf(seller, sellers, io)
      const query = givenFields({ from: options.from, to: options.to })
      const settlement = await sellers.settlements(id, query, { signal: io.interruption() })
      if (options.json) return showRecord([], settlement, options, io)
      const total = { day: 'total', ...settlement.total }
      const days = settlement.days.length === 0 ? [] : [...settlement.days, total]
      showList(settlementColumns, days, { none: 'Nothing was collected or refunded on these days.' }, io)
    })
}

/** The id for an id or a domain; a domain that is not registered stays as it is, and is not found. */
async function idOf(seller: string, sellers: Purser['sellers'], io: Io): Promise<string> {
  if (seller.startsWith('seller_')) return seller
  const domain = seller.toLowerCase()
  for await (const one of sellers.list({ limit: 100 }, { signal: io.interruption() })) {
    if (one.domain === domain) return one.id
  }
  return seller
}

const releasedColumns: readonly Column<ReleasedDomain>[] = [
  { title: 'domain', cell: ({ domain }) => domain },
  { title: 'seller', cell: ({ seller_id }) => seller_id },
  { title: 'account', cell: ({ account_id }) => account_id },
]

function releaseCommand(io: Io) {
  return clientCommand('release')
    .summary('release a domain, so that another account can register it; needs an operator key')
    .description(
      'Removes the seller registered under a domain, in any account, in the environment of the key. From then on it cannot collect from other accounts, and another account can register the domain. Past payments keep the id of the seller. Needs an operator key.',
    )
    .argument('<domain>')
    .action(async (domain, options) => {
      const { sellers } = await connect(options, io)
      const released = await sellers.release(domain, { signal: io.interruption() })
      showRecord(releasedColumns, released, options, io)
    })
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return value as Record<string, unknown>
    }
  } catch {
    // Reported below, like any other text that is not an object.
  }
  throw new InvalidArgumentError(`It must be a JSON object, such as '{"default":"0.10"}'.`)
}

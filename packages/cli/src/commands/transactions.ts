import { Command, Option, type OptionValues } from '@commander-js/extra-typings'
import type { Transaction, TransactionsQuery } from '@purser/client'

import { connect } from '../connection.ts'
import { amountCell, metadataCell, optionalCell, statusCell, timeCell } from '../output/cells.ts'
import { saveCsv } from '../output/save-csv.ts'
import { showRecord } from '../output/show.ts'
import type { Column } from '../output/table.ts'
import type { Io } from '../io.ts'
import { mayBe } from '../may-exist.ts'
import { transactionStatuses } from '../vocabularies.ts'
import {
  clientCommand,
  collectMetadata,
  givenFields,
  listCommand,
  parseAmount,
  parseIdOf,
} from './client-command.ts'
import { followItems, followOption, intervalOption } from './follow-items.ts'
import { listItems } from './list-items.ts'
import { parsePastTime } from './when.ts'

const id: Column<Transaction> = { title: 'id', cell: ({ id }) => id }
const created: Column<Transaction> = {
  title: 'created (utc)',
  cell: ({ created_at }) => timeCell(created_at),
}
const status: Column<Transaction> = { title: 'status', cell: ({ status }) => statusCell(status) }
const amount: Column<Transaction> = {
  title: 'amount',
  cell: ({ amount }) => amountCell(amount),
  align: 'right',
}
const merchant: Column<Transaction> = {
  title: 'merchant',
  cell: ({ merchant_domain }) => merchant_domain,
  canShrink: true,
}
const reason: Column<Transaction> = {
  title: 'reason',
  cell: ({ reason_code }) => optionalCell(reason_code),
  canDrop: true,
}

const columns = [created, status, amount, merchant, reason, id]

const recordColumns: readonly Column<Transaction>[] = [
  id,
  created,
  status,
  { title: 'amount', cell: ({ amount, currency }) => `${amountCell(amount)} ${currency}` },
  merchant,
  { title: 'resource', cell: ({ resource_url }) => resource_url },
  { title: 'category', cell: ({ category }) => optionalCell(category) },
  reason,
  { title: 'detail', cell: ({ reason_detail }) => optionalCell(reason_detail) },
  { title: 'order', cell: ({ order_id }) => optionalCell(order_id) },
  {
    title: 'refunded',
    cell: ({ refunded_total: refunded, currency }) =>
      refunded === null ? '-' : `${amountCell(refunded)} ${currency}`,
  },
  { title: 'refund of', cell: ({ refund_of }) => optionalCell(refund_of) },
  { title: 'agent', cell: ({ agent_id }) => agent_id },
  { title: 'mandate', cell: ({ mandate_id }) => mandate_id },
  {
    title: 'mandate version',
    cell: ({ mandate_version: version }) => (version === null ? '-' : String(version)),
  },
  { title: 'seller', cell: ({ seller_id }) => optionalCell(seller_id) },
  { title: 'metadata', cell: ({ metadata }) => metadataCell(metadata) },
]

export function transactionsCommand(io: Io) {
  return new Command('transactions')
    .summary('list, follow, show, export and refund transactions')
    .addCommand(listTransactionsCommand(io))
    .addCommand(showCommand(io))
    .addCommand(exportCommand(io))
    .addCommand(refundCommand(io))
}

function listTransactionsCommand(io: Io) {
  return withFilters(listCommand('list'), io)
    .summary('list transactions, newest first, or follow them')
    .addOption(followOption())
    .addOption(intervalOption())
    .action(async (options) => {
      const { transactions } = await connect(options, io)
      const filter = filterOf(options)
      const list: typeof transactions.list = (query, call) => transactions.list({ ...filter, ...query }, call)
      if (options.follow) return followItems({ list, columns }, options, io)
      await listItems({ list, columns, none: 'No transactions match.' }, options, io)
    })
}

function exportCommand(io: Io) {
  return withFilters(clientCommand('export'), io)
    .summary('export transactions as CSV, newest first; with a merchant key, its sales')
    .option('--output <file>', 'write to a new file, atomically')
    .action(async (options) => {
      const { transactions } = await connect(options, io)
      const signal = io.interruption()
      await saveCsv(() => transactions.exportCsv(filterOf(options), { signal }), options, io)
    })
}

/** The filter options. */
function withFilters<Args extends unknown[], Options extends OptionValues, Globals extends OptionValues>(
  command: Command<Args, Options, Globals>,
  { now }: Io,
) {
  return command
    .option('--agent <agent-id>', 'only those of this agent', parseIdOf('agent'))
    .option('--mandate <mandate-id>', 'only those under this mandate', parseIdOf('mandate'))
    .addOption(new Option('--status <status>', 'only those with this status').choices(transactionStatuses))
    .option('--merchant <domain>', 'only those with this merchant')
    .option('--metadata <name=text>', 'only those with this text; repeatable', collectMetadata)
    .option(
      '--from <time>',
      'only at or after this time, or this long ago: 30m, 12h, 90d',
      parsePastTime(now),
    )
    .option('--to <time>', 'only before this time, or this long ago', parsePastTime(now))
}

interface FilterOptions {
  readonly agent?: string | undefined
  readonly mandate?: string | undefined
  readonly status?: Transaction['status'] | undefined
  readonly merchant?: string | undefined
  readonly metadata?: Record<string, string> | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
}

function filterOf(options: FilterOptions): TransactionsQuery {
  return givenFields({
    agent_id: options.agent,
    mandate_id: options.mandate,
    status: options.status,
    merchant_domain: options.merchant,
    metadata: options.metadata,
    created_from: options.from,
    created_to: options.to,
  })
}

function showCommand(io: Io) {
  return clientCommand('show')
    .summary('show one transaction')
    .argument('<transaction-id>')
    .action(async (id, options) => {
      const { transactions } = await connect(options, io)
      const transaction = await transactions.get(id, { signal: io.interruption() })
      showRecord(recordColumns, transaction, options, io)
    })
}

function refundCommand(io: Io) {
  return clientCommand('refund')
    .summary('refund a payment that you have collected, in full or in part')
    .argument('<transaction-id>')
    .requiredOption('--amount <amount>', 'amount in USDC, at most what is not refunded yet', parseAmount)
    .option('--reason <text>', 'why, for the records of both accounts')
    .option('--idempotency-key <key>', 'for a retry: the same key refunds once')
    .action(async (id, { amount, reason, idempotencyKey = crypto.randomUUID(), ...options }) => {
      const { transactions } = await connect(options, io)
      const body = { amount, ...givenFields({ reason }) }
      const call = { signal: io.interruption(), idempotencyKey }
      const refund = await transactions.refund(id, body, call).catch(mayBe('refunded', idempotencyKey, io))
      showRecord(recordColumns, refund, options, io)
    })
}

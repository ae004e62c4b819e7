import { Type, type Static } from '../schema/type.ts'

import { endpoint } from '../endpoint.ts'
import { AmountText, described, Domain, Id, Nullable, OneOf, Text, Timestamp, Usdc } from '../fields.ts'
import { maxLengths } from '../lengths.ts'
import { readerRoles } from '../roles.ts'
import { TransactionsQuery } from '../transactions.ts'

/** The accounts of the journal: what agents buy, what sellers earn, and the money. */
export const journalAccounts = ['expense', 'wallet', 'revenue'] as const

/** One line of the journal; debit and credit of an entry's two lines add up to the same amount. */
export const JournalLine = Type.Object({
  at: described(Timestamp, 'When it was paid or refunded.'),
  transaction_id: described(Id, 'The payment or the refund.'),
  kind: described(OneOf(['payment', 'refund']), 'What happened.'),
  account: described(
    OneOf(journalAccounts),
    '`expense` is what agents buy, `revenue` what sellers of the account earn, `wallet` the money.',
  ),
  debit: described(Nullable(AmountText), 'Debit in USDC, as decimal text; null for a credit.'),
  credit: described(Nullable(AmountText), 'Credit in USDC, as decimal text; null for a debit.'),
  currency: Usdc,
  merchant_domain: described(Domain, 'Domain of the seller.'),
  seller_id: described(Nullable(Id), 'Seller registered under the domain; null if there is none.'),
  agent_id: described(Id, 'Agent that paid.'),
  mandate_id: described(Id, 'Mandate that it paid from.'),
  order_id: described(Nullable(Text(maxLengths.orderId)), 'Order of the payment; null for none.'),
  refund_of: described(Nullable(Id), 'The payment that was refunded; null unless this is a refund.'),
  resource_url: Text(maxLengths.url, { description: 'URL of the purchased resource.' }),
})
export type JournalLine = Static<typeof JournalLine>

/** The columns of the CSV, in order. */
export const journalColumns = Object.keys(JournalLine.properties) as (keyof JournalLine)[]

const { created_from, created_to } = TransactionsQuery.properties

export const JournalQuery = Type.Object({ created_from, created_to })

export const downloadJournal = endpoint({
  id: 'downloadJournal',
  method: 'GET',
  path: '/v1/journal.csv',
  tag: 'Transactions',
  summary:
    'Streams every payment and refund as double-entry lines, newest first, as CSV (RFC 4180). A payment debits `expense` and credits `wallet`; a sale debits `wallet` and credits `revenue`; refunds reverse them. If the export fails midway, the stream is aborted.',
  roles: readerRoles,
  query: JournalQuery,
  produces: 'text/csv',
  responses: { 200: Type.String() },
  responseDescriptions: { 200: 'The file: a header line, then the lines of each entry.' },
  errors: ['too_many_streams'],
})

/** A table that is carried over, with the columns that order its rows. */
export interface CopiedTable {
  readonly name: string
  readonly key: readonly string[]
}

/** All that a ledger consists of. */
export const copiedTables: readonly CopiedTable[] = [
  { name: 'accounts', key: ['id'] },
  { name: 'api_keys', key: ['account_id', 'id'] },
  { name: 'api_key_hashes', key: ['secret_hash'] },
  { name: 'agents', key: ['account_id', 'id'] },
  { name: 'mandates', key: ['account_id', 'id'] },
  { name: 'record_accounts', key: ['id'] },
  { name: 'sellers', key: ['account_id', 'id'] },
  { name: 'seller_domains', key: ['environment', 'domain'] },
  { name: 'paid_sellers', key: ['account_id', 'mandate_id', 'merchant_domain'] },
  { name: 'holds', key: ['account_id', 'nonce'] },
  { name: 'transactions', key: ['account_id', 'id'] },
  { name: 'recorded_events', key: ['account_id', 'id'] },
  {
    name: 'refusals',
    key: ['account_id', 'environment', 'kind', 'subject', 'reason', 'starts_at_ms'],
  },
  { name: 'api_key_uses', key: ['account_id', 'key_id'] },
]

/**
 * What is not carried over: lists that SQLite keeps only to be faster, and for which PostgreSQL has indexes; views;
 * the sums of the console, which are added up anew; and who is signed in to it.
 */
export const leftOutTables: readonly string[] = [
  'transaction_lists',
  'listed_transactions',
  'list_progress',
  'audit_events',
  'payment_events',
  'activity',
  'activity_progress',
  'sessions',
  'mandate_terms',
  'mandate_sums',
]

/** Columns that SQLite keeps only to be faster. */
export const leftOutColumns: readonly string[] = ['reserve']

/** A column, as far as a copy must know it. */
export interface Column {
  readonly name: string
  readonly type: 'text' | 'integer' | 'bytes'
}

/** A value of a row. */
export type Value = string | bigint | Buffer | null

/** What a table adds up to: the sum of each column of numbers, and the bytes of each other one. */
export interface TableTotals {
  readonly table: string
  readonly rows: bigint
  readonly columns: Readonly<Record<string, bigint>>
}

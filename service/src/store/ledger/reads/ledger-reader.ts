import type { Metadata } from '../../../domain/records.ts'
import { sql, type Reader, type Sql } from '../../sql.ts'

/** A reader of a ledger, with what differs between databases. */
export interface LedgerReader extends Reader {
  /** Ends a slow statement, for databases without a statement timeout: `and` with a condition, or empty. */
  readonly inTime: Sql
  /** Whether a column with a JSON object, or null, has a text under a name. */
  readonly hasText: (column: Sql, name: string, text: string) => Sql
  /** The entries of the account's own mandates, if they are found by mandate. */
  readonly entriesOfMandates: (mandateIds: readonly string[]) => Promise<Sql>
  /** The open payments of a mandate and an epoch, possibly with others, by expiry. */
  readonly indexedPayments: Sql
  /** The open payments that are not indexed yet, possibly with others; undefined if all are indexed. */
  readonly waitingPayments: Sql | undefined
  /** Joins the payment `p` to each entry `e` of an account; the entries are among those that `found` selects. */
  readonly joinPayments: (account: Sql, found: Sql) => Promise<Sql>
}

/** Whether a column with metadata has all of some texts. */
export function hasMetadata({ hasText }: LedgerReader, column: Sql, wanted: Metadata): Sql {
  return sql.and(...Object.entries(wanted).map(([name, text]) => hasText(column, name, text)))
}

/** For a database with the payments of all accounts in one place. */
export const joinPayments = () =>
  Promise.resolve(sql`left join payments p on p.account_id = e.payer_id and p.nonce = e.nonce`)

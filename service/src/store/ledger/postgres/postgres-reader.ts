import type { ClientBase, Pool } from 'pg'

import { idBytes, idText, type IdKind } from '../../../domain/type-id.ts'
import { joinPayments, type LedgerReader } from '../reads/ledger-reader.ts'
import { storable } from './connection.ts'
import { guardOf } from './schema.ts'
import { sql, type Reader, type RunQuery, type Spelling } from '../../sql.ts'

/** A reader of a ledger in PostgreSQL. */
export function ledgerReader(db: Reader): LedgerReader {
  return {
    ...db,
    inTime: sql``,
    hasText: (column, name, text) => sql`${column}::jsonb ->> ${name} = ${text}`,
    entriesOfMandates: () => Promise.resolve(sql.table('entries')),
    indexedPayments: sql`(select * from payments where ${sql.raw(guardOf(['accountId']))})`,
    waitingPayments: undefined,
    joinPayments,
  }
}

/**
 * The same if accounts are distributed over machines: a statement can join only what is on one machine, so payments
 * from other accounts are read first and passed as a parameter.
 */
export function distributedReader(db: Reader): LedgerReader {
  return {
    ...ledgerReader(db),
    joinPayments: async (account, found) => {
      const own = sql`select own.* from payments own where own.account_id = ${account} and own.nonce = e.nonce`
      const isOfOther = sql.raw(`e.kind in ('received', 'refund_sent')`)
      const { rows: sales } = await sql<{ payer_id: string; nonce: string }>`
        select payer_id, nonce from (${found}) e where ${isOfOther}`.execute(db)
      if (sales.length === 0) return sql`left join lateral (${own}) p on not ${isOfOther}`
      const { rows } = await sql<{ payment: string }>`
        select to_jsonb(p)::text as payment from payments p
        where account_id in (${sql.join([...new Set(sales.map((sale) => sale.payer_id))])})
          and nonce in (${sql.join(sales.map((sale) => sale.nonce))})`.execute(db)
      const sold = `[${rows.map(({ payment }) => payment).join()}]`
      return sql`
        left join lateral (${own} and not ${isOfOther} union all
          select * from jsonb_populate_recordset(null::payments, ${sold}::jsonb) sold
          where sold.account_id = e.payer_id and sold.nonce = e.nonce and ${isOfOther}) p on true`
    },
  }
}

/** A reader on a connection, or over a pool. */
export function readerOn(connection: Pick<ClientBase, 'query'>): Reader {
  return readerOver(async (text, values) => (await connection.query(text, values.map(storable))).rows)
}

/** No time limits until the end of the transaction, whatever those of the role. Servers before 17 lack the last one. */
export const noTimeLimits = `
  set local statement_timeout = 0;
  set local lock_timeout = 0;
  set local idle_in_transaction_session_timeout = 0;
  select case when current_setting('server_version_num')::int >= 170000
    then set_config('transaction_timeout', '0', true) end;`

/** Reads from one snapshot of a database, for as long as it takes. */
export async function readPostgresSnapshot<Answer>(
  pool: Pool,
  work: (db: Reader) => Promise<Answer>,
): Promise<Answer> {
  const client = await pool.connect()
  try {
    await client.query(`begin isolation level repeatable read read only; ${noTimeLimits}`)
    return await work(readerOn(client))
  } finally {
    // Closes the connection, which ends the transaction.
    client.release(true)
  }
}

/** How PostgreSQL writes statements. */
export const spelling: Spelling = {
  parameter: (number) => `$${number}`,
  idParameter: (bytes) => idText('nonce', bytes),
  nameOf: ({ name }) => name,
  // The columns have the collation "C", for the order of bytes.
  withLetters: 'collate "default"',
}

/** Writes statements for PostgreSQL and leaves running them to the caller. */
export function readerOver(query: RunQuery): Reader {
  return { ...spelling, query }
}

/** An id in the database; null for an invalid one. */
export function uuidOf(kind: IdKind | 'nonce', text: string): string | null {
  const bytes = idBytes(kind, text)
  return bytes ? idText('nonce', bytes) : null
}

import Database from 'better-sqlite3'
import { Client } from 'pg'

import { addUpAll } from '../../service/src/store/postgres/schema.ts'
import type { LargeLedger, Rows, Value } from './large-ledger.ts'

/** Writes the transactions of a ledger straight into the file, which no service uses meanwhile. */
export function fillSqlite(path: string, ledger: LargeLedger): void {
  const db = new Database(path)
  db.pragma('synchronous = off')
  try {
    for (const batch of ledger.batches()) {
      db.exec('begin')
      for (const { table, columns, rows } of batch) {
        const places = columns.map(() => '?').join(', ')
        const insert = db.prepare(`insert into ${table} (${columns.join(', ')}) values (${places})`)
        for (const row of rows) insert.run(...row)
      }
      db.exec('commit')
    }
    const setSpent = db.prepare(
      'update mandate_sums set spent_micro = ? where no = (select no from mandate_terms where account_id = ? and id = ?)',
    )
    for (const [accountId, id, spent] of spending(ledger)) setSpent.run(spent, accountId, id)
    // As the ledger itself would have written them, behind the payments.
    for (const list of ['agent_id', 'mandate_id', "'merchant:' || merchant_domain"]) {
      db.exec(`
        insert into transaction_lists (account_id, list_id) select distinct account_id, ${list} from transactions;
        insert into listed_transactions
          select l.no, t.id from transactions t
          cross join transaction_lists l on l.account_id = t.account_id and l.list_id = ${list} order by 1, 2`)
    }
    db.exec('update list_progress set listed_up_to = (select coalesce(max(rowid), 0) from transactions)')
    db.exec(paidSellers)
    db.pragma('wal_checkpoint(truncate)')
  } finally {
    db.close()
  }
}

/** Writes the transactions of a ledger straight into the database. */
export async function fillPostgres(url: string, ledger: LargeLedger): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query('set synchronous_commit = off')
    for (const batch of ledger.batches()) for (const rows of batch) await insertRows(client, rows)
    for (const [accountId, id, spent] of spending(ledger)) {
      const values = [spent, accountId, id]
      await client.query('update mandates set spent_micro = $1 where account_id = $2 and id = $3', values)
    }
    await client.query(paidSellers)
    await client.query(addUpAll)
    await client.query('vacuum analyze')
  } finally {
    await client.end()
  }
}

const paidSellers = `
  insert into paid_sellers (account_id, mandate_id, merchant_domain)
  select distinct account_id, mandate_id, merchant_domain from transactions where status = 'paid'`

function spending({ scope, mandates, spentMicro }: LargeLedger): [string, string, bigint][] {
  return mandates.map(({ id }, place) => [scope.accountId, id, spentMicro[place] ?? 0n])
}

async function insertRows(client: Client, { table, columns, rows }: Rows): Promise<void> {
  const arrays = columns.map((column, place) => `$${place + 1}::${typeOf(column)}[]`)
  const values = columns.map((_, place) => rows.map((row): Value => row[place] ?? null))
  await client.query(
    `insert into ${table} (${columns.join(', ')}) select * from unnest(${arrays.join(', ')})`,
    values,
  )
}

function typeOf(column: string): 'bigint' | 'text' {
  return /_(micro|ms|check)$/.test(column) ? 'bigint' : 'text'
}

import { sql, type Kysely } from 'kysely'

import { idsFrom, timeOfNonce } from '../domain/id-time.ts'
import type { Scope, Transaction } from '../domain/records.ts'
import type { ConsoleDialect } from './console/source.ts'
import { toTransaction, type ListedRow, type Tables } from './rows.ts'

/** How long before its proof a payment may have been evaluated. */
const evaluatedWithinMs = 60 * 60_000

/** How many approved evaluations of the account before a proof are looked at for its own. */
const evaluationsLookedAt = 100

/** Makes transactions of rows. */
export type ToTransactions = (scope: Scope, rows: readonly ListedRow[]) => Promise<Transaction[]>

/**
 * Gives payments their category as they are read. A proof carries none, so a payment has that of the latest approved
 * evaluation of the same purchase before its proof: the same agent, mandate, merchant, resource and amount. What was
 * received from another account has none, for the evaluation is the payer's. Payments do no work for this.
 */
export function preparePaidCategories(
  db: Kysely<Tables>,
  { transactions }: Pick<ConsoleDialect, 'transactions'>,
): ToTransactions {
  async function findCategories(scope: Scope, paid: readonly PaidRow[]) {
    const [approved] = transactions(scope, { status: 'approved' })
    const purchases = paid.map((row) => {
      const issuedAtMs = timeOfNonce(row.nonce)
      return sql`(${row.id}, ${idsFrom('txn', issuedAtMs - evaluatedWithinMs)}, ${idsFrom('txn', issuedAtMs + 1)},
        ${row.mandate_id}, ${row.merchant_domain}, ${row.resource_url}, cast(${row.amount_micro} as bigint))`
    })
    const evaluation = approved.rows(
      { from: sql`paid.column2`, olderThan: sql`paid.column3` },
      {
        columns: sql`category`,
        fits: sql`environment = ${scope.environment} and mandate_id = paid.column4
          and merchant_domain = paid.column5 and resource_url = paid.column6 and amount_micro = paid.column7`,
        limit: 1,
        mostLookedAt: evaluationsLookedAt,
      },
    )
    const { rows } = await sql<{ id: string; category: string | null }>`
      select column1 as id, (${evaluation}) as category from (values ${sql.join(purchases)}) paid`.execute(db)
    return new Map(rows.map(({ id, category }) => [id, category]))
  }

  return async (scope, rows) => {
    const paid = rows.filter(isPaidHere)
    if (paid.length === 0) return rows.map(toTransaction)
    const categories = await findCategories(scope, paid)
    return rows.map((row) => toTransaction({ ...row, category: categories.get(row.id) ?? row.category }))
  }
}

type PaidRow = ListedRow & { readonly nonce: string }

/** Whether the account of a row made this payment, and so may have had it evaluated. */
function isPaidHere(row: ListedRow): row is PaidRow {
  return row.status === 'paid' && row.side === 'payer' && row.nonce !== null
}

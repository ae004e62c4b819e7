import type { Pool, QueryConfig } from 'pg'

import { activityColumns, addUp } from '../activity.ts'
import type { Refusal, Tallies } from '../console/store.ts'
import { intArray, textArray } from './columns.ts'
import { query, rowsOf } from './queries.ts'
import type { InTransaction, Transaction } from './transaction.ts'

/** How many accounts one step looks at. */
const accountsAtOnce = 50
/** How many batches of an account one transaction adds up. */
const batchesAtOnce = 400

/**
 * The entries of a batch: which transactions it recorded, account by account. They are written with them, so
 * that whoever adds up finds each transaction once, however late its commit arrived and whatever its clock said.
 */
export function enqueueRecorded(accountId: string, transactionIds: readonly string[]): QueryConfig {
  return {
    name: 'purser_enqueue_recorded',
    text: `insert into activity_queue (account_id, id, transaction_ids) values ($1, $2, $3)`,
    values: [accountId, transactionIds[0], transactionIds.join(',')],
  }
}

/** The sums that an account's transactions change, which each batch names as `enqueueRecorded` wrote them. */
export function addUpRecorded(accountId: string, batches: readonly string[]): QueryConfig {
  return query(addUp(recorded, '$1'), [accountId, batches.join(',')])
}

const recorded = `
  select ${activityColumns} from transactions
  where account_id = $1 and id = any (string_to_array($2, ','))`

/** Adds up what the queue holds, in transactions of one account each; whether more is left. */
export function prepareActivityActs(pool: Pool, inTransaction: InTransaction) {
  async function addUpAccount(accountId: string, deadlineMs: number): Promise<boolean> {
    return inTransaction({ deadlineMs }, async (transaction) => {
      // Entries that another process is adding up are left to it.
      const [taken] = await transaction.ask(
        query(
          `delete from activity_queue where account_id = $1 and id = any (array(
             select id from activity_queue where account_id = $1 order by id limit $2 for update skip locked))
           returning transaction_ids`,
          [accountId, batchesAtOnce],
        ),
      )
      const batches = rowsOf<{ transaction_ids: string }>(taken).map((row) => row.transaction_ids)
      await transaction.commit(...(batches.length > 0 ? [addUpRecorded(accountId, batches)] : []))
      return batches.length === batchesAtOnce
    })
  }

  return async function addUpActivity(deadlineMs: number): Promise<boolean> {
    const { rows } = await pool.query<{ account_id: string }>(
      `select distinct account_id from activity_queue limit ${accountsAtOnce}`,
    )
    let isMoreLeft = rows.length === accountsAtOnce
    for (const { account_id: accountId } of rows) {
      if (await addUpAccount(accountId, deadlineMs)) isMoreLeft = true
    }
    return isMoreLeft
  }
}

/** Adds what was counted in memory; a lost commit makes it be counted twice rather than not at all. */
export async function addTallies(transaction: Transaction, { refusals, keyUses }: Tallies): Promise<void> {
  await transaction.commit(
    ...refusals.map(addRefusal),
    ...(keyUses.length > 0
      ? [
          query(
            `insert into api_key_uses (account_id, key_id, used_at_ms)
             select * from unnest($1::text[], $2::text[], $3::bigint[]) as used (account_id, key_id, used_at_ms)
             order by account_id, key_id
             on conflict (account_id, key_id) do update
               set used_at_ms = greatest(api_key_uses.used_at_ms, excluded.used_at_ms)`,
            [
              textArray(keyUses.map(({ accountId }) => accountId)),
              textArray(keyUses.map(({ keyId }) => keyId)),
              intArray(keyUses.map(({ usedAtMs }) => usedAtMs)),
            ],
          ),
        ]
      : []),
  )
}

function addRefusal(refusal: Refusal): QueryConfig {
  const { accountId, environment, kind, subject, reason, startsAtMs, count } = refusal
  return query(
    `insert into refusals (account_id, environment, kind, subject, reason, starts_at_ms, refused_count)
     select $1, $2, $3, $4, $5, $6::bigint, $7::bigint
     where $3 = 'proof' or exists (
       select 1 from seller_domains where environment = $2 and domain = $4 and account_id = $1)
     on conflict (account_id, environment, kind, subject, reason, starts_at_ms) do update
       set refused_count = refusals.refused_count + excluded.refused_count`,
    [accountId, environment, kind, subject, reason, startsAtMs, count],
  )
}

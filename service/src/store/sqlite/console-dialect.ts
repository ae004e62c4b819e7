import { sql, type RawBuilder } from 'kysely'

import type { TransactionStatus } from '@purser/wire/transactions'

import { activityColumns } from '../activity.ts'
import { plainSource, type Between, type Source } from '../bounded-list.ts'
import { isIndexed, type ConsoleDialect } from '../console/source.ts'
import { listOfMerchant } from './transaction-lists.ts'

/**
 * What the console's reads look like on SQLite. What is not added up yet, and what does not stand in the lists
 * yet, are the latest rows; no index may lead away from them.
 */
export const consoleDialect: ConsoleDialect = {
  pending: ({ accountId, environment }) => sql`
    select ${sql.raw(activityColumns)} from transactions not indexed
    where rowid > (select added_up_to from activity_progress)
      and account_id = ${accountId} and environment = ${environment}`,

  transactions: ({ accountId }, { agentId, mandateId, merchantDomain, status }) => {
    const sources: Source[] = []
    const addList = (listId: string, stands: RawBuilder<unknown>) =>
      sources.push(listSource(accountId, { listId, stands, status }))
    if (mandateId !== undefined) addList(mandateId, sql`mandate_id = ${mandateId}`)
    if (agentId !== undefined) addList(agentId, sql`agent_id = ${agentId}`)
    if (merchantDomain !== undefined) {
      addList(listOfMerchant(merchantDomain), sql`merchant_domain = ${merchantDomain}`)
    }
    const own = sql`select * from transactions where account_id = ${accountId}`
    if (isIndexed(status)) sources.push(plainSource(sql`${own} and ${unpaid(status)}`))
    const [first, ...others] = sources
    return first ? [first, ...others] : [plainSource(own)]
  },

  inTime: sql`and in_time()`,
}

/** The condition written out, with the words of the index: SQLite does not see that the one implies the other. */
function unpaid(status: TransactionStatus): RawBuilder<unknown> {
  return sql`status = ${sql.lit(status)} and status <> 'paid'`
}

/** A list that is written behind the payments, and the latest rows, which may not stand in it yet. */
function listSource(
  accountId: string,
  {
    listId,
    stands,
    status,
  }: {
    readonly listId: string
    /** Whether a row belongs to the list. */
    readonly stands: RawBuilder<unknown>
    readonly status: TransactionStatus | undefined
  },
): Source {
  // Most of what a list holds may be paid: its small index tells what is not, before a row is read.
  const [byStatus, hasStatus] = isIndexed(status)
    ? [sql`indexed by transactions_by_status`, sql`and ${unpaid(status)}`]
    : [sql``, sql``]
  const ids = ({ from, olderThan }: Between) => sql`
    select id from listed_transactions
    where list_no = (select no from transaction_lists where account_id = ${accountId} and list_id = ${listId})
      and id >= ${from} and id < ${olderThan} order by id desc`
  return {
    ids,
    // A row may be both listed and among the latest: `union` leaves it in once.
    rows: (between, { columns, fits, limit, mostLookedAt }) => sql`
      select ${columns} from (
        select * from (
          select t.* from (${ids(between)} limit ${sql.lit(mostLookedAt)}) listed
          cross join transactions t ${byStatus}
          where t.account_id = ${accountId} and t.id = listed.id ${hasStatus} and ${fits}
          order by listed.id desc limit ${sql.lit(limit)})
        union
        select * from (
          select * from transactions t not indexed
          where rowid > (select listed_up_to from list_progress) and account_id = ${accountId} and ${stands}
            and id >= ${between.from} and id < ${between.olderThan} and ${fits}
            and id >= coalesce((${ids(between)} limit 1 offset ${sql.lit(mostLookedAt - 1)}), '')
          order by id desc limit ${sql.lit(limit)})) looked_at
      order by id desc limit ${sql.lit(limit)}`,
  }
}

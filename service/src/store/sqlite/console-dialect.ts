import { sql, type RawBuilder } from 'kysely'

import { activityColumns } from '../activity.ts'
import { plainSource, type Between, type Source } from '../bounded-list.ts'
import { isIndexed, type ConsoleDialect } from '../console-source.ts'
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
    if (mandateId !== undefined) {
      sources.push(listSource(accountId, { listId: mandateId, stands: sql`mandate_id = ${mandateId}` }))
    }
    if (agentId !== undefined) {
      sources.push(listSource(accountId, { listId: agentId, stands: sql`agent_id = ${agentId}` }))
    }
    if (merchantDomain !== undefined) {
      const stands = sql`merchant_domain = ${merchantDomain}`
      sources.push(listSource(accountId, { listId: listOfMerchant(merchantDomain), stands }))
    }
    const own = sql`select * from transactions where account_id = ${accountId}`
    if (isIndexed(status)) {
      // Written out, with the words of the index: SQLite does not see that the one implies the other.
      sources.push(plainSource(sql`${own} and status = ${sql.lit(status)} and status <> 'paid'`))
    }
    const [first, ...others] = sources
    return first ? [first, ...others] : [plainSource(own)]
  },

  inTime: sql`and in_time()`,
}

/** A list that is written behind the payments, and the latest rows, which may not stand in it yet. */
function listSource(
  accountId: string,
  {
    listId,
    stands,
  }: {
    readonly listId: string
    /** Whether a row belongs to the list. */
    readonly stands: RawBuilder<unknown>
  },
): Source {
  const ids = ({ from, olderThan }: Between) => sql`
    select id from transaction_lists where account_id = ${accountId} and list_id = ${listId}
      and id >= ${from} and id < ${olderThan} order by id desc`
  return {
    ids,
    // A row may be both listed and among the latest: `union` leaves it in once.
    rows: (between, { columns, fits, limit, mostLookedAt }) => sql`
      select ${columns} from (
        select * from (
          select t.* from (${ids(between)} limit ${sql.lit(mostLookedAt)}) listed cross join transactions t
          where t.account_id = ${accountId} and t.id = listed.id and ${fits}
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

import { sql } from 'kysely'

import { activityColumns } from '../activity.ts'
import { hasStatus, isIndexed, plainSource, type ConsoleDialect, type Source } from '../console-source.ts'

/**
 * What the console's reads look like on SQLite. What is not added up yet, and what does not stand in the lists
 * of agents and mandates yet, are the latest rows; no index may lead away from them.
 */
export const consoleDialect: ConsoleDialect = {
  pending: ({ accountId, environment }) => sql`
    select ${sql.raw(activityColumns)} from transactions not indexed
    where rowid > (select added_up_to from activity_progress)
      and account_id = ${accountId} and environment = ${environment}`,

  transactions: ({ accountId }, { agentId, mandateId, merchantDomain, status }) => {
    const own = sql`select * from transactions where account_id = ${accountId}`
    if (mandateId !== undefined) return listSource(accountId, { column: 'mandate_id', listId: mandateId })
    if (agentId !== undefined) return listSource(accountId, { column: 'agent_id', listId: agentId })
    if (merchantDomain !== undefined) return plainSource(sql`${own} and merchant_domain = ${merchantDomain}`)
    return plainSource(isIndexed(status) ? sql`${own} and ${hasStatus(status)}` : own)
  },

  inTime: sql`and in_time()`,
}

/** A list that is written behind the payments, and the latest rows, which may not stand in it yet. */
function listSource(
  accountId: string,
  { column, listId }: { readonly column: 'agent_id' | 'mandate_id'; readonly listId: string },
): Source {
  const listed = sql`transaction_lists where account_id = ${accountId} and list_id = ${listId}`
  const latest = sql`
    transactions not indexed where rowid > (select listed_up_to from list_progress)
      and account_id = ${accountId} and ${sql.ref(column)} = ${listId}
      and id not in (select id from ${listed})`
  return {
    ids: ({ from, olderThan }) => sql`
      select id from (
        select id from ${listed} union all select id from ${latest}) listed
      where id >= ${from} and id < ${olderThan}`,
    rows: ({ from, olderThan }, fits, limit) => sql`
      select * from (
        select * from (
          select t.* from (select id as listed_id from ${listed}) listed cross join transactions t
          where t.account_id = ${accountId} and t.id = listed_id
            and listed_id >= ${from} and listed_id < ${olderThan} and ${fits}
          order by listed_id desc limit ${limit})
        union all
        select * from (
          select * from ${latest} and id >= ${from} and id < ${olderThan} and ${fits}
          order by id desc limit ${limit}))
      order by id desc limit ${limit}`,
  }
}

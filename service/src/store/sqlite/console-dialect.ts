import { sql } from 'kysely'

import { activityColumns } from '../activity.ts'
import type { ConsoleDialect } from '../console-reads.ts'

/**
 * What the console's reads look like on SQLite. What is not added up yet, and what does not stand in the lists
 * of agents and mandates yet, are the latest rows; no index may lead away from them.
 */
export const consoleDialect: ConsoleDialect = {
  pending: ({ accountId, environment }) => sql`
    select ${sql.raw(activityColumns)} from transactions not indexed
    where rowid > (select added_up_to from activity_progress)
      and account_id = ${accountId} and environment = ${environment}`,

  transactions: ({ accountId }, { agentId, mandateId }) => {
    const listId = mandateId ?? agentId
    if (listId === undefined) return sql`select * from transactions where account_id = ${accountId}`
    const column = sql.ref(mandateId === undefined ? 'agent_id' : 'mandate_id')
    const listed = sql`
      select id from transaction_lists where account_id = ${accountId} and list_id = ${listId}
      union
      select id from transactions not indexed
      where rowid > (select listed_up_to from list_progress)
        and account_id = ${accountId} and ${column} = ${listId}`
    return sql`
      select t.* from (${listed}) listed join transactions t on t.account_id = ${accountId} and t.id = listed.id`
  },

  inTime: sql`and in_time()`,
}

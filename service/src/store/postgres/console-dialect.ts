import { sql, type RawBuilder } from 'kysely'

import { activityColumns } from '../activity.ts'
import { plainSource, type Between, type Source } from '../bounded-list.ts'
import { isIndexed, type ConsoleDialect } from '../console/source.ts'

/** How much of a domain its index holds; no host name is longer. */
const merchantPrefixLength = sql.lit(255)

/** What the console's reads look like on PostgreSQL. */
export const consoleDialect: ConsoleDialect = {
  // Each is looked up by its key, `offset 0` says so: a planner that knows the tables from when they were empty
  // would go through all transactions, and through the queue for each of them.
  pending: ({ accountId, environment }) => sql`
    select ${sql.raw(activityColumns)} from (
      select unnest(string_to_array(transaction_ids, ',')) as queued_id
      from activity_queue where account_id = ${accountId}) queued
    cross join lateral (
      select * from transactions where account_id = ${accountId} and id = queued_id offset 0) transaction
    where environment = ${environment}`,

  transactions: ({ accountId }, { agentId, mandateId, merchantDomain, status }) => {
    const sources: Source[] = []
    if (mandateId !== undefined) {
      sources.push(indexSource(accountId, { column: sql`mandate_id`, value: sql`${mandateId}` }))
    }
    if (agentId !== undefined) {
      sources.push(indexSource(accountId, { column: sql`agent_id`, value: sql`${agentId}` }))
    }
    if (merchantDomain !== undefined) {
      const column = sql`left(merchant_domain, ${merchantPrefixLength})`
      const value = sql`left(${merchantDomain}, ${merchantPrefixLength})`
      sources.push(indexSource(accountId, { column, value }))
    }
    if (isIndexed(status)) {
      sources.push(indexSource(accountId, { column: sql`status`, value: sql`${status}`, isUnpaid: true }))
    }
    const [first, ...others] = sources
    if (first) return [first, ...others]
    return [plainSource(sql`select * from transactions where account_id = ${accountId}`)]
  },

  inTime: sql``,
}

/**
 * The newest rows of one value of a column, by the index of that column and the id. Both are compared as one: only
 * that index has them in this order, so the planner cannot go through the newest of all rows instead, hoping to
 * meet those of the value soon.
 */
function indexSource(
  accountId: string,
  {
    column,
    value,
    isUnpaid = false,
  }: {
    readonly column: RawBuilder<unknown>
    readonly value: RawBuilder<unknown>
    /** Whether the index holds only what is not paid; said once more, for the planner to see it. */
    readonly isUnpaid?: boolean
  },
): Source {
  const between = ({ from, olderThan }: Between) => sql`
    from transactions where account_id = ${accountId} ${isUnpaid ? sql`and status <> 'paid'` : sql``}
      and (${column}, id) >= (${value}, ${from}) and (${column}, id) < (${value}, ${olderThan})
    order by ${column} desc, id desc`
  return {
    ids: (ids) => sql`select id ${between(ids)}`,
    rows: (ids, { columns, fits, limit, mostLookedAt }) => sql`
      select ${columns} from (
        select *, ${column} as listed_by ${between(ids)} limit ${sql.lit(mostLookedAt)}) looked_at
      where ${fits} order by listed_by desc, id desc limit ${sql.lit(limit)}`,
  }
}

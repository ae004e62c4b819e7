import { sql } from 'kysely'
import type { Pool, QueryConfig } from 'pg'

import { codeOf } from '../error-code.ts'
import { activityColumns } from '../activity.ts'
import type { RunQuery } from '../console-dialect.ts'
import { hasStatus, isIndexed, plainSource, type ConsoleDialect } from '../console-source.ts'
import { consoleQueryMs, maxConsoleQueries } from '../console-store.ts'
import { QueryTooSlowError } from '../store.ts'
import { storable } from './connection.ts'
import { breaksConnection } from './retries.ts'
import { roundTrip } from './round-trip.ts'
import { localSetting, rollback } from './transaction.ts'

/** How much of a domain its index holds; no host name is longer. */
const merchantPrefixLength = 255

/** What the console's reads look like on PostgreSQL. */
export const consoleDialect: ConsoleDialect = {
  pending: ({ accountId, environment }) => sql`
    select ${sql.raw(activityColumns)} from transactions
    where account_id = ${accountId} and environment = ${environment} and id in (
      select unnest(string_to_array(transaction_ids, ',')) from activity_queue where account_id = ${accountId})`,

  transactions: ({ accountId }, { agentId, mandateId, merchantDomain, status }) => {
    const own = sql`select * from transactions where account_id = ${accountId}`
    if (mandateId !== undefined) return plainSource(sql`${own} and mandate_id = ${mandateId}`)
    if (agentId !== undefined) return plainSource(sql`${own} and agent_id = ${agentId}`)
    if (merchantDomain !== undefined) {
      const length = sql.lit(merchantPrefixLength)
      return plainSource(
        sql`${own} and left(merchant_domain, ${length}) = left(${merchantDomain}, ${length})`,
      )
    }
    return plainSource(isIndexed(status) ? sql`${own} and ${hasStatus(status)}` : own)
  },

  inTime: sql``,
}

/**
 * Sends what the console asks over connections of its own, in one round trip. The server ends what takes too
 * long; the setting ends with the transaction, so that nothing is left on a connection that a pool shares.
 */
export function prepareQueries(pool: Pool, { retry, timeoutMs = consoleQueryMs }: QueryOptions): RunQuery {
  const begin = [
    { text: 'begin read only' },
    { text: `select ${localSetting('statement_timeout', String(timeoutMs))}` },
  ]

  return (text, values) => {
    if (pool.waitingCount >= maxConsoleQueries) {
      throw new QueryTooSlowError('too many queries of the console wait')
    }
    return retry(() => ask(pool, begin, { text, values: values.map(storable) }))
  }
}

/** How much room the database takes on its server. */
export async function databaseBytes(run: RunQuery): Promise<number> {
  const [size] = await run('select pg_database_size(current_database()) as bytes', [])
  return Number((size as { readonly bytes: string }).bytes)
}

interface QueryOptions {
  readonly retry: <Rows>(work: () => Promise<Rows>) => Promise<Rows>
  readonly timeoutMs?: number
}

async function ask(pool: Pool, begin: readonly QueryConfig[], query: QueryConfig): Promise<unknown[]> {
  const client = await pool.connect()
  let isBroken = false
  try {
    const [, , answer] = await roundTrip(client, [...begin, query, { text: 'commit' }])
    return answer?.rows ?? []
  } catch (error) {
    isBroken = breaksConnection(error) || !(await rollback(client))
    if (codeOf(error) === '57014') throw new QueryTooSlowError('a query of the console took too long')
    throw error
  } finally {
    client.release(isBroken)
  }
}

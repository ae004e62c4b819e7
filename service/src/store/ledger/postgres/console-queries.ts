import type { Pool } from 'pg'

import { codeOf } from '../../error-code.ts'
import type { RunQuery } from '../../sql.ts'
import { consoleQueryMs, maxConsoleQueries } from '../../console/store.ts'
import { QueryTooSlowError } from '../../store.ts'
import { askOnce } from './round-trip.ts'
import { storable } from './connection.ts'
import { localSetting, noJit } from './local-settings.ts'

/**
 * Runs the console's queries on separate connections, in one round trip. The server aborts slow ones; the setting
 * ends with the transaction, so that nothing is left on a connection shared by a pooler.
 */
export function prepareQueries(pool: Pool, { retry, timeoutMs = consoleQueryMs }: QueryOptions): RunQuery {
  const begin = [
    { text: 'begin read only' },
    { text: `select ${localSetting('statement_timeout', String(timeoutMs))}, ${noJit}` },
  ]

  async function ask(text: string, values: readonly unknown[]): Promise<unknown[]> {
    try {
      const query = { text, values: values.map(storable) }
      const [, , answer] = await askOnce(pool, [...begin, query, { text: 'commit' }])
      return answer?.rows ?? []
    } catch (error) {
      if (codeOf(error) === '57014') throw new QueryTooSlowError('a query of the console took too long')
      throw error
    }
  }

  return (text, values) => {
    if (pool.waitingCount >= maxConsoleQueries) {
      throw new QueryTooSlowError('too many queries of the console wait')
    }
    return retry(() => ask(text, values))
  }
}

/** The size of the database on its server. */
export async function databaseBytes(run: RunQuery): Promise<number> {
  const [size] = await run('select pg_database_size(current_database()) as bytes', [])
  return Number((size as { readonly bytes: string }).bytes)
}

interface QueryOptions {
  readonly retry: <Rows>(work: () => Promise<Rows>) => Promise<Rows>
  readonly timeoutMs?: number
}

import { randomBytes } from 'node:crypto'

import { Client } from 'pg'

import { withinTimeLimit } from '../http/time-limit.ts'
import { codeOf } from '../store/error-code.ts'
import { StoreOpenError } from '../store/open-error.ts'
import { StoreUnavailableError } from '../store/store.ts'
import { connectionConfig, connectionCounts, withClient } from '../store/ledger/postgres/connection.ts'
import { readDistribution } from '../store/ledger/postgres/distribution.ts'
import { neededVersion, readSchemaVersion } from '../store/ledger/postgres/migrate.ts'
import { refuseMissingOwnership, refuseMissingRights } from '../store/ledger/postgres/rights.ts'

/**
 * Checks whether a server, or the pooler in front of it, gives the service the rights and the connections that it needs,
 * and whether their commits are on disk when they are confirmed. Resolves to warnings, a sentence each, with the setting that helps.
 * Throws a `StoreOpenError` if the service could not work. Takes a few milliseconds, behind a pooler up to `probeMs`, and
 * leaves nothing behind. `processes` is the number of service processes on this machine.
 */
export function checkConnections(url: string, { processes }: Pick<Checked, 'processes'>): Promise<string[]> {
  return withClient(url, async (client, place) => {
    await refuseMissingRights(client, place)
    if ((await readSchemaVersion(client)) < neededVersion) await refuseMissingOwnership(client, place)
    // A pooler has its own process ids.
    const { rows } = await client.query<{ pid: number; commits: string }>(
      "select pg_backend_pid() as pid, current_setting('synchronous_commit') as commits",
    )
    if (rows[0]?.commits === 'off') throw new StoreOpenError('commits_not_waited', { place })
    const isDirect = (client as unknown as { processID?: number | null }).processID === rows[0]?.pid
    const isDistributed = Boolean((await readDistribution(client))?.distributed.length)
    const checked = { place, processes, ...countsOf(processes, isDistributed) }
    return isDirect ? checkServer(client, checked) : checkPool(url, checked)
  })
}

interface Checked {
  readonly place: string
  readonly processes: number
  /** How many connections all processes open, and the minimum with which they still work. */
  readonly most: number
  readonly least: number
}

function countsOf(processes: number, isDistributed: boolean): Pick<Checked, 'most' | 'least'> {
  const ofPools = connectionCounts(isDistributed)
  const counts = Object.values(ofPools)
  const most = counts.reduce((sum, count) => sum + count, 0)
  return {
    most: processes * most,
    // With fewer, payments of one process could use all connections, and no key could be looked up.
    least: Math.max(most - ofPools.read + 1, processes * counts.length),
  }
}

async function checkServer(client: Pick<Client, 'query'>, checked: Checked): Promise<string[]> {
  const { rows } = await client.query<{ server: number; role: number; database: number }>(`
    select
      current_setting('max_connections')::int - case when role.rolsuper then 0 else
        current_setting('superuser_reserved_connections')::int
        + coalesce(current_setting('reserved_connections', true), '0')::int end as server,
      case when role.rolsuper then -1 else role.rolconnlimit end as role,
      case when role.rolsuper then -1 else base.datconnlimit end as database
    from pg_roles role, pg_database base
    where role.rolname = current_user and base.datname = current_database()`)
  const [found] = rows
  if (!found) return []
  const { most } = checked
  const limits = [
    {
      limit: found.server,
      remedy: `max_connections to ${most + reserve} in postgresql.conf, or put a pool in front of it`,
    },
    { limit: found.role, remedy: `the connection limit of the user to ${most} (alter role)` },
    { limit: found.database, remedy: `the connection limit of the database to ${most} (alter database)` },
  ].filter(({ limit }) => limit >= 0)
  const [lowest] = limits.sort((one, other) => one.limit - other.limit)
  return lowest ? judge(lowest, checked) : []
}

/** In addition to those of the service: for the server itself, a backup, and an administrator. */
const reserve = 10

function judge(
  { limit, remedy }: { readonly limit: number; readonly remedy: string },
  { place, processes, most, least }: Checked,
): string[] {
  if (limit >= most) return []
  const ofAll = processes === 1 ? 'a process' : `${processes} processes`
  const fewer = processes === 1 ? '' : ', or PURSER_WORKERS to less'
  if (limit < least) {
    throw new StoreOpenError('too_few_connections', {
      place,
      limit,
      processes: ofAll,
      settings: `${remedy}${fewer}`,
    })
  }
  return [
    `${place} allows ${limit} connections, and ${ofAll} may open ${most}: under load, requests may be answered 503; set ${remedy}${fewer}`,
  ]
}

/** Time limit for a connection or statement of the checks behind a pooler. */
const probeMs = 3_000

/** Max connections that are tried. */
const maxTried = 100

/** How many concurrent transactions a pooler should support: the store is tested with four. */
const comfortableTransactions = 4

async function checkPool(url: string, checked: Checked): Promise<string[]> {
  const clients: Client[] = []
  try {
    const tried = Math.min(checked.most, maxTried)
    const opened = await Promise.allSettled(Array.from({ length: tried }, () => open(url, clients)))
    const usable = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    const remedy = `max_client_conn (of PgBouncer), and default_pool_size with pool_mode = session, to ${checked.most + reserve}`
    const warnings = usable.length < tried ? judge({ limit: usable.length, remedy }, checked) : []
    return [...warnings, ...(await checkPreparedStatements(usable, checked.place))]
  } finally {
    await Promise.allSettled(clients.map(close))
  }
}

/** A connection that has answered. */
async function open(url: string, clients: Client[]): Promise<Client> {
  const client = new Client({ ...connectionConfig(url), connectionTimeoutMillis: probeMs })
  client.on('error', () => undefined)
  clients.push(client)
  await client.connect()
  await withinTimeLimit(client.query('select 1'), probeMs)
  return client
}

async function close(client: Client): Promise<void> {
  // One that is still waiting would wait first.
  await withinTimeLimit(client.end(), probeMs).catch(() => client.connection.stream.destroy())
}

/**
 * A pooler that shares server connections must carry prepared statements from one to the next. So one client prepares
 * a statement, and then others keep server connections busy, so that the first client gets another one.
 */
async function checkPreparedStatements(
  [first, ...others]: readonly Client[],
  place: string,
): Promise<string[]> {
  // A name that no earlier check has left behind.
  const statement = { name: `purser_probe_${randomBytes(6).toString('hex')}`, text: 'select 1' }
  const holding = others.slice(0, comfortableTransactions - 1)
  try {
    await first?.query(statement)
    for (const other of holding) {
      await withinTimeLimit(other.query('begin'), probeMs)
      await withinTimeLimit(first?.query(statement), probeMs)
    }
    return []
  } catch (error) {
    if (codeOf(error) === forgottenStatement) {
      throw new StoreOpenError('pool_forgets_statements', { place })
    }
    if (!(error instanceof StoreUnavailableError)) throw error
    return [
      `${place} is behind a pool that did not give ${comfortableTransactions} transactions at once a connection to the server within ${probeMs / 1_000} s; set default_pool_size of PgBouncer to ${comfortableTransactions} or more`,
    ]
  } finally {
    await Promise.allSettled(holding.map((client) => withinTimeLimit(client.query('rollback'), probeMs)))
  }
}

/** invalid_sql_statement_name */
const forgottenStatement = '26000'

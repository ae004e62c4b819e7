import { Client, Pool, type ClientBase, type PoolConfig } from 'pg'

import { codeOf } from '../../error-code.ts'
import type { StoreMetrics } from '../../store-metrics.ts'
import { StoreOpenError } from '../../open-error.ts'
import { describeUrl } from './address.ts'
import { isConnectionFailure } from './errors.ts'

/** The oldest supported server. */
const oldestServer = 15

/** Time limit for opening a connection, and for waiting for one. */
const connectTimeoutMs = 5_000

export interface PoolWatch {
  /** Called with waits for a connection of over a second, in milliseconds. */
  readonly onWait?: ((waitedMs: number) => void) | undefined
  /** Where waits and connections are counted under this name, if anywhere. */
  readonly metrics?: StoreMetrics | undefined
  readonly name?: string
}

/** The shortest reported wait for a connection. */
const reportedWaitMs = 1_000

/** Measures the wait for each connection of a pool. */
function watchWaits(pool: Pool, onWaited: (waitedMs: number) => void): void {
  const connect = pool.connect.bind(pool) as (...args: unknown[]) => unknown
  pool.connect = ((callback?: (...results: unknown[]) => void) => {
    const startedAtMs = performance.now()
    const report = () => onWaited(performance.now() - startedAtMs)
    if (callback) {
      return connect((...results: unknown[]) => {
        report()
        callback(...results)
      })
    }
    const client = connect() as Promise<unknown>
    client.then(report, report)
    return client
  }) as Pool['connect']
}

/** Max connections of one process, by purpose. */
export function connectionCounts(isDistributed: boolean) {
  return {
    /** Two lanes, one for each of four rows locked by others, and a spare. */
    write: isDistributed ? 16 : 7,
    read: 4,
    /** For scans of the whole ledger. */
    audit: 1,
    /** For the console's queries. */
    console: 2,
  }
}

/** Opens database connections on demand, at most `max`. */
export function openPool(
  url: string,
  { onWait, metrics, name = '', ...options }: PoolConfig & PoolWatch,
): Pool {
  const pool = new Pool({ ...connectionConfig(url), idleTimeoutMillis: 60_000, ...options })
  const waits = metrics?.addPool({
    name,
    limit: options.max ?? 0,
    count: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
  })
  if (onWait || waits) {
    watchWaits(pool, (waitedMs) => {
      waits?.observe(waitedMs / 1_000)
      if (waitedMs > reportedWaitMs) onWait?.(waitedMs)
    })
  }
  // A broken connection is replaced on demand, and its current query fails.
  pool.on('connect', (client) => client.on('error', () => undefined))
  pool.on('error', () => undefined)
  return pool
}

/**
 * Does something on a separate connection, once the server has passed the checks. Throws a `StoreOpenError` that
 * explains a failure in one sentence.
 */
export async function withClient<Result>(
  url: string,
  work: (client: ClientBase, place: string) => Promise<Result>,
): Promise<Result> {
  const client = await connect(url)
  try {
    const place = describeUrl(url)
    await refuseUnfitServer(client, place)
    return await work(client, place)
  } catch (error) {
    throw explainOpenFailure(error, url)
  } finally {
    await client.end()
  }
}

async function connect(url: string): Promise<Client> {
  const client = createClient(url)
  client.on('error', () => undefined)
  try {
    await client.connect()
    return client
  } catch (error) {
    await client.end()
    const explained = explainOpenFailure(error, url)
    throw explained instanceof StoreOpenError ? explained : connectFailed(error, url)
  }
}

/** Reads the certificates that the address names, if any. */
function createClient(url: string): Client {
  try {
    return new Client(connectionConfig(url))
  } catch (error) {
    throw connectFailed(error, url)
  }
}

function connectFailed(error: unknown, url: string): StoreOpenError {
  const cause = error instanceof Error ? error.message : String(error)
  return new StoreOpenError('connect_failed', { place: describeUrl(url), cause })
}

/** How a connection is opened. */
export function connectionConfig(url: string) {
  return {
    connectionString: url,
    connectionTimeoutMillis: connectTimeoutMs,
    application_name: 'purser',
    keepAlive: true,
  }
}

async function refuseUnfitServer(client: ClientBase, place: string): Promise<void> {
  const { rows } = await client.query<{
    version: string
    encoding: string
    is_read_only: string
    schema: string | null
    search_path: string
  }>(`
    select current_setting('server_version_num') as version, current_setting('server_encoding') as encoding,
      current_setting('transaction_read_only') as is_read_only, current_schema() as schema,
      current_setting('search_path') as search_path`)
  const [found] = rows
  const { version = '0', encoding = '', is_read_only: isReadOnly = '' } = found ?? {}
  const major = Math.floor(Number(version) / 10_000)
  if (major < oldestServer) {
    throw new StoreOpenError('server_too_old', { place, found: major, needed: oldestServer })
  }
  if (encoding !== 'UTF8') {
    throw new StoreOpenError('encoding_not_utf8', { place, encoding })
  }
  if (isReadOnly === 'on') {
    throw new StoreOpenError('read_only', { place })
  }
  if (found?.schema === null) {
    throw new StoreOpenError('no_schema', { place, searchPath: found.search_path })
  }
}

function explainOpenFailure(error: unknown, url: string): unknown {
  if (error instanceof StoreOpenError || !(error instanceof Error)) return error
  const place = describeUrl(url)
  if (/^SASL: .*client password must be a/.test(error.message)) {
    return new StoreOpenError('password_missing', { place })
  }
  if (error.message === 'The server does not support SSL connections') {
    return new StoreOpenError('no_tls', { place })
  }
  const code = codeOf(error)
  switch (code) {
    case '28P01':
    case '28000':
      return new StoreOpenError('login_refused', { place })
    case '3D000':
      return new StoreOpenError('no_database', { place })
    case '42501':
      return new StoreOpenError('right_missing', { place, cause: error.message })
    case '42P07':
      return new StoreOpenError('foreign_tables', { place, cause: error.message })
    case '53300':
      return new StoreOpenError('no_connection_left', { place })
    case '57014':
      return new StoreOpenError('statement_ended', { place, cause: error.message })
    case '57P03':
      return new StoreOpenError('not_ready', { place, cause: error.message })
    default:
      return isConnectionFailure(error) || ['57P01', '57P02'].includes(code)
        ? new StoreOpenError('no_server', { place, cause: code.startsWith('E') ? code : error.message })
        : error
  }
}

/** Text that PostgreSQL can store: NUL becomes U+FFFD, in what is written and in what is looked up. */
export function storable<Value>(value: Value): Value | string {
  return typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\uFFFD') : value
}

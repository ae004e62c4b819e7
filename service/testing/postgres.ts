import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { withClient } from '../src/store/ledger/postgres/connection.ts'

import { allTables } from '../src/store/ledger/tables.ts'
import { distribute } from '../src/store/ledger/postgres/distribution.ts'
import { migrate } from '../src/store/ledger/postgres/migrate.ts'
import {
  createDatabase,
  createDistributedDatabase,
  execute,
  type PostgresDatabase,
} from './postgres-databases.ts'
import {
  binariesFromDebian,
  binariesFromNpm,
  cacheFolder,
  giveToServer,
  makeOnce,
  serverUser,
  type PostgresBinaries,
} from './postgres-binaries.ts'

/** A kind of server for tests. It is started when its first database is created. */
export interface PostgresServer {
  readonly name: string
  /** Why it cannot be used here, if it cannot. */
  readonly missing?: string
  /** Whether its databases are distributed over machines. */
  readonly isDistributed: boolean
  /**
   * An empty database with the schema, for one test; with the address of the coordinator, if its own is that of a worker.
   * `empty` makes it empty again.
   */
  readonly createDatabase: () => Promise<
    PostgresDatabase & Addresses & { readonly empty: () => Promise<void> }
  >
  /** A database without tables; with the address of a worker, if it is distributed. */
  readonly createEmptyDatabase: () => Promise<PostgresDatabase & { readonly worker?: string }>
}

/** PostgreSQL 18 from npm, which is available everywhere. */
export const postgres18 = serverOf('PostgreSQL 18', () => startServer(binariesFromNpm()))

/** A separate PostgreSQL 18, which ends with this process; resolves to its address. */
export async function startPostgres18(options: ServerOptions): Promise<string> {
  return startServer(binariesFromNpm(), options)
}

interface ServerOptions {
  /** Settings that differ from those for the tests. */
  readonly settings: Readonly<Record<string, string | number>>
  /** The parent folder of its data; default the system's temporary folder. */
  readonly parentFolder?: string
}

/**
 * Every server for tests of the store: those of the package and of Debian, and one named by a variable, which
 * may be a Citus coordinator.
 */
export const postgresServers: readonly PostgresServer[] = [
  postgres18,
  debianServer(),
  namedServer(process.env['PURSER_TEST_POSTGRES'], process.env['PURSER_TEST_POSTGRES_DISTRIBUTE']),
]

function debianServer(): PostgresServer {
  const binaries = binariesFromDebian()
  const server = serverOf('PostgreSQL 15', () => startServer(binaries ?? { name: '', folder: '' }))
  return binaries ? server : { ...server, missing: "Debian's PostgreSQL 15 is not installed here" }
}

/** Of a database: that for services, and that of its coordinator if it differs. */
type Addresses = Pick<PostgresDatabase, 'url'> & { readonly coordinator?: string }

/** Services connect to a Citus coordinator, or with `worker` to one of its workers. */
function namedServer(url: string | undefined, distribute: string | undefined): PostgresServer {
  const name = `the ${distribute === undefined ? 'server' : 'Citus'} of PURSER_TEST_POSTGRES`
  const server = serverOf(name, () => Promise.resolve(url ?? ''), distribute)
  return url === undefined ? { ...server, missing: 'PURSER_TEST_POSTGRES names no server' } : server
}

function serverOf(name: string, start: () => Promise<string>, distributed?: string): PostgresServer {
  const isDistributed = distributed !== undefined
  let starting: Promise<string> | undefined
  const free: Addresses[] = []
  let made = 0
  const run = `${process.pid}_${randomBytes(3).toString('hex')}`

  async function create(): Promise<PostgresDatabase & { readonly worker?: string }> {
    const server = await (starting ??= start())
    const database = `purser_test_${run}_${++made}`
    if (isDistributed) return createDistributedDatabase(server, database)
    return createDatabase(server, database)
  }

  async function empty({ url }: Addresses): Promise<void> {
    const tables = [...allTables, { name: 'service_secrets' }]
    await execute(url, tables.map(({ name }) => `delete from ${name}`).join(';'))
  }

  /** A database that is used again after this test: emptying one takes far less time than creating one. */
  function lend(addresses: Addresses) {
    return {
      ...addresses,
      empty: () => empty(addresses),
      drop: async () => {
        await empty(addresses)
        free.push(addresses)
      },
    }
  }

  return {
    name,
    isDistributed,
    createEmptyDatabase: create,
    createDatabase: async () => {
      const used = free.pop()
      if (used !== undefined) return lend(used)
      const { url, worker = url } = await create()
      await withClient(url, async (client, place) => {
        await migrate(client, place)
        if (isDistributed) await distribute(client, place)
      })
      return lend(distributed === 'worker' ? { url: worker, coordinator: url } : { url })
    },
  }
}

/** Starts a server on a free port of the loopback address, with its own data; it ends with this process. */
async function startServer(
  binaries: PostgresBinaries,
  { settings: ownSettings, parentFolder = tmpdir() }: ServerOptions = { settings: {} },
): Promise<string> {
  const { cluster, password } = prepareCluster(binaries)
  const folder = mkdtempSync(join(parentFolder, 'purser-postgres-data-'))
  const dataFolder = join(folder, 'data')
  giveToServer(folder)
  runAsServer('cp', ['-R', cluster, dataFolder])
  const port = await freePort()
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: 200,
    shared_buffers: '32MB',
    // The tests kill servers, never machines: nothing needs to be synced to disk.
    fsync: 'off',
    full_page_writes: 'off',
    autovacuum: 'off',
    ...ownSettings,
  }
  const order = {
    program: join(binaries.folder, 'postgres'),
    flags: Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    dataFolder,
    user: serverUser,
  }
  const keeper = spawn(
    process.execPath,
    [join(import.meta.dirname, 'postgres-keeper.ts'), JSON.stringify(order)],
    { stdio: ['pipe', 'pipe', 'inherit'], cwd: tmpdir(), detached: true },
  )
  const said = await new Promise<string>((resolve, reject) => {
    keeper.stdout.setEncoding('utf8').once('data', resolve)
    keeper.once('error', reject)
  })
  if (!said.startsWith('ready')) throw new Error(`${binaries.name} does not start: ${said}`)
  // This process does not wait for the keeper: the pipe to it closes when this process ends.
  keeper.unref()
  for (const pipe of [keeper.stdin, keeper.stdout]) (pipe as unknown as { unref: () => void }).unref()
  return `postgresql://purser:${password}@127.0.0.1:${port}/postgres`
}

/** A new cluster, created once by initdb, which takes longer than copying it. */
function prepareCluster(binaries: PostgresBinaries): { cluster: string; password: string } {
  const folder = join(cacheFolder(), `cluster-${binaries.name.replaceAll(' ', '-')}`)
  makeOnce(folder, (draft) => {
    const owned = join(draft, 'of-server')
    mkdirSync(owned)
    giveToServer(owned)
    const passwordPath = join(owned, 'password')
    writeFileSync(passwordPath, randomBytes(16).toString('hex'))
    giveToServer(passwordPath)
    chmodSync(passwordPath, 0o600)
    const flags = ['--username=purser', `--pwfile=${passwordPath}`, '--auth=password', '--encoding=UTF8']
    runAsServer(join(binaries.folder, 'initdb'), [
      '-D',
      join(owned, 'cluster'),
      ...flags,
      '--locale=C',
      '--no-sync',
      '--wal-segsize=4',
    ])
  })
  const password = readFileSync(join(folder, 'of-server/password'), 'utf8')
  return { cluster: join(folder, 'of-server/cluster'), password }
}

function runAsServer(program: string, flags: readonly string[]): void {
  const { status, stderr, error } = spawnSync(program, flags, {
    ...serverUser,
    cwd: '/',
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] ?? '', LC_ALL: 'C' },
  })
  if (status !== 0) throw new Error(`${program} failed: ${error?.message ?? stderr}`)
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })
}

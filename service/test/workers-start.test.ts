import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { Client } from 'pg'

import { postgres18 } from '../testing/postgres.ts'
import { readMetrics } from '../testing/http/read-metrics.ts'
import { makeFolder, spawnProcess, type ServiceProcess } from './process.ts'

const skip = postgres18.missing ?? false

test(
  'A stop during a start of several workers starts no further worker, and shows the keys that the first one created',
  { skip },
  async (context) => {
    const service = await startHeld(context, { PURSER_DRAIN_SECONDS: '1' })
    const ended = service.kill('SIGTERM')
    await service.sees(/Purser is stopping/)
    await service.goOn()
    await service.sees(/PURSER_SANDBOX_KEY=/)
    assert.ok(workersOf(service).length <= 1)
    assert.equal((await ended).code, 0)
  },
)

test(
  'A scrape that reaches the first worker before it is ready does not end the start',
  { skip },
  async (context) => {
    const token = 'c0b2f5a97d1e43688d20a4f7'
    const port = await freePort()
    const service = await startHeld(context, { PURSER_PORT: String(port), PURSER_METRICS_TOKEN: token })
    const series = await readMetrics(`http://127.0.0.1:${port}/metrics`, token)
    assert.equal(series.get('purser_workers_scraped'), 0)
    await service.goOn()
    await service.sees(/Purser is ready/)
    assert.equal(workersOf(service).length, 2)
    assert.equal((await service.kill('SIGTERM')).code, 0)
  },
)

interface HeldStart extends ServiceProcess {
  readonly goOn: () => Promise<void>
}

/** Starts two workers, of which the first waits for the database between listening and its first keys. */
async function startHeld(context: TestContext, settings: Record<string, string>): Promise<HeldStart> {
  const database = await postgres18.createDatabase()
  context.after(() => database.drop())
  const client = new Client(database.url)
  await client.connect()
  context.after(() => client.end())
  // Not the connection that watches: within a transaction, `pg_stat_activity` never changes.
  const holder = new Client(database.url)
  await holder.connect()
  context.after(() => holder.end())
  await holder.query('begin')
  await holder.query('lock table accounts in access exclusive mode')
  const service = spawnProcess(context, {
    folder: makeFolder(context),
    settings: { PURSER_DATABASE: database.url, PURSER_WORKERS: '2', PURSER_LOG_LEVEL: 'warn', ...settings },
  })
  const waiting =
    "select query from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
  while ((await client.query(waiting)).rowCount === 0) await sleep(10)
  return { ...service, goOn: async () => void (await holder.query('commit')) }
}

function workersOf({ pid }: ServiceProcess): number[] {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n')
  const processes = lines.map((line) => line.trim().split(/\s+/).map(Number))
  return processes.flatMap(([child = 0, parent]) => (parent === pid ? [child] : []))
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

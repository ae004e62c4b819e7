import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import {
  constants,
  copyFileSync,
  existsSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  renameSync,
} from 'node:fs'
import { once } from 'node:events'
import { get } from 'node:http'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { Client } from 'pg'

import { codeOf } from '../src/store/error-code.ts'
import { restartDelayMs } from '../src/processes/workers.ts'
import { readPaidFromDatabase } from '../testing/ledgers/closed-ledger.ts'
import { allAtOnce, buyUntilGone, makePurchase, openLoadClient, retryVerifications } from '../testing/load.ts'
import { postgres18 } from '../testing/postgres.ts'
import { makeFolder, runProcess, spawnProcess, startProcess, type ReadyProcess } from './process.ts'

const key = 'svc_sand_workers_test'

test('The requested number of workers share one port, every one answers, and the welcome with the keys is printed once', async (context) => {
  const service = await startWorkers(context, { workers: 3, settings: { PURSER_BOOTSTRAP_SANDBOX_KEY: '' } })
  assert.equal(workersOf(service).length, 3)
  await everyWorkerAnswers(service)
  const answers = await allAtOnce(12, () => fetch(`${service.url}/readyz`))
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
  const { code, stdout, stderr } = await service.kill('SIGTERM')
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
  assert.match(stdout, /^ {2}Processes {3}3$/m)
  for (const once of ['Purser is ready', 'PURSER_SANDBOX_KEY=', 'PURSER_PRODUCTION_KEY=', 'is stopping']) {
    assert.equal(stdout.split(once).length - 1, 1, once)
  }
})

test('A refused start spells commands as they were called, with and without workers', async (context) => {
  const database = await postgres18.createDatabase()
  context.after(() => database.drop())
  const client = new Client(database.url)
  await client.connect()
  await client.query('create table purser_copy ()')
  await client.end()
  const folder = makeFolder(context)
  for (const workers of ['1', '2']) {
    const settings = { PURSER_DATABASE: database.url, PURSER_WORKERS: workers }
    const { code, stderr } = await runProcess(context, { folder, settings })
    assert.equal(code, 1)
    assert.match(stderr, /^Purser cannot start: .* run the same npx purser migrate copy again, .*\.\n$/)
  }
})

test('If machines start on an empty database at once, one prints the keys, and all answer', async (context) => {
  const settings = await databaseSettings(context)
  const folder = makeFolder(context)
  const machines = await allAtOnce(4, () =>
    startProcess(context, { folder, settings: { ...settings, PURSER_WORKERS: '1' } }),
  )
  const telling = machines.filter(({ stdout }) => stdout().includes('PURSER_SANDBOX_KEY'))
  assert.equal(telling.length, 1)
  const sandboxKey = /PURSER_SANDBOX_KEY=(\S+)/.exec(telling[0]?.stdout() ?? '')?.[1]
  for (const { url } of machines) {
    const headers = { authorization: `Bearer ${sandboxKey}` }
    assert.equal((await fetch(`${url}/agents`, { headers })).status, 200)
  }
})

test('A worker that dies is restarted on the same port, whatever ended it; no client waits for it, and the primary keeps none of its connections', async (context) => {
  const service = await startWorkers(context, { workers: 2, settings: { PURSER_LOG_LEVEL: 'info' } })
  const outcomes = new Set<unknown>()
  await everyWorkerAnswers(service)
  const sockets = socketsOf(service)
  const ends = [
    // Both, so that none is left to hold the port.
    { signal: 'SIGKILL', howMany: 2 },
    { signal: 'SIGTERM', howMany: 2 },
    { signal: 'SIGKILL', howMany: 1 },
  ] as const
  for (const { signal, howMany } of ends) {
    const before = workersOf(service)
    for (const pid of before.slice(0, howMany)) process.kill(pid, signal)
    // At once, while the primary still believes that the dead worker is alive.
    for (const outcome of await allAtOnce(20, () => outcomeOf(`${service.url}/readyz`))) outcomes.add(outcome)
    await until(() => workersOf(service).filter((pid) => !before.includes(pid)).length === howMany)
    await until(() => answers(service))
    // A worker that has not come so far yet would be ended by the next signal itself.
    await everyWorkerAnswers(service)
  }
  // The last requests' connections are closed shortly after their answers, like those of the first.
  await until(() => socketsOf(service) <= sockets)
  // One line for each ended worker.
  await until(() => service.stderr().split('A worker was restarted and is ready.').length === 6)
  context.diagnostic(`the clients saw ${[...outcomes].join(', ')}`)
  assert.ok(!outcomes.has('waited'))
  for (const outcome of outcomes) assert.ok([200, 'ECONNRESET', 'ECONNREFUSED'].includes(outcome as never))
  assert.equal((await service.kill('SIGTERM')).code, 0)
  const reasons = tries(service).map(
    (line) => /^A worker exited \((.*)\); the next attempt is in \d+ ms\.$/.exec(line)?.[1],
  )
  assert.deepEqual(reasons, ['SIGKILL', 'SIGKILL', 'code 0', 'code 0', 'SIGKILL'])
})

test('The port stays the same if the last worker dies while its replacement starts', async (context) => {
  const service = await startWorkers(context, { workers: 2, settings: { PURSER_LOG_LEVEL: 'info' } })
  const [first = 0, last = 0] = workersOf(service)
  process.kill(first, 'SIGKILL')
  await until(() => workersOf(service).some((pid) => pid !== first && pid !== last))
  process.kill(last, 'SIGKILL')
  await until(() => service.stderr().split('A worker was restarted and is ready.').length === 3)
  await everyWorkerAnswers(service)
  assert.equal((await service.kill('SIGTERM')).code, 0)
})

test('A worker that cannot be started is retried, and the others answer meanwhile', async (context) => {
  const node = join(makeFolder(context), 'node')
  copyFileSync(process.execPath, node, constants.COPYFILE_FICLONE)
  const service = await startWorkers(context, { workers: 2, settings: { PURSER_LOG_LEVEL: 'error' }, node })
  const [dies = 0, stays = 0] = workersOf(service)
  // Like while an upgrade replaces the program.
  renameSync(node, `${node}.away`)
  process.kill(dies, 'SIGKILL')
  await until(() => tries(service).length === 3)
  assert.deepEqual(workersOf(service), [stays])
  assert.ok(await answers(service))
  renameSync(`${node}.away`, node)
  await until(() => workersOf(service).length === 2)
  await everyWorkerAnswers(service)
  const { code } = await service.kill('SIGTERM')
  assert.equal(code, 0)
  assert.deepEqual(tries(service).slice(0, 3), [
    'A worker exited (SIGKILL); the next attempt is in 100 ms.',
    'A worker could not be started (ENOENT); the next attempt is in 200 ms.',
    'A worker could not be started (ENOENT); the next attempt is in 400 ms.',
  ])
})

test('A start whose second worker cannot be started succeeds, and the worker follows; no worker outlives a primary that is killed', async (context) => {
  const folder = makeFolder(context)
  const node = join(folder, 'node')
  copyFileSync(process.execPath, node, constants.COPYFILE_FICLONE)
  const settings = { ...(await databaseSettings(context)), PURSER_LOG_LEVEL: 'error', PURSER_WORKERS: '2' }
  const service = spawnProcess(context, { folder, settings, node })
  // The first worker is a copy of the primary until it has loaded the program.
  await until(() => workersOf(service).some((pid) => commandOf(pid).includes('worker.ts')))
  renameSync(node, `${node}.away`)
  const [, url = ''] = await service.sees(/Purser is ready at (\S+)/)
  assert.match(tries(service)[0] ?? '', /^A worker could not be started \(ENOENT\); .* in 100 ms\.$/)
  renameSync(`${node}.away`, node)
  await until(() => workersOf(service).length === 2)
  const pids = workersOf(service)
  await everyWorkerAnswers({ ...service, url })
  await service.kill('SIGKILL')
  await until(() => pids.every((pid) => !isAlive(pid)))
})

test('The primary and its workers keep running when their output is closed', async (context) => {
  const service = await startWorkers(context, { workers: 2, settings: { PURSER_LOG_LEVEL: 'error' } })
  service.stopReading('stdout')
  service.stopReading('stderr')
  // The log says so each time, with no reader.
  for (const _ of ['first', 'second']) {
    const before = workersOf(service)
    process.kill(before[0] ?? 0, 'SIGKILL')
    await until(() => workersOf(service).filter((pid) => !before.includes(pid)).length === 1)
    await everyWorkerAnswers(service)
  }
  const { code, signal } = await service.kill('SIGTERM')
  assert.deepEqual({ code, signal }, { code: 0, signal: null })
})

test('The backoff before a worker restart doubles up to ten seconds', () => {
  assert.deepEqual([0, 1, 2, 6, 7, 1_000].map(restartDelayMs), [100, 200, 400, 6_400, 10_000, 10_000])
})

test('A problem of every worker ends the start with one sentence and exit code 1', async (context) => {
  const taken = createServer().listen(0, '127.0.0.1')
  context.after(() => taken.close())
  const settings = { ...(await databaseSettings(context)), PURSER_WORKERS: '2' }
  const { port } = taken.address() as AddressInfo
  const folder = makeFolder(context)
  const started = await runProcess(context, { folder, settings: { ...settings, PURSER_PORT: String(port) } })
  assert.deepEqual([started.code, started.stdout], [1, ''])
  assert.match(started.stderr, /^Purser cannot start: Port \d+ on 127\.0\.0\.1 is taken; .*\.\n$/)
})

test('At SIGTERM under load every worker answers what it accepted, and nothing is lost', async (context) => {
  const settings = await databaseSettings(context)
  const service = await startWorkers(context, { workers: 2, settings })
  const client = openLoadClient(service.url, key, 32)
  context.after(client.close)
  const purchase = await makePurchase(client)
  const { charged, unknown, ended } = await buyUntilGone(client, purchase, () => service.kill('SIGTERM'))
  assert.deepEqual({ code: ended?.code, stderr: ended?.stderr }, { code: 0, stderr: '' })

  const again = await startWorkers(context, { workers: 1, settings })
  const retries = openLoadClient(again.url, key, 4)
  context.after(retries.close)
  charged.push(...(await retryVerifications(retries, unknown)))
  assert.equal((await again.kill('SIGTERM')).code, 0)
  context.diagnostic(`${charged.length} paid, ${unknown.length} of them known only after a retry`)
  const paid = await readPaidFromDatabase(settings.PURSER_DATABASE, { key, mandateId: purchase.mandateId })
  assert.deepEqual(paid.sort(), charged.sort())
})

test('A second SIGTERM ends every process at once', async (context) => {
  const service = await startWorkers(context, { workers: 2 })
  const pids = workersOf(service)
  for (const pid of pids) process.kill(pid, 'SIGSTOP')
  void service.kill('SIGTERM')
  await service.sees(/Purser is stopping/)
  assert.equal((await service.kill('SIGTERM')).code, 1)
  await until(() => pids.every((pid) => !isAlive(pid)))
})

test('A service that is told to stop while its workers start stops gracefully', async (context) => {
  const settings = { ...(await databaseSettings(context)), PURSER_WORKERS: '3' }
  const service = spawnProcess(context, { folder: makeFolder(context), settings })
  await until(() => workersOf(service).length > 0)
  const { code } = await service.kill('SIGTERM')
  assert.equal(code, 0)
})

test('Problems during a stop are reported as log lines, also for a worker that cannot start', async (context) => {
  const { PURSER_DATABASE } = await databaseSettings(context)
  const relay = await openRelay(context, PURSER_DATABASE)
  const service = await startWorkers(context, {
    workers: 2,
    settings: { PURSER_DATABASE: relay.url, PURSER_LOG_LEVEL: 'error' },
  })
  await everyWorkerAnswers(service)
  relay.freeze()
  const before = workersOf(service)
  process.kill(before[0] ?? 0, 'SIGKILL')
  await until(() => workersOf(service).some((pid) => !before.includes(pid)))
  const ended = service.kill('SIGTERM')
  await service.sees(/Purser is stopping/)
  relay.close()
  const lines = (await ended).stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  for (const line of lines) {
    assert.deepEqual(Object.keys(line).slice(0, 4), ['level', 'time', 'pid', 'hostname'])
  }
  const messages = lines.map(({ msg }) => String(msg))
  assert.match(messages.at(-1) ?? '', /^A stopping worker could not start: /)
})

test('With SQLite there is one process, however many cores there are', async (context) => {
  const service = await startProcess(context, { folder: makeFolder(context) })
  assert.deepEqual(workersOf(service), [])
})

interface WorkersOptions {
  readonly workers: number
  readonly settings?: Readonly<Record<string, string>>
  readonly node?: string
}

/** The service in several processes, on an empty database unless the settings name one. */
async function startWorkers(
  context: TestContext,
  { workers, settings, node }: WorkersOptions,
): Promise<ReadyProcess> {
  return startProcess(context, {
    folder: makeFolder(context),
    ...(node !== undefined && { node }),
    settings: {
      ...(settings?.['PURSER_DATABASE'] === undefined ? await databaseSettings(context) : {}),
      PURSER_BOOTSTRAP_SANDBOX_KEY: key,
      PURSER_LOG_LEVEL: 'warn',
      PURSER_WORKERS: String(workers),
      ...settings,
    },
  })
}

async function databaseSettings(context: TestContext): Promise<{ PURSER_DATABASE: string }> {
  const database = await postgres18.createEmptyDatabase()
  context.after(() => database.drop())
  return { PURSER_DATABASE: database.url }
}

/** The processes that the service has started. */
function workersOf({ pid }: Pick<ReadyProcess, 'pid'>): number[] {
  // Tests ask every few milliseconds, and `ps` reads about every process of the machine.
  const children = `/proc/${pid}/task/${pid}/children`
  if (existsSync(children)) return (readFileSync(children, 'utf8').match(/\d+/g) ?? []).map(Number)
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n')
  const processes = lines.map((line) => line.trim().split(/\s+/).map(Number))
  return processes.flatMap(([child = 0, parent]) => (parent === pid ? [child] : []))
}

function commandOf(pid: number): string {
  const { stdout } = spawnSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' })
  return stdout
}

/** A proxy to a database that can stop accepting connections, like a hung server. */
async function openRelay(context: TestContext, database: string) {
  const { hostname, port } = new URL(database)
  const held = new Set<Socket>()
  let isFrozen = false
  const relay = createServer((client) => {
    client.on('error', () => undefined)
    if (isFrozen) {
      held.add(client)
      return
    }
    const server = connect(Number(port), hostname).on('error', () => client.destroy())
    client
      .on('close', () => server.destroy())
      .pipe(server)
      .pipe(client)
  }).listen(0, '127.0.0.1')
  await once(relay, 'listening')
  function close(): void {
    relay.close()
    for (const client of held) client.destroy()
  }
  context.after(close)
  const url = new URL(database)
  url.port = String((relay.address() as AddressInfo).port)
  return { url: url.href, freeze: () => void (isFrozen = true), close }
}

/** How many sockets a process has open, if the system reports it. */
function socketsOf({ pid }: Pick<ReadyProcess, 'pid'>): number {
  const folder = `/proc/${pid}/fd`
  if (!existsSync(folder)) return 0
  return readdirSync(folder).filter((fd) => readlinkSync(join(folder, fd)).startsWith('socket:')).length
}

/** Log lines about restarted workers. */
function tries({ stderr }: Pick<ReadyProcess, 'stderr'>): string[] {
  const messages = stderr()
    .split('\n')
    .map((line) => /"msg":"(.*)"/.exec(line)?.[1] ?? '')
  return messages.filter((message) => message.includes('the next attempt is in'))
}

/** Resolves once every worker has answered, which requires that it is ready. */
async function everyWorkerAnswers(service: Pick<ReadyProcess, 'pid' | 'url'>): Promise<void> {
  const pids = workersOf(service)
  // The primary hands over no connection until the programs of all these processes run; one that is stopped before
  // would block it.
  assert.equal(await statusOnNewConnection(`${service.url}/readyz`), 200)
  for (const pid of pids) {
    const others = pids.filter((other) => other !== pid)
    for (const other of others) process.kill(other, 'SIGSTOP')
    // A hung worker takes at most one connection, so one of these is for this worker.
    const statuses = pids.map(() => statusOnNewConnection(`${service.url}/readyz`))
    assert.equal(await Promise.any(statuses), 200)
    for (const other of others) process.kill(other, 'SIGCONT')
    await Promise.all(statuses)
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

function statusOnNewConnection(url: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get(url, { agent: false }, (answer) => resolve(answer.resume().statusCode)).on('error', reject)
  })
}

/**
 * The status of an answer on a separate connection, or why there is none; `waited` if none came in the time
 * that even a busy machine needs to start a worker. A client that waits for a dead one waits forever.
 */
function outcomeOf(url: string): Promise<number | string | undefined> {
  return new Promise((resolve) => {
    const request = get(url, { agent: false }, (answer) => resolve(answer.resume().statusCode))
    request.setTimeout(30_000, () => {
      resolve('waited')
      request.destroy()
    })
    request.on('error', (error) => resolve(codeOf(error)))
  })
}

async function answers({ url }: ReadyProcess): Promise<boolean> {
  return fetch(`${url}/readyz`).then(
    ({ status }) => status === 200,
    () => false,
  )
}

/** Resolves once the condition holds; the runner's timeout ends a test whose condition never does. */
async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(20)
}

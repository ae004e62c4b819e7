import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { Client } from 'pg'

import { testCommand } from '../../packages/cli/testing/command.ts'
import { findProgram, runProgram } from '../src/backup/programs.ts'
import { StoreOpenError } from '../src/store/open-error.ts'
import { execute } from '../testing/postgres-databases.ts'
import { postgres18, postgresServers } from '../testing/postgres.ts'
import { issueKey, issueProof, preparePurchase, startTestService, verifyProof } from '../testing/service.ts'
import { makeFolder } from './process.ts'

const postgres15 = postgresServers.find(({ name }) => name === 'PostgreSQL 15')
const missing = postgres15?.missing ?? (canDump() ? undefined : 'pg_dump 15 is not installed here')

test(
  'On PostgreSQL, too, a proof that was charged after the backup is refused after the restore, and what was revoked since is listed',
  { skip: missing },
  async (context) => {
    const before = await postgres15!.createDatabase()
    const empty = await postgres15!.createEmptyDatabase()
    const service = await startTestService(context, onPostgres(before.url))
    const lifetime = { window: 'lifetime', max_amount: '100.00' }
    const { body: budget } = await service.call('POST', '/v1/budgets', {
      body: { name: 'Team', limits: [lifetime] },
    })
    const purchase = await preparePurchase(service, { limits: [lifetime], budget_id: budget.id })
    const [early, late] = [await issueProof(service, purchase), await issueProof(service, purchase)]
    assert.equal((await verifyProof(service, early)).status, 200)
    await issueKey(service, { role: 'owner', label: 'stolen' })
    const { body: keys } = await service.call('GET', '/accounts/api-keys')
    const stolen = (keys as { id: string; label: string }[]).find(({ label }) => label === 'stolen')?.id

    const { folder, purserWith } = testCommand(context)
    const purser = (url: string, ...words: string[]) => purserWith({ environment: onPostgres(url) }, ...words)
    const made = await purser(before.url, 'backup', 'purser.dump')
    assert.deepEqual([made.code, made.errors], [0, ''])
    assert.match(made.output, /Payments {2}1\n.*\n.*\nEvery sum agrees with its records\./)
    assert.equal(statSync(join(folder, 'purser.dump')).mode & 0o777, 0o600)
    assert.equal((await verifyProof(service, late)).status, 200)
    assert.equal((await service.call('DELETE', `/accounts/api-keys/${stolen}`)).status, 200)

    const refused = await purser(before.url, 'restore', 'purser.dump')
    assert.equal(refused.code, 1)
    assert.match(refused.errors, /already contains a ledger; create an empty database/)
    writeFileSync(join(folder, 'purser.db'), `SQLite format 3\0${'page'.repeat(100)}`)
    const otherKind = await purser(empty.url, 'restore', 'purser.db')
    assert.match(
      otherKind.errors,
      /purser\.db is a backup of a SQLite ledger; restore it with --database sqlite:/,
    )
    const inUse = await purser(empty.url, 'restore', 'purser.dump', '--replaces', before.url)
    assert.equal(inUse.code, 1)
    assert.match(inUse.errors, /A Purser service is using .*; stop every service first/)
    assert.deepEqual(await execute(empty.url, tablesThere), [])
    await service.stop()
    const restored = await purser(empty.url, 'restore', 'purser.dump', '--replaces', before.url, '--json')
    assert.deepEqual([restored.code, restored.errors], [0, ''])
    const report = JSON.parse(restored.output)
    const secrets = await execute<{ secret: string }>(empty.url, 'select secret from service_secrets')
    assert.match(
      secrets[0]?.secret ?? '',
      /^[0-9a-f]{64}$/,
      'otherwise a copy of the ledger could bring the old one',
    )
    assert.deepEqual([report.payments, report.held, report.ended_proofs, report.agrees], [1, '0.00', 1, true])
    assert.deepEqual(
      report.working_again.keys.map(({ id }: { id: string }) => id),
      [stolen],
    )

    const again = await startTestService(context, onPostgres(empty.url))
    const answer = await again.call('POST', '/v1/payments/verify', {
      key: service.sandboxKey,
      body: { proof: late, merchant_domain: purchase.merchantDomain, expected_amount: late.amount },
    })
    assert.deepEqual([answer.status, answer.body.reason], [402, 'invalid_signature'])
    const mandate = await again.call('GET', `/mandates/${purchase.mandateId}`, { key: service.sandboxKey })
    assert.deepEqual([mandate.body.spent_total, mandate.body.held_total], ['1.00', '0.00'])
  },
)

for (const server of postgresServers) {
  test(
    `The rest of a restore is done for a database that ${server.name} has recovered`,
    { skip: server.missing ?? false },
    async (context) => {
      const { url, coordinator = url, drop } = await server.createDatabase()
      const service = await startTestService(context, onPostgres(url))
      const limits = [{ window: 'lifetime', max_amount: '1.00' }]
      const purchase = await preparePurchase(service, { limits })
      const open = await issueProof(service, purchase)

      const { purserWith } = testCommand(context)
      const purser = (...words: string[]) => purserWith({ environment: onPostgres(coordinator) }, ...words)
      if (coordinator !== url) {
        const { errors } = await purserWith({ environment: onPostgres(url) }, 'restore', '--recovered')
        assert.match(errors, /is a worker of Citus, .*; use the address of its coordinator/)
      }
      const inUse = await purser('restore', '--recovered')
      assert.deepEqual([inUse.code, inUse.output], [1, ''])
      assert.match(inUse.errors, /A Purser service is using .*; stop every service first/)
      await service.stop()
      await execute(url, 'update purser_schema set version = version + 1')
      assert.match((await purser('restore', '--recovered')).errors, /was written by a newer Purser/)
      await execute(url, 'update purser_schema set version = version - 1')
      assert.equal((await purser('migrate', 'status')).code, 0, 'it is not marked')

      const adopted = await purser('restore', '--recovered', '--json')
      assert.deepEqual([adopted.code, adopted.errors], [0, ''])
      const report = JSON.parse(adopted.output)
      assert.deepEqual([report.held, report.ended_proofs, report.agrees], ['0.00', 1, true])

      const again = await startTestService(context, onPostgres(url))
      // After both services have stopped: one that runs would write into the emptied database.
      context.after(drop)
      const { sandboxKey: key } = service
      const body = { proof: open, merchant_domain: purchase.merchantDomain, expected_amount: open.amount }
      const refused = await again.call('POST', '/v1/payments/verify', { key, body })
      assert.deepEqual([refused.status, refused.body.reason], [402, 'invalid_signature'])
      const fresh = await again.call('POST', '/v1/payments/proof', {
        key,
        body: {
          agent_id: purchase.agentId,
          mandate_id: purchase.mandateId,
          amount: '1.00',
          resource_url: purchase.resourceUrl,
        },
      })
      assert.equal(fresh.status, 201, fresh.text)
      for (const [words, says] of [
        [
          ['restore', 'purser.dump', '--recovered'],
          /--recovered is for a PostgreSQL database, without a backup file/,
        ],
        [['restore'], /the backup file/],
      ] as const) {
        const wrong = await purser(...words)
        assert.equal(wrong.code, 2)
        assert.match(wrong.errors, says)
      }
    },
  )
}

test(
  'The backup of the guide for containers is restored by its commands',
  { skip: missing },
  async (context) => {
    const { url, purserWith } = await backUpOpenProof(context)
    const empty = await postgres15!.createEmptyDatabase()
    const { hostname, port, username, password } = new URL(url)
    const guide = readFileSync(join(import.meta.dirname, '../../docs/guides/operators.md'), 'utf8')
    const commandOf = (name: string) =>
      new RegExp(` postgres (${name} [^]*?purser\\.dump)`).exec(guide)?.[1] ?? assert.fail(name)
    const here = (command: string) =>
      command
        .replace(/^pg_\w+/, (name) => findProgram(name as 'pg_dump', 15).path)
        .replace('--username=purser', `--username=${username}`)
        .replace(' purser_restored', ` ${nameOf(empty.url)}`)
        .replace(' purser >', ` ${nameOf(url)} >`)
    const folder = makeFolder(context)
    const env = {
      PATH: '/usr/bin:/bin',
      PGHOST: hostname,
      PGPORT: port,
      PGPASSWORD: decodeURIComponent(password),
    }
    for (const name of ['pg_dump', 'pg_restore']) {
      const { status, stderr } = spawnSync('sh', ['-c', here(commandOf(name))], {
        cwd: folder,
        env,
        encoding: 'utf8',
      })
      assert.deepEqual([status, stderr], [0, ''])
    }
    assert.deepEqual(await execute(empty.url, 'select name from service_secrets'), [])
    const restored = await purserWith(
      { environment: onPostgres(empty.url) },
      'restore',
      '--recovered',
      '--json',
    )
    assert.deepEqual([restored.code, restored.errors], [0, ''])
    assert.equal(JSON.parse(restored.output).ended_proofs, 1)
  },
)

test('No service starts on an interrupted restore', { skip: missing }, async (context) => {
  const { url } = await postgres15!.createDatabase()
  await execute(url, 'create table purser_restore ()')
  context.after(() => execute(url, 'drop table purser_restore'))
  await assert.rejects(
    startTestService(context, { PURSER_DATABASE: url, PURSER_WORKERS: '1' }),
    /contains an unfinished restore; run the same purser restore again, or with --recovered if the database already contains the ledger/,
  )
  const { purserWith } = testCommand(context)
  const status = await purserWith({ environment: onPostgres(url) }, 'migrate', 'status')
  assert.equal(status.code, 1)
  assert.match(
    status.output,
    /a restore that was interrupted: run the same purser restore again, or with --recovered/,
  )
  const up = await purserWith({ environment: onPostgres(url) }, 'migrate', 'up')
  assert.deepEqual([up.code, up.output], [1, ''])
})

test(
  'No service starts on a restore whose last answer from the server was lost, until --recovered finishes it',
  { skip: missing },
  async (context) => {
    const { purser } = await backUpOpenProof(context)
    const { url } = await postgres15!.createEmptyDatabase()
    const restored = await purser(await loseAnswerToCommit(context, url), 'restore', 'purser.dump')
    assert.deepEqual([restored.code, restored.output], [1, ''])
    assert.match(restored.errors, /pg_restore: error: .*server closed the connection/)

    await assert.rejects(startTestService(context, onPostgres(url)), /contains an unfinished restore/)
    const again = await purser(url, 'restore', 'purser.dump')
    assert.equal(again.code, 1)
    assert.match(again.errors, /interrupted after its copy; finish it with purser restore --recovered/)
    const finished = await purser(url, 'restore', '--recovered', '--json')
    assert.deepEqual([finished.code, finished.errors], [0, ''])
    assert.equal(JSON.parse(finished.output).ended_proofs, 1)
    await startTestService(context, onPostgres(url))
  },
)

test(
  'Ctrl-C ends a restore, the commands report it as interrupted, and the same restore can be run again',
  { skip: missing },
  async (context) => {
    const { purserWith, purser } = await backUpOpenProof(context)
    const { url } = await postgres15!.createEmptyDatabase()
    const blocker = await block(context, url, 'create table accounts ()')
    const interruption = new AbortController()
    const changes = { environment: onPostgres(url), interruption: () => interruption.signal }
    const restoring = purserWith(changes, 'restore', 'purser.dump')
    while (!(await isWaiting(url))) await sleep(20)
    interruption.abort()
    assert.equal((await restoring).code, 130)
    await blocker.query('rollback')

    const status = await purser(url, 'migrate', 'status')
    assert.equal(status.code, 1)
    assert.match(status.output, /To do {4}the ledger is a restore that was interrupted/)
    assert.match((await purser(url, 'doctor')).output, /contains an unfinished restore/)
    await assert.rejects(startTestService(context, onPostgres(url)), /contains an unfinished restore/)
    const again = await purser(url, 'restore', 'purser.dump', '--json')
    assert.deepEqual([again.code, again.errors], [0, ''])
    assert.equal(JSON.parse(again.output).ended_proofs, 1)
    assert.equal((await purser(url, 'migrate', 'status')).code, 0)
  },
)

test(
  'An unreadable ledger after --replaces is refused before anything changes, and one that is lost later makes the restore list every key',
  { skip: missing },
  async (context) => {
    const { url: before, drop, purser } = await backUpOpenProof(context)
    const { url } = await postgres15!.createEmptyDatabase()
    const missingDatabase = before.replace(/\w+$/, 'nosuch')
    for (const [replaced, says] of [
      [
        missingDatabase,
        /the ledger of --replaces cannot be read \(database "nosuch" does not exist\); correct/,
      ],
      [url, /the ledger of --replaces cannot be read \(relation "accounts" does not exist\); correct/],
    ] as const) {
      const { code, errors } = await purser(url, 'restore', 'purser.dump', '--replaces', replaced)
      assert.equal(code, 1)
      assert.match(errors, says)
      assert.deepEqual(await execute(url, tablesThere), [])
    }

    const blocker = await block(context, url, 'create table accounts ()')
    const restoring = purser(url, 'restore', 'purser.dump', '--replaces', before, '--json')
    while (!(await isWaiting(url))) await sleep(20)
    await drop()
    await blocker.query('rollback')
    const restored = await restoring
    assert.deepEqual([restored.code, restored.errors], [0, ''])
    const report = JSON.parse(restored.output)
    assert.equal(report.working_again, null)
    assert.ok(report.working_keys.length > 0)
  },
)

test(
  'A restore from a file that pg_restore cannot read changes nothing',
  { skip: missing },
  async (context) => {
    const { url, drop } = await postgres15!.createEmptyDatabase()
    context.after(drop)
    const { folder, purserWith } = testCommand(context)
    writeFileSync(join(folder, 'text.dump'), 'text')
    const { code, errors } = await purserWith({ environment: onPostgres(url) }, 'restore', 'text.dump')
    assert.equal(code, 1)
    assert.match(errors, /pg_restore: error: input file/)
    assert.deepEqual(await execute(url, tablesThere), [])
  },
)

test(
  'A backup is refused if the tables are in a schema of their own, which a restore would not find',
  { skip: missing },
  async (context) => {
    const { url, drop } = await postgres15!.createEmptyDatabase()
    context.after(drop)
    await execute(url, 'create schema app')
    await configure(url, 'search_path', 'app')
    const { folder, purserWith } = testCommand(context)
    const purser = (...words: string[]) => purserWith({ environment: onPostgres(url) }, ...words)
    assert.equal((await purser('migrate', 'up')).code, 0)
    const { code, output, errors } = await purser('backup', 'purser.dump')
    assert.deepEqual([code, output], [1, ''])
    assert.match(
      errors,
      /has its tables in the schema app, and purser restore needs them in public; move all of them there .* and set search_path to public/,
    )
    assert.deepEqual(readdirSync(folder), [])
  },
)

test(
  'A short idle_in_transaction_session_timeout of the database does not end a backup or a restore',
  { skip: missing },
  async (context) => {
    const { url, purser } = await backUpOpenProof(context)
    const { url: empty } = await postgres15!.createEmptyDatabase()
    for (const database of [url, empty]) {
      await configure(database, 'idle_in_transaction_session_timeout', '20ms')
    }
    const made = await purser(url, 'backup', 'again.dump')
    assert.deepEqual([made.code, made.errors], [0, ''])
    const restored = await purser(empty, 'restore', 'again.dump')
    assert.deepEqual([restored.code, restored.errors], [0, ''])
  },
)

for (const setting of ['statement_timeout', 'lock_timeout', 'transaction_timeout']) {
  test(`A ${setting} of the database does not end a check of the ledger`, async (context) => {
    const { url, drop } = await postgres18.createEmptyDatabase()
    context.after(drop)
    const { purserWith } = testCommand(context)
    const purser = (...words: string[]) => purserWith({ environment: onPostgres(url) }, ...words)
    assert.equal((await purser('migrate', 'up')).code, 0)
    const blocker = await block(context, url, 'lock table mandates')
    await configure(url, setting, '500ms')

    const ended = new AbortController()
    const checking = purser('ledger', 'check').finally(() => ended.abort())
    while (!ended.signal.aborted && !(await isWaiting(url, '600ms'))) await sleep(20)
    await blocker.query('rollback')
    const checked = await checking
    assert.deepEqual([checked.code, checked.errors], [0, ''])
  })
}

for (const [variable, value] of [
  ['PGSERVICE', 'other'],
  ['PGHOSTADDR', '127.0.0.9'],
  ['PGTARGETSESSIONATTRS', 'standby'],
] as const) {
  test(
    `${variable} in the shell does not lead a backup or a restore to another server`,
    { skip: missing },
    async (context) => {
      const [from, to] = [await postgres15!.createDatabase(), await postgres15!.createEmptyDatabase()]
      context.after(async () => Promise.all([from.drop(), to.drop()]))
      const { purserWith } = testCommand(context)
      const purser = (url: string, ...words: string[]) =>
        purserWith({ environment: { ...onPostgres(url), [variable]: value } }, ...words)
      const made = await purser(from.url, 'backup', 'purser.dump')
      assert.deepEqual([made.code, made.errors], [0, ''])
      const restored = await purser(to.url, 'restore', 'purser.dump')
      assert.deepEqual([restored.code, restored.errors], [0, ''])
    },
  )
}

test('sslmode=verify-full without sslrootcert uses the certificate authorities of the system, or says what to add', async (context) => {
  const { folder: HOME } = testCommand(context)
  /** What a program of PostgreSQL gets, which this one prints and fails. */
  const given = (major: number, parameters: string, environment: Record<string, string> = { HOME }) =>
    runProgram(
      { path: '/bin/sh', major },
      {
        url: `postgresql://host/purser?${parameters}`,
        flags: ['-c', 'echo "$PGSSLMODE $PGSSLROOTCERT" >&2; exit 1'],
        environment,
      },
    )
  const mustAdd =
    /release 15 .* add their file to the address, as in sslrootcert=\/etc\/ssl\/certs\/ca-certificates\.crt/
  const file = join(HOME, 'ca.pem')
  writeFileSync(file, '')
  for (const sslmode of ['verify-full', 'verify-ca']) {
    const usesFile = new RegExp(`: ${sslmode} ${file}$`)
    await assert.rejects(given(16, `sslmode=${sslmode}`), /: verify-full system$/)
    await assert.rejects(given(15, `sslmode=${sslmode}`), mustAdd)
    await assert.rejects(given(15, `sslmode=${sslmode}&sslrootcert=${file}`), usesFile)
    await assert.rejects(given(16, `sslmode=${sslmode}`, { HOME, PGSSLROOTCERT: file }), usesFile)
  }
  await assert.rejects(given(16, 'sslmode=require'), /: require$/)
  mkdirSync(join(HOME, '.postgresql'))
  writeFileSync(join(HOME, '.postgresql/root.crt'), '')
  await assert.rejects(given(15, 'sslmode=verify-full'), /: verify-full$/, 'libpq uses its own file')
})

test('Where pg_dump is missing or too old, the command says what to install', () => {
  assert.throws(
    () => findProgram('pg_dump', 99),
    /^StoreOpenError: pg_dump (here is of release \d+|is not installed here), and the server is PostgreSQL 99; install pg_dump 99 \(Debian: apt-get install postgresql-client-99\)$/,
  )
})

const tablesThere = `select relname from pg_class where relnamespace = 'public'::regnamespace`

/** A backup of a ledger with an open proof, as `purser.dump` in the folder of the command. */
async function backUpOpenProof(context: TestContext) {
  // Not one that other tests reuse, because a test drops it.
  const { url, drop } = await postgres15!.createEmptyDatabase()
  context.after(drop)
  const service = await startTestService(context, onPostgres(url))
  const purchase = await preparePurchase(service)
  await issueProof(service, purchase)
  const { purserWith } = testCommand(context)
  const purser = (database: string, ...words: string[]) =>
    purserWith({ environment: onPostgres(database) }, ...words)
  assert.equal((await purser(url, 'backup', 'purser.dump')).code, 0)
  await service.stop()
  return { url, drop, purser, purserWith }
}

/** A connection whose transaction makes others wait. */
async function block(context: TestContext, url: string, statement: string): Promise<Client> {
  const blocker = new Client({ connectionString: url })
  // Its database may be dropped first.
  blocker.on('error', () => undefined)
  await blocker.connect()
  context.after(() => blocker.end())
  await blocker.query(`begin; ${statement}`)
  return blocker
}

/** Whether a connection to the database has waited for a lock for some time. */
async function isWaiting(url: string, time = '0'): Promise<boolean> {
  const waiting = await execute(
    url,
    `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
       and clock_timestamp() - query_start > $1::interval`,
    [time],
  )
  return waiting.length > 0
}

/** Changes a setting of the next connections to a database. */
async function configure(url: string, setting: string, value: string): Promise<void> {
  await execute(url, `alter database ${nameOf(url)} set ${setting} = '${value}'`)
}

function nameOf(url: string): string {
  return new URL(url).pathname.slice(1)
}

/** The address of a proxy that breaks the first connection on which the server has completed a commit. */
async function loseAnswerToCommit(context: TestContext, url: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  let isLost = false
  const proxy = createServer((client) => {
    const server = connect(Number(port), hostname)
    for (const socket of [client, server]) sockets.add(socket.on('error', () => undefined))
    client.pipe(server)
    server.on('data', (bytes) => {
      const isKept = isLost || !bytes.includes('COMMIT\0')
      isLost ||= !isKept
      if (isKept) client.write(bytes)
      else server.destroy()
    })
    server.on('close', () => client.destroy())
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  context.after(() => {
    for (const socket of sockets) socket.destroy()
    proxy.close()
  })
  const address = new URL(url)
  address.port = String((proxy.address() as AddressInfo).port)
  return address.href
}

/** The settings of a service that keeps its proof secret in the database. */
function onPostgres(url: string) {
  return { PURSER_DATABASE: url, PURSER_WORKERS: '1', PURSER_PROOF_SECRET: '' }
}

function canDump(): boolean {
  try {
    return findProgram('pg_dump', 15).major === 15
  } catch (error) {
    if (error instanceof StoreOpenError) return false
    throw error
  }
}

import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'

import Database from 'better-sqlite3'

import { damagePages } from '../testing/ledgers/damaged-file.ts'
import { openLoadClient } from '../testing/load.ts'
import type { PlainAnswer } from '../testing/http/plain-http.ts'
import { makeFolder, runProcess, startProcess, type ProcessOptions, type ReadyProcess } from './process.ts'
import { createIdsOfTimes } from '../src/ids.ts'
import { openSqliteLedgerStore } from '../src/store/ledger/sqlite/sqlite-ledger-store.ts'

const run = promisify(execFile)
const noCurl = spawnSync('curl', ['--version']).error ? 'curl is not installed here' : false

test('The first start shows both operator keys once, ready to paste, and later starts show none [auth.2]', async (context) => {
  const folder = makeFolder(context)
  const service = await startProcess(context, { folder })
  const { stdout, stderr, code } = await service.kill('SIGTERM')
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
  const keys = {
    sandbox: /^ {2}export PURSER_SANDBOX_KEY=(svc_sand_[0-9A-Za-z]{36})$/m.exec(stdout)?.[1] ?? '',
    production: /^ {2}export PURSER_PRODUCTION_KEY=(svc_prod_[0-9A-Za-z]{36})$/m.exec(stdout)?.[1] ?? '',
  }
  const pasted = [...stdout.matchAll(/^ {2}export .*$/gm)].join('\n')
  const echoed = await run('sh', [
    '-c',
    `${pasted}\necho "$PURSER_URL $PURSER_SANDBOX_KEY $PURSER_PRODUCTION_KEY"`,
  ])
  assert.equal(echoed.stdout, `${service.url} ${keys.sandbox} ${keys.production}\n`)
  assert.ok(stdout.includes(`  Reference   ${service.url}/docs\n`), stdout)
  assert.ok(stdout.includes(`  Data        ${join(folder, 'data/purser.db')}\n`), stdout)
  assert.equal(statSync(join(folder, 'data/purser.db.proof-secret')).mode & 0o777, 0o600)

  const again = await startProcess(context, { folder })
  for (const key of Object.values(keys)) assert.equal((await callWith(again, key)).status, 200)
  const later = await again.kill('SIGTERM')
  assert.doesNotMatch(later.stdout + later.stderr, /svc_(sand|prod)_|export|curl/)
  assert.ok(later.stdout.includes(`  Data        ${join(folder, 'data/purser.db')}\n`), later.stdout)
})

test(
  'The reference URL and the command that a first start prints both work as printed',
  { skip: noCurl },
  async (context) => {
    const service = await startProcess(context, { folder: makeFolder(context) })
    const [command] = await service.sees(/^ {2}curl [^]*'$/m)
    const created = await run('sh', ['-c', command])
    assert.deepEqual(pick(JSON.parse(created.stdout)), { name: 'research-bot', status: 'active' })
    const [, reference = ''] = await service.sees(/Reference +(\S+)/)
    assert.match((await run('curl', ['-sSL', reference])).stdout, /<html/)
  },
)

test('A first start that fails because of its port creates no keys, so the next one shows them', async (context) => {
  const folder = makeFolder(context)
  const failed = await runProcess(context, { folder, settings: await takenPort(context) })
  assertRefused(
    failed,
    /Port \d+ on 127\.0\.0\.1 is taken; choose another with PURSER_PORT, or 0 for any free one/,
  )
  const service = await startProcess(context, { folder })
  await service.sees(/export PURSER_SANDBOX_KEY=svc_sand_/)
  await service.sees(/export PURSER_PRODUCTION_KEY=svc_prod_/)
})

test('A first start that was killed while it created its secret is completed by the next', async (context) => {
  const folder = makeFolder(context)
  mkdirSync(join(folder, 'data'))
  writeFileSync(join(folder, 'data/purser.db.proof-secret.new'), 'half a sec')
  await startProcess(context, { folder })
  assert.match(readFileSync(join(folder, 'data/purser.db.proof-secret'), 'utf8'), /^[0-9a-f]{64}\n$/)
})

const chosen = { sandbox: 'svc_sand_test_key_of_mine', production: 'svc_prod_test_key_of_mine' }
const choices: readonly (readonly [
  how: string,
  choose: (folder: string) => Omit<ProcessOptions, 'folder'>,
])[] = [
  ['variables', () => ({ settings: chosenSettings() })],
  [
    'files',
    (folder) => {
      writeFileSync(join(folder, 'sandbox-key'), `${chosen.sandbox}\n`)
      writeFileSync(join(folder, 'production-key'), chosen.production)
      return {
        settings: {
          PURSER_BOOTSTRAP_SANDBOX_KEY_FILE: 'sandbox-key',
          PURSER_BOOTSTRAP_PRODUCTION_KEY_FILE: join(folder, 'production-key'),
        },
      }
    },
  ],
  [
    'flags',
    () => ({
      flags: ['--bootstrap-sandbox-key', chosen.sandbox, '--bootstrap-production-key', chosen.production],
    }),
  ],
  [
    '.env',
    (folder) => {
      const lines = Object.entries(chosenSettings()).map(([name, value]) => `${name}=${value}`)
      writeFileSync(join(folder, '.env'), lines.join('\n'))
      return {}
    },
  ],
]
for (const [how, choose] of choices) {
  test(`Keys that the operator chose, by ${how}, are the operator keys, need no checksum and are not printed`, async (context) => {
    const folder = makeFolder(context)
    const options = { folder, ...choose(folder) }
    // A second start reads them in the same way.
    for (const start of how === 'variables' ? ['first', 'second'] : ['first']) {
      const service = await startProcess(context, options)
      for (const key of Object.values(chosen)) {
        const keys = await callWith(service, key)
        assert.deepEqual([keys.status, keys.body.length], [200, 2], `${start} start`)
      }
      assert.equal((await callWith(service, `${chosen.sandbox}x`)).status, 401)
      const { stdout, stderr } = await service.kill('SIGTERM')
      assert.doesNotMatch(stdout + stderr, /svc_(sand|prod)_|export/)
    }
  })
}

test('A key that was chosen after the first start opens nothing, and the log says so', async (context) => {
  const folder = makeFolder(context)
  const first = await startProcess(context, { folder, settings: chosenSettings() })
  assert.equal((await first.kill('SIGTERM')).stderr, '')
  const other = `${chosen.sandbox}-changed`
  const settings = { ...chosenSettings(), PURSER_BOOTSTRAP_SANDBOX_KEY: other }
  const second = await startProcess(context, { folder, settings })
  assert.equal((await callWith(second, other)).status, 401)
  assert.equal((await callWith(second, chosen.production)).status, 200)
  const { stderr } = await second.kill('SIGTERM')
  const [line = '', ...more] = stderr.trim().split('\n')
  assert.deepEqual(more, [])
  const { level, msg } = JSON.parse(line) as { level: number; msg: string }
  assert.equal(level, 40)
  assert.equal(
    msg,
    'PURSER_BOOTSTRAP_SANDBOX_KEY is no working key of this ledger, since only a first start creates chosen keys: set the key of the first start, or issue another with purser keys issue --operator and remove the setting',
  )
})

test(
  'With a chosen key the printed command works where its variable is set',
  { skip: noCurl },
  async (context) => {
    const settings = chosenSettings()
    const service = await startProcess(context, { folder: makeFolder(context), settings })
    const [command] = await service.sees(/^ {2}curl [^]*'$/m)
    const created = await run('sh', ['-c', command], { env: { PATH: process.env['PATH'], ...settings } })
    assert.deepEqual(pick(JSON.parse(created.stdout)), { name: 'research-bot', status: 'active' })
  },
)

test('A proof secret from a file is used, and none is created next to the store', async (context) => {
  const folder = makeFolder(context)
  writeFileSync(join(folder, 'secret'), 'a secret that stands in a file of its own\n')
  const service = await startProcess(context, { folder, settings: { PURSER_PROOF_SECRET_FILE: 'secret' } })
  assert.doesNotMatch(service.stdout(), /Secret/)
  assert.throws(() => statSync(join(folder, 'data/purser.db.proof-secret')), { code: 'ENOENT' })
})

test('A second process on the same file is refused, and the first keeps answering', async (context) => {
  const folder = makeFolder(context)
  const settings = chosenSettings()
  const first = await startProcess(context, { folder, settings })
  const second = await runProcess(context, { folder, settings })
  assertRefused(second, `Another Purser process is using ${join(folder, 'data/purser.db')}; stop it first`)
  assert.equal((await callWith(first, chosen.sandbox)).status, 200)
  assert.equal((await first.kill('SIGTERM')).code, 0)
  const third = await startProcess(context, { folder, settings })
  assert.equal((await callWith(third, chosen.sandbox)).status, 200)
})

interface Refusal {
  readonly what: string
  readonly says: RegExp
  /** Causes the fault; returns the settings and flags that show it. */
  readonly make: (folder: string) => Promise<Omit<ProcessOptions, 'folder'>> | Omit<ProcessOptions, 'folder'>
}

/** One for each way to the message; the tests of `open.ts` have every fault of a file. */
const refusals: readonly Refusal[] = [
  {
    what: 'a file with damaged pages',
    says: /purser\.db is damaged \(.*\), and was left untouched; restore a backup with npx purser restore, or name/,
    make: async (folder) => {
      await createDatabase(folder)
      damagePages(databasePath(folder))
      return {}
    },
  },
  {
    what: 'a database of another program',
    says: /purser\.db is a database of another program, and was left untouched; name another file/,
    make: (folder) => changeDatabase(folder, 'create table notes (text text)'),
  },
  {
    what: 'a truncated proof secret',
    says: /purser\.db\.proof-secret does not contain a proof secret of this service; put the original file back/,
    make: async (folder) => {
      await createDatabase(folder)
      writeFileSync(join(folder, 'data/purser.db.proof-secret'), 'cut off')
      return {}
    },
  },
  {
    what: 'an address of another machine',
    says: /203\.0\.113\.1 is not an address of this machine; set PURSER_HOST to 127\.0\.0\.1 or 0\.0\.0\.0/,
    make: () => ({ flags: ['--host', '203.0.113.1'] }),
  },
  {
    what: 'a link-local address without its network',
    says: /fe80::1 is not an address of this machine; set PURSER_HOST to 127\.0\.0\.1 or 0\.0\.0\.0/,
    make: () => ({ flags: ['--host', 'fe80::1'] }),
  },
]
for (const { what, says, make } of refusals) {
  test(`A start with ${what} ends with one clear sentence and exit code 1`, async (context) => {
    const folder = makeFolder(context)
    const options = await make(folder)
    const before = readDatabase(folder)
    const ending = await runProcess(context, { folder, ...options })
    assertRefused(ending, says)
    if (ending.stderr.includes('was left untouched')) assert.deepEqual(readDatabase(folder), before)
  })
}

test('All bad settings are reported at once, each with its valid values, and without secrets', async (context) => {
  const { code, stdout, stderr } = await runProcess(context, {
    folder: makeFolder(context),
    settings: {
      PURSER_HOST: ' ',
      PURSER_DATABASE: 'mysql://localhost/purser',
      PURSER_PROOF_SECRET: 'tooshort',
      PURSER_BOOTSTRAP_SANDBOX_KEY: 'hunter2',
      PURSER_BOOTSTRAP_PRODUCTION_KEY_FILE: 'missing-file',
      PURSER_LOG_LEVEL: 'loud',
      PURSER_WORKERS: '4',
      [['PURSER', 'DATABSE'].join('_')]: 'postgresql://127.0.0.1/purser',
    },
    flags: ['--port', '99999'],
  })
  assert.deepEqual({ code, stdout }, { code: 1, stdout: '' })
  const [title, ...faults] = stderr.trimEnd().split('\n')
  assert.equal(title, 'Purser cannot start:')
  const named = [
    /^ {2}- PURSER_HOST is empty; leave it out for 127\.0\.0\.1$/,
    /^ {2}- PURSER_PORT must be a whole number from 0 to 65535, not "99999"$/,
    /^ {2}- PURSER_DATABASE must be sqlite: and a file's path, .* not "mysql:/,
    /^ {2}- PURSER_PROOF_SECRET: secret 1 has 8 bytes and needs 32 or more; make one with: /,
    /^ {2}- PURSER_BOOTSTRAP_SANDBOX_KEY must begin with svc_sand_, followed by 8 or more/,
    /^ {2}- PURSER_BOOTSTRAP_PRODUCTION_KEY_FILE names .*missing-file, which does not exist; put the secret/,
    /^ {2}- PURSER_LOG_LEVEL must be one of fatal, .*, not "loud"$/,
    /^ {2}- PURSER_WORKERS must be 1 with SQLite/,
    /^ {2}- PURSER_\w+ is not a setting; did you mean PURSER_DATABASE\?$/,
  ]
  for (const fault of named) assert.equal(faults.filter((line) => fault.test(line)).length, 1, stderr)
  assert.equal(faults.length, named.length, stderr)
  assert.doesNotMatch(stderr, /tooshort|hunter2|\n {4}at /)
})

test('--help lists every setting and starts nothing, whatever else is wrong', async (context) => {
  const folder = makeFolder(context)
  const { code, stdout, stderr } = await runProcess(context, { folder, flags: ['--help', '--port', 'http'] })
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
  const names = ['HOST', 'PORT', 'DATABASE', 'PROOF_SECRET', 'LOG_LEVEL', 'WORKERS']
  names.push('BOOTSTRAP_SANDBOX_KEY', 'BOOTSTRAP_PRODUCTION_KEY')
  for (const name of names) assert.match(stdout, new RegExp(`^ {2}--[a-z-]+ +PURSER_${name} `, 'm'))
  assert.equal(readDatabase(folder), undefined)
})

test('A flag takes precedence over its variable, and a variable over .env', async (context) => {
  const folder = makeFolder(context)
  writeFileSync(
    join(folder, '.env'),
    `PURSER_DATABASE=sqlite:./elsewhere/ledger.db\nPURSER_LOG_LEVEL=loud\nPURSER_PORT=99998\n`,
  )
  const port = await freePort()
  const service = await startProcess(context, {
    folder,
    settings: { PURSER_LOG_LEVEL: 'silent', PURSER_PORT: '99999' },
    flags: ['--port', String(port)],
  })
  assert.equal(service.url, `http://127.0.0.1:${port}`)
  const { stdout, stderr } = await service.kill('SIGTERM')
  assert.ok(stdout.includes(`  Data        ${join(folder, 'elsewhere/ledger.db')}\n`), stdout)
  assert.equal(stderr, '')
})

function chosenSettings(): Record<string, string> {
  return {
    PURSER_BOOTSTRAP_SANDBOX_KEY: chosen.sandbox,
    PURSER_BOOTSTRAP_PRODUCTION_KEY: chosen.production,
  }
}

/** The list of keys, which only an owner's or an operator's key may read. */
async function callWith({ url }: ReadyProcess, key: string): Promise<PlainAnswer> {
  const client = openLoadClient(url, key, 1)
  try {
    return await client.send('GET', '/accounts/api-keys')
  } finally {
    client.close()
  }
}

/** One sentence on standard error, none on standard output, no stack trace, exit code 1. */
function assertRefused(ending: Awaited<ReturnType<typeof runProcess>>, says: RegExp | string): void {
  const { code, signal, stdout, stderr } = ending
  assert.deepEqual({ code, signal, stdout }, { code: 1, signal: null, stdout: '' }, stderr)
  assert.match(stderr, /^Purser cannot start: [^\n]+\.\n$/)
  if (typeof says === 'string') assert.ok(stderr.includes(says), stderr)
  else assert.match(stderr, says)
}

function pick({ name, status }: { name?: unknown; status?: unknown }): unknown {
  return { name, status }
}

/** The settings of a port that another program listens on. */
async function takenPort(context: TestContext): Promise<Record<string, string>> {
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  context.after(() => void other.close())
  return { PURSER_PORT: String((other.address() as AddressInfo).port) }
}

async function freePort(): Promise<number> {
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  const { port } = other.address() as AddressInfo
  await new Promise((resolve) => other.close(resolve))
  return port
}

const databasePath = (folder: string) => join(folder, 'data/purser.db')

function readDatabase(folder: string): Buffer | undefined {
  return statSync(databasePath(folder), { throwIfNoEntry: false }) && readFileSync(databasePath(folder))
}

/** A database of this release, without an account. */
function createDatabase(folder: string): Promise<void> {
  return openSqliteLedgerStore({ path: databasePath(folder), nextId: createIdsOfTimes() }).close()
}

/** Changes the file like another program could. */
function changeDatabase(folder: string, statement: string): Record<string, never> {
  mkdirSync(join(folder, 'data'), { recursive: true })
  const database = new Database(databasePath(folder))
  database.exec(statement)
  database.close()
  return {}
}

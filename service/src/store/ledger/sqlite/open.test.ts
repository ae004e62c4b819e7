import assert from 'node:assert/strict'
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'

import Database from 'better-sqlite3'

import { hashApiKey } from '../../../domain/api-key.ts'
import { StoreLedger } from '../../../../testing/store-ledger.ts'
import { applicationIds } from './file-header.ts'
import { keepAside } from './kept-ledger.ts'
import { explainOpenFailure, openSqliteFile } from './open.ts'
import { readSqliteVersion } from './schema-version.ts'
import { ledgerSteps } from './schema.ts'
import { createIdsOfTimes } from '../../../ids.ts'
import { openSqliteLedgerStore } from './sqlite-ledger-store.ts'

const writableRemedy =
  'let this user write there, or choose a location for a new ledger, with PURSER_DATABASE=sqlite:/path/purser.db'

test("A new file is created with its folders, readable only by this user, and marked as Purser's", (context) => {
  const path = join(folderFor(context), 'deep', 'er', 'purser.db')
  const { database, close } = openSqliteFile(path)
  assert.equal(database.pragma('application_id', { simple: true }), BigInt(applicationIds.ledger))
  assert.equal(database.pragma('user_version', { simple: true }), BigInt(ledgerSteps.length))
  close()
  assert.equal(statSync(path).mode & 0o077, 0)
  assert.equal(statSync(dirname(path)).mode & 0o077, 0)
  assert.equal(statSync(`${path}.lock`).mode & 0o777, 0o600)
  chmodSync(`${path}.lock`, 0o644)
  openSqliteFile(path).close()
  assert.equal(
    statSync(`${path}.lock`).mode & 0o777,
    0o600,
    'the permissions of a file from an earlier release are tightened',
  )
})

test('Acknowledged writes are on the disk: every commit is synced, and the log is written ahead', (context) => {
  const { database, close } = openSqliteFile(pathFor(context))
  assert.equal(database.pragma('journal_mode', { simple: true }), 'wal')
  assert.equal(database.pragma('synchronous', { simple: true }), 2n, 'full')
  close()
})

test('A file with a second hard link is refused: each name would have a separate lock and log', (context) => {
  const path = pathFor(context)
  openSqliteFile(path).close()
  linkSync(path, `${path}.second`)
  for (const name of [path, `${path}.second`]) {
    assert.throws(() => openSqliteFile(name), {
      name: 'StoreOpenError',
      message: `${name} is one file with 2 names (hard links), and services under different names would damage it; keep one name, and delete or copy the other`,
    })
  }
  rmSync(`${path}.second`)
  openSqliteFile(path).close()
})

test('A ledger whose restore was killed gets its log back, and loses the name under which it was to be kept', async (context) => {
  const path = pathFor(context)
  const store = openSqliteLedgerStore({ path, nextId: createIdsOfTimes() })
  await new StoreLedger({ store, close: () => store.close() }).tenant()
  const left = `${path}.left`
  for (const suffix of ['', '-wal']) copyFileSync(`${path}${suffix}`, `${left}${suffix}`)
  await store.close()
  const kept = keepAside(left, 0)!
  assert.ok(existsSync(`${kept}-wal`) && !existsSync(`${left}-wal`))
  const { database, close } = openSqliteFile(left)
  context.after(close)
  assert.equal(database.prepare('select count(*) from accounts').pluck().get(), 1n)
  assert.ok(!existsSync(kept) && !existsSync(`${kept}-wal`))
})

test('A file that is mounted by itself, as into a container, is refused', (context) => {
  const path = pathFor(context)
  const mounted = `${path} of "docker run"`
  openSqliteFile(path).close()
  writeFileSync(mounted, '')
  const open = `import(${JSON.stringify(import.meta.resolve('./open.ts'))}).then(({ openSqliteFile }) => openSqliteFile(process.argv[1]))`
  const script = 'mount --bind "$1" "$2" || exit 9; exec "$3" -e "$4" "$2"'
  const { status, stderr } = spawnSync(
    'unshare',
    ['--mount', 'sh', '-c', script, 'sh', path, mounted, process.execPath, open],
    { encoding: 'utf8' },
  )
  if (status === null || status === 9 || stderr.startsWith('unshare:'))
    return context.skip('mounting needs Linux and root')
  assert.match(
    stderr,
    /docker run" is mounted as a single file, .*; mount the folder that contains it instead/,
  )
  assert.ok(!existsSync(`${mounted}.lock`))
})

test('A dangling symbolic link is refused, and no file is created', (context) => {
  const path = pathFor(context)
  const target = join(dirname(path), 'missing.db')
  symlinkSync(target, path)
  assert.throws(() => openSqliteFile(path), {
    name: 'StoreOpenError',
    message: `${path} is a symbolic link to ${target}, which does not exist; restore what it leads to, or remove the link to create a new ledger`,
  })
  assert.equal(existsSync(target), false)
  assert.equal(existsSync(`${path}.lock`), false)
  const below = join(path, 'purser/purser.db')
  assert.throws(() => openSqliteFile(below), { code: 'dangling_link', values: { place: path, target } })
})

test('A link that leads back to itself, and a name that is too long, are refused with one sentence', (context) => {
  const loop = pathFor(context)
  symlinkSync(loop, loop)
  const long = join(dirname(loop), 'a'.repeat(300))
  for (const [path, cause] of [
    [loop, 'ELOOP'],
    [long, 'ENAMETOOLONG'],
  ] as const) {
    const message = `${path} is not a path that can be followed (${cause}); name a file with PURSER_DATABASE=sqlite:/path/purser.db`
    assert.throws(() => openSqliteFile(path), { name: 'StoreOpenError', message })
    assert.throws(() => readSqliteVersion(path), { name: 'StoreOpenError', message })
  }
})

test('Opening the same file twice in this process is refused, and works once the first is closed', (context) => {
  const path = pathFor(context)
  const first = openSqliteFile(path)
  for (let attempt = 0; attempt < 2; attempt++) {
    assert.throws(() => openSqliteFile(path), { name: 'StoreOpenError', message: inUse(path) })
  }
  first.close()
  openSqliteFile(path).close()
})

test('A path with leading or trailing whitespace is refused: SQLite would open the file without it, under another lock', (context) => {
  const path = pathFor(context)
  const first = openSqliteFile(path)
  const files = readdirSync(dirname(path))
  for (const spaced of [`${path} `, `${path}\r`, `${path}\n`, ` ${path}`]) {
    assert.throws(() => openSqliteFile(spaced), {
      name: 'StoreOpenError',
      message: `${JSON.stringify(spaced)} has leading or trailing whitespace; name a file without it, with PURSER_DATABASE=sqlite:/path/purser.db`,
    })
  }
  assert.deepEqual(readdirSync(dirname(path)), files)
  first.close()
})

test('A file has one lock and one log, whichever link leads to it', async (context) => {
  const path = pathFor(context)
  const link = join(folderFor(context), 'link.db')
  symlinkSync(path, link)
  openSqliteFile(path).close()
  const store = openSqliteLedgerStore({ path: link, nextId: createIdsOfTimes() })
  context.after(() => store.close())
  await new StoreLedger({ store, close: () => store.close() }).tenant()
  for (const again of [path, link]) {
    assert.throws(() => openSqliteFile(again), { name: 'StoreOpenError', message: inUse(again) })
  }
})

test('Opening the same file from another process is refused, with a one-sentence error', async (context) => {
  const path = pathFor(context)
  const { close } = openSqliteFile(path)
  const { said } = openInChild(context, path)
  assert.equal(await said, `StoreOpenError: ${inUse(path)}`)
  close()
})

test('The lock is released when its process is killed, and acknowledged writes are there', async (context) => {
  const path = pathFor(context)
  const { child, said } = openInChild(context, path)
  assert.equal(await said, 'opened')
  assert.throws(() => openSqliteFile(path), { name: 'StoreOpenError', message: inUse(path) })
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  const [, signal] = (await ended) as [number | null, string]
  assert.equal(signal, 'SIGKILL')
  const store = openSqliteLedgerStore({ path, nextId: createIdsOfTimes() })
  assert.equal(await store.isEmpty(), false)
  assert.deepEqual(await store.findLedgerFaults(), [])
  await store.close()
})

test('Two files in one folder are two stores', (context) => {
  const path = pathFor(context)
  const first = openSqliteFile(path)
  const second = openSqliteFile(`${path}2`)
  first.close()
  second.close()
})

test('A reopened store has everything that was written, and runs no schema step again', async (context) => {
  const path = pathFor(context)
  const callers = []
  for (let start = 0; start < 3; start++) {
    const store = openSqliteLedgerStore({ path, nextId: createIdsOfTimes() })
    const ledger = new StoreLedger({ store, close: () => store.close() })
    ledger.clock.nowMs += start
    callers.push((await ledger.tenant()).sandbox)
    for (const caller of callers) {
      assert.deepEqual(await store.authenticate(hashApiKey(caller.keyId)), caller)
    }
    await store.close()
  }
})

interface Refusal {
  readonly name: string
  /** Creates the file that must be refused. */
  readonly prepare: (path: string) => void
  readonly message: (path: string) => string | RegExp
}

const foreign = (path: string) =>
  `${path} is a database of another program, and was left untouched; name another file with PURSER_DATABASE=sqlite:/path/purser.db`
const damaged = (path: string, code: string) =>
  `${path} is damaged or not a SQLite database (${code}), and was left untouched; restore a backup with purser restore, or name another file with PURSER_DATABASE=sqlite:/path/purser.db`

const refusals: readonly Refusal[] = [
  {
    name: 'a database of another program, marked as its own',
    prepare: (path) => byHand(path, 'create table notes (text); pragma application_id = 1234'),
    message: foreign,
  },
  {
    name: 'a database of another program without a mark',
    prepare: (path) => byHand(path, "create table notes (text); insert into notes values ('keep me')"),
    message: foreign,
  },
  {
    name: 'an empty database that another program marked as its own',
    prepare: (path) => byHand(path, 'pragma application_id = 1234'),
    message: foreign,
  },
  {
    name: 'a database of another program that was killed before its log was written back',
    prepare: (path) => {
      const source = `${path}.source`
      const db = new Database(source)
      db.pragma('journal_mode = wal')
      db.exec("create table notes (text); insert into notes values ('keep me')")
      for (const suffix of ['', '-wal']) copyFileSync(source + suffix, path + suffix)
      db.close()
      rmSync(source)
    },
    message: foreign,
  },
  {
    name: 'a file that is not a database',
    prepare: (path) => writeFileSync(path, 'My diary, and not a database at all. '.repeat(100)),
    message: (path) => damaged(path, 'SQLITE_NOTADB'),
  },
  {
    name: 'a truncated store',
    prepare: (path) => {
      openSqliteFile(path).close()
      truncateSync(path, Math.floor(statSync(path).size / 2 / 4096) * 4096)
    },
    message: (path) => damaged(path, 'SQLITE_CORRUPT'),
  },
  {
    name: 'a store whose first page was overwritten',
    prepare: (path) => {
      openSqliteFile(path).close()
      const bytes = readFileSync(path)
      bytes.fill(0xab, 100, 4096)
      writeFileSync(path, bytes)
    },
    message: (path) => damaged(path, 'SQLITE_CORRUPT'),
  },
  {
    name: 'a store of a newer release',
    prepare: (path) => {
      openSqliteFile(path).close()
      byHand(path, `pragma user_version = ${ledgerSteps.length + 41}`)
    },
    message: (path) =>
      `${path} was written by a newer Purser (schema ${ledgerSteps.length + 41}, this release supports ${ledgerSteps.length}); start that release or a later one`,
  },
]
for (const { name, prepare, message } of refusals) {
  test(`The start is refused for ${name}, which stays unchanged byte for byte`, (context) => {
    const path = pathFor(context)
    prepare(path)
    const files = [path, `${path}-wal`].filter((file) => existsSync(file))
    const before = files.map((file) => readFileSync(file))
    // The second attempt shows that the first released the lock.
    for (let attempt = 0; attempt < 2; attempt++) {
      assert.throws(() => openSqliteFile(path), { name: 'StoreOpenError', message: message(path) })
      assert.deepEqual(
        files.map((file) => (existsSync(file) ? readFileSync(file) : undefined)),
        before,
      )
    }
  })
}

test('An empty file counts as a new store', (context) => {
  const path = pathFor(context)
  writeFileSync(path, '')
  openSqliteFile(path).close()
})

test('A folder that cannot be created is named, with a remedy', (context) => {
  const file = join(folderFor(context), 'a-file')
  writeFileSync(file, '')
  assert.throws(() => openSqliteFile(join(file, 'purser.db')), {
    name: 'StoreOpenError',
    message: `The folder ${file} cannot be created (EEXIST); choose a location that this user can write to, with PURSER_DATABASE=sqlite:/path/purser.db`,
  })
  assert.throws(() => openSqliteFile(join(file, 'below', 'purser.db')), {
    name: 'StoreOpenError',
    message: `The folder ${join(file, 'below')} cannot be created (ENOTDIR); choose a location that this user can write to, with PURSER_DATABASE=sqlite:/path/purser.db`,
  })
})

test('A folder in place of the file is named, with a remedy', (context) => {
  const path = pathFor(context)
  mkdirSync(path)
  assert.throws(() => openSqliteFile(path), {
    name: 'StoreOpenError',
    message: `${path} is a folder; name a file in it, as in PURSER_DATABASE=sqlite:${path}/purser.db`,
  })
  // Nothing is left beside it.
  assert.equal(existsSync(`${path}.lock`), false)
})

test('A file or lock that cannot be written is named, with a remedy', (context) => {
  const path = pathFor(context)
  const locked = `${path}2`
  mkdirSync(`${locked}.lock`)
  assert.throws(() => openSqliteFile(locked), {
    name: 'StoreOpenError',
    message: `${locked}.lock cannot be written (SQLITE_CANTOPEN); ${writableRemedy}`,
  })
  assert.equal(existsSync(locked), false)
})

/** Opens the store in another process and writes to it; returns its output: success, or the error. */
function openInChild(context: TestContext, path: string): { child: ChildProcess; said: Promise<string> } {
  const script = `
    import { openSqliteLedgerStore } from ${JSON.stringify(new URL('sqlite-ledger-store.ts', import.meta.url).href)}
    try {
      const store = openSqliteLedgerStore({ path: ${JSON.stringify(path)} })
      const id = ${JSON.stringify(createIdsOfTimes()('account', 1))}
      const account = { id, name: 'n', email: 'e', idpUserId: 'i', createdAtMs: 1, disabledAtMs: null }
      await store.createAccount(account, [], [])
      process.stdout.write('opened')
      setInterval(() => undefined, 60_000)
    } catch (error) {
      process.stdout.write(error.name + ': ' + error.message)
    }`
  // Threads cannot start in a process whose program is passed as a flag.
  const program = `${path}.program.mjs`
  writeFileSync(program, script)
  const child = spawn(process.execPath, [program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  context.after(() => child.kill('SIGKILL'))
  return { child, said: once(child.stdout, 'data').then(([text]) => String(text)) }
}

function inUse(path: string): string {
  return `Another Purser process is using ${path}; stop it first`
}

function byHand(path: string, statements: string): void {
  const db = new Database(path)
  db.exec(statements)
  db.close()
}

function pathFor(context: TestContext): string {
  return join(folderFor(context), 'purser.db')
}

function folderFor(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

test('A failing schema step is named with its cause, and changes nothing', (context) => {
  const path = join(folderFor(context), 'purser.db')
  const { database, close } = openSqliteFile(path)
  // The file claims one step fewer than it has: the last step then finds its columns already there.
  database.pragma(`user_version = ${ledgerSteps.length - 1}`)
  close()
  assert.throws(() => openSqliteFile(path), {
    name: 'StoreOpenError',
    message: new RegExp(
      `^Step ${ledgerSteps.length} of the schema failed on .*purser\\.db \\(.+\\), and nothing was changed; start the earlier release again`,
    ),
  })
  const after = new Database(path, { readonly: true })
  assert.equal(after.pragma('user_version', { simple: true }), ledgerSteps.length - 1)
  after.close()
})

for (const [change, found] of [
  ['alter table refusals drop column count', 'its table refusals is different'],
  ['alter table refusals add column weight integer', 'its table refusals is different'],
  ['alter table mandates rename column purpose to aim', 'its table mandates is different'],
  ['drop table refusals', 'it lacks the table refusals'],
  ['drop view whole_mandates', 'it lacks the view whole_mandates'],
  [
    'drop table refusals; create table refusals (account_id, environment, subject, reason, starts_at_ms, count, added_by)',
    'its table refusals is different',
  ],
] as const) {
  test(`A file of this schema version is left untouched after: ${change}`, (context) => {
    const path = pathFor(context)
    openSqliteFile(path).close()
    byHand(path, change)
    const bytes = readFileSync(path)
    assert.throws(() => openSqliteFile(path), {
      name: 'StoreOpenError',
      message: `${path} says that it has schema ${ledgerSteps.length}, but ${found}: an unreleased build of Purser has written it, and it was left untouched; start that build, restore a backup with purser restore, or name another file for a new ledger with PURSER_DATABASE=sqlite:/path/other.db`,
    })
    assert.deepEqual(readFileSync(path), bytes)
  })
}

test('A file may also have tables, indexes and statistics that its owner added', (context) => {
  const path = pathFor(context)
  openSqliteFile(path).close()
  byHand(path, 'create table notes (text); create index of_owner on accounts (email); analyze')
  openSqliteFile(path).close()
})

test('A disk that is full at the start is named, so that nobody starts an empty ledger elsewhere', () => {
  for (const code of ['SQLITE_FULL', 'SQLITE_IOERR_SHMSIZE']) {
    const explained = explainOpenFailure(Object.assign(new Error('disk'), { code }), '/data/purser.db')
    assert.match(String(explained), /not enough disk space for \/data\/purser\.db .*; free some space/)
  }
})

import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'

import Database from 'better-sqlite3'

import { testCommand } from '../../../packages/cli/testing/command.ts'
import { damagePages } from '../../testing/ledgers/damaged-file.ts'
import { askForProof, preparePurchase, startTestService } from '../../testing/service.ts'
import { examine, type Finding } from './examine.ts'
import { hashApiKey } from '../domain/api-key.ts'
import { createIdsOfTimes } from '../ids.ts'
import { openSqliteLedgerStore } from '../store/ledger/sqlite/sqlite-ledger-store.ts'

const goodSecret = 'a81f5c3e97d24b60a81f5c3e97d24b60'
const chosenKey = `svc_sand_${goodSecret}9f`
/** A ledger without records, as a file. */
const emptyLedger = makeEmptyLedger()

test('In a folder with a private ledger, doctor finds no problems', async (context) => {
  const { findings } = await ledgerIn(context)
  assert.deepEqual(
    (await findings()).map(({ mark, subject }) => [mark, subject]),
    [
      ['ok', 'node'],
      ['ok', 'ledger'],
      ['ok', 'files'],
      ['ok', 'disk'],
      ['ok', 'secret'],
    ],
  )
})

interface Trouble {
  readonly name: string
  readonly cause: (folder: string) => void
  readonly environment?: Record<string, string>
  readonly mark: Finding['mark']
  readonly finding: RegExp
}

const troubles: readonly Trouble[] = [
  {
    name: 'no ledger yet',
    cause: () => undefined,
    environment: { PURSER_DATABASE: 'sqlite:other/new.db' },
    mark: 'warn',
    finding: /new\.db holds no ledger yet; purser serve makes it/,
  },
  {
    name: 'a folder that is a link to a missing disk',
    cause: (folder) => symlinkSync(join(folder, 'missing'), join(folder, 'disk')),
    environment: { PURSER_DATABASE: 'sqlite:disk/purser/purser.db' },
    mark: 'fail',
    finding:
      /disk is a symbolic link to .*missing, which does not exist; restore what it leads to, or remove /,
  },
  {
    name: 'a ledger of a newer release',
    cause: (folder) => {
      const database = new Database(join(folder, 'data/purser.db'))
      database.exec('pragma user_version = 99')
      database.close()
    },
    mark: 'fail',
    finding: /was written by a newer Purser/,
  },
  {
    name: 'a folder in place of the ledger',
    cause: (folder) => {
      mkdirSync(join(folder, 'open'))
      chmodSync(folder, 0o755)
    },
    environment: { PURSER_DATABASE: 'sqlite:open' },
    mark: 'fail',
    finding: /open is a folder; name a file in it, as in PURSER_DATABASE=sqlite:.*open\/purser\.db$/,
  },
  {
    name: 'a file of another program',
    cause: (folder) => writeFileSync(join(folder, 'data/purser.db'), 'not a database'),
    mark: 'fail',
    finding: /is a database of another program|is damaged/,
  },
  {
    name: 'a ledger with damaged pages',
    cause: (folder) => damagePages(join(folder, 'data/purser.db')),
    mark: 'fail',
    finding:
      /purser\.db is damaged \(.+\), and was left untouched; restore a backup with purser restore, or name/,
  },
  {
    name: 'no PostgreSQL',
    cause: () => undefined,
    environment: { PURSER_DATABASE: 'postgresql://nobody:secret@127.0.0.1:9/purser' },
    mark: 'fail',
    finding: /^No PostgreSQL server answers at postgresql:\/\/nobody@127\.0\.0\.1:9\/purser/,
  },
  {
    name: 'a ledger that others can read',
    cause: (folder) => {
      chmodSync(join(folder, 'data'), 0o755)
      chmodSync(join(folder, 'data/purser.db'), 0o644)
    },
    mark: 'fail',
    finding: /purser\.db can be read by others; run: chmod 600 /,
  },
  {
    name: 'what an interrupted restore has left',
    cause: (folder) => writeFileSync(join(folder, 'data/purser.db.0123abcd.restoring'), '', { mode: 0o600 }),
    mark: 'warn',
    finding: /purser\.db\.0123abcd\.restoring is left from an interrupted restore; delete it/,
  },
  {
    name: 'settings that others can read',
    cause: (folder) => {
      chmodSync(folder, 0o755)
      writeFileSync(join(folder, '.env'), '')
      chmodSync(join(folder, '.env'), 0o644)
    },
    mark: 'fail',
    finding: /\.env can be read by others/,
  },
  {
    name: 'a guessable proof secret',
    cause: () => undefined,
    environment: {
      PURSER_PROOF_SECRET: `${goodSecret},${'secret'.repeat(6)}`,
    },
    mark: 'fail',
    finding: /^PURSER_PROOF_SECRET: secret 2 repeats itself and can be guessed; make one with: openssl/,
  },
  {
    name: 'a damaged proof secret file',
    cause: (folder) => writeFileSync(join(folder, 'data/purser.db.proof-secret'), 'short'),
    mark: 'fail',
    finding: /does not contain a proof secret of this service/,
  },
  {
    name: 'a dropped table',
    cause: (folder) => {
      const database = new Database(join(folder, 'data/purser.db'))
      database.exec('drop table orders')
      database.close()
    },
    mark: 'fail',
    finding: /it lacks the table orders: .*restore a backup with purser restore/,
  },
  {
    name: 'a guessable chosen key',
    cause: () => undefined,
    environment: { PURSER_BOOTSTRAP_SANDBOX_KEY: 'svc_sand_changeme' },
    mark: 'fail',
    finding: /^PURSER_BOOTSTRAP_SANDBOX_KEY can be guessed; make a good one with: /,
  },
  {
    name: 'a chosen key before the first start',
    cause: () => undefined,
    environment: { PURSER_BOOTSTRAP_SANDBOX_KEY: chosenKey },
    mark: 'warn',
    finding: /^the chosen sandbox key works as long as it is in the settings/,
  },
  {
    name: 'a chosen key that is still in the settings',
    cause: (folder) => addKey(folder, chosenKey),
    environment: { PURSER_BOOTSTRAP_SANDBOX_KEY: chosenKey },
    mark: 'warn',
    finding: /^the chosen sandbox key works as long as it is in the settings/,
  },
  {
    name: 'a chosen key that is not in the ledger',
    cause: (folder) => addKey(folder, `${chosenKey}0`),
    environment: { PURSER_BOOTSTRAP_SANDBOX_KEY: chosenKey },
    mark: 'fail',
    finding:
      /^the chosen sandbox key is not in the ledger, since only a first start creates chosen keys: set the key of the first start, or issue another with purser keys issue --operator and remove the setting$/,
  },
  {
    name: 'a wrong setting',
    cause: () => undefined,
    environment: { PURSER_PORT: 'http' },
    mark: 'fail',
    finding: /^PURSER_PORT must be a whole number/,
  },
  {
    name: 'a misspelled setting',
    cause: () => undefined,
    environment: { [['PURSER', 'DATABSE'].join('_')]: 'sqlite:other.db' },
    mark: 'fail',
    finding: /^PURSER_\w+ is not a setting; did you mean PURSER_DATABASE\?$/,
  },
]
for (const { name, cause, environment, mark, finding } of troubles) {
  test(`doctor detects ${name}, and names the remedy`, async (context) => {
    const { folder, findings } = await ledgerIn(context)
    cause(folder)
    const found = (await findings(environment)).filter((one) => one.mark !== 'ok')
    assert.equal(found.length, 1, JSON.stringify(found))
    assert.equal(found[0]?.mark, mark)
    assert.match(found[0].finding, finding)
  })
}

test('doctor warns once a ledger has issued proofs, and the secret that signed them is gone', async (context) => {
  const service = await startTestService(context)
  const { databasePath } = service
  const find = async () => {
    const environment = { PURSER_DATABASE: `sqlite:${databasePath}` }
    const findings = await examine({ calledAs: 'purser', environment, folder: dirname(databasePath) })
    return findings.filter(({ mark }) => mark !== 'ok')
  }
  assert.deepEqual(await find(), [])
  await askForProof(service, await preparePurchase(service))
  assert.deepEqual(await find(), [
    {
      mark: 'warn',
      subject: 'ledger',
      finding: `${databasePath}.proof-secret is missing and PURSER_PROOF_SECRET is not set, so a start generates a new secret, and proofs issued before it are refused (invalid_signature): put the original file back, or set PURSER_PROOF_SECRET to the secret used before`,
    },
  ])
  writeFileSync(`${databasePath}.proof-secret`, goodSecret.repeat(2), { mode: 0o600 })
  assert.deepEqual(await find(), [])
})

function addKey(folder: string, key: string): void {
  const database = new Database(join(folder, 'data/purser.db'))
  database
    .prepare('insert into key_hashes (secret_hash, account_id, key_id) values (?, ?, ?)')
    .run(hashApiKey(key), Buffer.alloc(16), Buffer.alloc(16))
  database.close()
}

async function ledgerIn(context: TestContext) {
  const { folder } = testCommand(context)
  mkdirSync(join(folder, 'data'), { mode: 0o700 })
  writeFileSync(join(folder, 'data/purser.db'), await emptyLedger, { mode: 0o600 })
  writeFileSync(join(folder, 'data/purser.db.proof-secret'), goodSecret.repeat(2), { mode: 0o600 })
  return { folder, findings: (environment = {}) => examine({ calledAs: 'purser', environment, folder }) }
}

async function makeEmptyLedger(): Promise<Buffer> {
  const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
  const path = join(folder, 'purser.db')
  await openSqliteLedgerStore({ path, nextId: createIdsOfTimes() }).close()
  const ledger = readFileSync(path)
  rmSync(folder, { recursive: true })
  return ledger
}

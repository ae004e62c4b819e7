import assert from 'node:assert/strict'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'

import { proofSecretsOf } from './open-store.ts'
import { loadProofSecret, proofSecretPath } from './proof-secret.ts'
import { StoreOpenError } from '../store/open-error.ts'

const configured = 'a-configured-secret-of-more-than-32-bytes'

test('Without a setting, the secret is generated at first start and stored next to the ledger, mode 0600', (context) => {
  const databasePath = databaseFor(context)
  const secret = loadProofSecret(databasePath)
  assert.match(secret, /^[0-9a-f]{64}$/, '32 random bytes')
  const path = `${databasePath}.proof-secret`
  assert.equal(proofSecretPath(databasePath), path)
  assert.equal(readFileSync(path, 'utf8'), `${secret}\n`)
  assert.equal(statSync(path).mode & 0o777, 0o600)
})

test("Its mode is 0600 even if the process's umask would allow more", (context) => {
  const databasePath = databaseFor(context)
  for (const mask of [0o000, 0o022, 0o077]) {
    const before = process.umask(mask)
    try {
      loadProofSecret(databasePath)
    } finally {
      process.umask(before)
    }
    const path = proofSecretPath(databasePath)
    assert.equal(statSync(path).mode & 0o777, 0o600)
    rmSync(path)
  }
})

test('It is generated once: later starts use the same one', (context) => {
  const databasePath = databaseFor(context)
  const first = loadProofSecret(databasePath)
  const path = proofSecretPath(databasePath)
  const { mtimeNs, ino } = statSync(path, { bigint: true })
  for (let start = 0; start < 3; start++) assert.equal(loadProofSecret(databasePath), first)
  const after = statSync(path, { bigint: true })
  assert.deepEqual([after.mtimeNs, after.ino], [mtimeNs, ino], 'the file is not written again')
})

test('A crash leaves a complete secret or none: a temporary file of an earlier start is ignored', (context) => {
  const databasePath = databaseFor(context)
  const path = proofSecretPath(databasePath)
  writeFileSync(`${path}.new`, 'half a sec')
  const secret = loadProofSecret(databasePath)
  assert.equal(readFileSync(path, 'utf8'), `${secret}\n`)
  assert.deepEqual(readdirSync(dirname(path)), [basename(path)])
})

test('Two ledgers have two secrets', (context) => {
  const first = loadProofSecret(databaseFor(context))
  const second = loadProofSecret(databaseFor(context))
  assert.notEqual(first, second)
})

test('Configured secrets take precedence, in order, and no file is created', async (context) => {
  const path = databaseFor(context)
  const proofSecrets = [configured, `${configured}-2`]
  assert.deepEqual(await proofSecretsOf({ database: { kind: 'sqlite', path }, proofSecrets }), proofSecrets)
  assert.equal(existsSync(proofSecretPath(path)), false)
})

test('Configured secrets take precedence over the stored one, which is not changed', async (context) => {
  const path = databaseFor(context)
  const database = { kind: 'sqlite', path } as const
  const kept = loadProofSecret(path)
  assert.deepEqual(await proofSecretsOf({ database, proofSecrets: [configured] }), [configured])
  assert.deepEqual(await proofSecretsOf({ database, proofSecrets: [] }), [kept])
})

const damages: readonly (readonly [name: string, text: string])[] = [
  ['empty', ''],
  ['blank', ' \n\n'],
  ['cut short', '0123456789abcdef'],
  ['a character short', 'a'.repeat(63)],
]
for (const [name, text] of damages) {
  test(`A stored secret that is ${name} stops the start and is not replaced, because a new one would refuse every proof`, (context) => {
    const databasePath = databaseFor(context)
    const path = proofSecretPath(databasePath)
    writeFileSync(path, text)
    assert.throws(
      () => loadProofSecret(databasePath),
      (error) => {
        assert(error instanceof StoreOpenError)
        assert.equal(
          error.message,
          `${path} does not contain a proof secret of this service; put the original file back, or set PURSER_PROOF_SECRET (proofs signed with another secret are refused)`,
        )
        return true
      },
    )
    assert.equal(readFileSync(path, 'utf8'), text)
  })
}

test('A secret that cannot be read or written stops the start with one sentence', (context) => {
  const unreadable = databaseFor(context)
  mkdirSync(proofSecretPath(unreadable))
  const unwritable = join(databaseFor(context), 'no-such-folder', 'purser.db')
  const rows = [
    [
      unreadable,
      `${unreadable}.proof-secret cannot be read (EISDIR); let this user read it, or set PURSER_PROOF_SECRET`,
    ],
    [
      unwritable,
      `${unwritable}.proof-secret cannot be written (ENOENT); let this user write there, or set PURSER_PROOF_SECRET`,
    ],
  ] as const
  for (const [databasePath, message] of rows) {
    assert.throws(() => loadProofSecret(databasePath), { name: 'StoreOpenError', message })
  }
})

function databaseFor(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'purser.db')
}

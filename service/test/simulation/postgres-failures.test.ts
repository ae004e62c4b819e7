import assert from 'node:assert/strict'
import { test } from 'node:test'

import { OutcomeUnknownError, RolledBackError, RowExistsError } from '../../src/store/ledger/driver.ts'
import { look } from '../../src/store/ledger/operation.ts'
import { explainFailure } from '../../src/store/ledger/postgres/errors.ts'
import { createPostgresDriver } from '../../src/store/ledger/postgres/postgres-driver.ts'
import { identities } from '../../src/store/ledger/tables.ts'
import { openPool } from '../../src/store/ledger/postgres/connection.ts'
import { deliveries, startScriptedPostgres, type Position, type Script } from './scripted-postgres.ts'
import { inTransaction } from '../../testing/transactions.ts'

/** Codes that the server returns only for a transaction that it rolls back. */
const proving = [
  '40001',
  '40P01',
  '55P03',
  '57014',
  '23505',
  '23514',
  '22P02',
  '42703',
  '25006',
  '26000',
  '0A000',
]

/**
 * Codes that a server, or a pooler in front of it, may also return if a COMMIT was interrupted after it took
 * effect.
 */
const open = [
  '08006',
  '08P01',
  '40003',
  '53100',
  '53300',
  '57P01',
  '57P02',
  '57P03',
  '57P05',
  '58000',
  '58030',
  '25P03',
  '25P04',
  'F0000',
  'XX000',
  'XX001',
  '99999',
]

const positions: readonly Position[] = ['begin', 'read', 'write', 'commit']

for (const position of positions) {
  test(`A failure at ${position} says whether the transaction may be committed, for every code and delivery`, async () => {
    for (const delivery of deliveries) {
      const codes = delivery.startsWith('error') ? [...proving, ...open] : ['']
      const all = codes.map((code) => failWith({ position, delivery, code }))
      for (const { script, error, commits } of await Promise.all(all)) {
        const about = JSON.stringify(script)
        assert.ok(error, about)
        const isUnknown = error instanceof OutcomeUnknownError
        if (commits > 0) assert.ok(isUnknown, about)
        const isCommitSent = position === 'write' || position === 'commit'
        const isProof = delivery.startsWith('error') && proving.includes(script.code)
        assert.equal(isUnknown, isCommitSent && !isProof, about)
        assert.equal(error instanceof RowExistsError, script.code === '23505', about)
        const mayPass = /^(08|40|53|57|58|XX|55|25|26|0A)/.test(script.code) || !delivery.startsWith('error')
        assert.equal(error instanceof RolledBackError, !isUnknown && mayPass, about)
      }
    }
  })
}

test('No Node error proves a rollback once COMMIT was sent, whatever its name looks like', () => {
  for (const code of [
    'EPIPE',
    'E2BIG',
    'EBUSY',
    'EPERM',
    'EROFS',
    'ECONNRESET',
    'ETIMEDOUT',
    '40001',
    '23505',
  ]) {
    const error = Object.assign(new Error(code), { code })
    assert.ok(explainFailure(error, { isCommitSent: true }) instanceof OutcomeUnknownError, code)
  }
})

test('An unreachable server has done nothing', async () => {
  const { url, close } = await startScriptedPostgres({ position: 'begin', delivery: 'end', code: '' })
  close()
  const pool = openPool(url, { max: 1 })
  await assert.rejects(
    inTransaction(createPostgresDriver(pool), ({ commit }) => commit([])),
    RolledBackError,
  )
  await pool.end()
})

/** The error of a transaction that reads a row and adds it. */
async function failWith(script: Script) {
  const server = await startScriptedPostgres(script)
  const pool = openPool(server.url, { max: 1 })
  const row = { idpUserId: 'user', accountId: 'acct_01h455vb4pex5vsknk084sn02q' }
  const work = inTransaction(
    createPostgresDriver(pool),
    async (transaction) => {
      await transaction.read([look(identities, row)], { waitsForLocks: false })
      await transaction.commit([{ table: identities, before: undefined, now: row }])
    },
    // Only a server that stays silent is waited for in vain.
    { patienceMs: script.delivery.startsWith('error') ? 5_000 : 100 },
  )
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  const commits = server.commits()
  server.close()
  await pool.end()
  return { script, error, commits }
}

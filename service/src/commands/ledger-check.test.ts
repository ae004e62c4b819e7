import assert from 'node:assert/strict'
import { chownSync, readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { test, type TestContext } from 'node:test'

import Database from 'better-sqlite3'

import { testCommand } from '../../../packages/cli/testing/command.ts'
import { damageRoot } from '../../testing/ledgers/damaged-file.ts'
import { postgres18, postgresServers } from '../../testing/postgres.ts'
import { withClient } from '../store/ledger/postgres/connection.ts'
import {
  askForProof,
  issueProof,
  preparePurchase,
  startTestService,
  verifyProof,
  type TestService,
} from '../../testing/service.ts'

test('ledger check checks a ledger while the service runs', async (context) => {
  const service = await startTestService(context)
  await payAndHold(service)
  const { purser } = testCommand(context, { PURSER_DATABASE: `sqlite:${service.databasePath}` })
  const { code, output, errors } = await purser('ledger', 'check')
  assert.deepEqual([code, errors], [0, ''])
  assert.equal(
    output,
    [
      `Ledger    ${service.databasePath}`,
      'Mandates  1',
      'Payments  1',
      'Spent     4.00 USDC',
      'Held      1.50 USDC',
      'Every sum agrees with its records.',
    ].join('\n'),
  )
  assert.equal(
    (await askForProof(service, await preparePurchase(service))).status,
    201,
    'the service keeps running',
  )
})

test('ledger check uses a consistent snapshot while payments are written', async (context) => {
  const service = await startTestService(context)
  const purchase = await preparePurchase(service)
  const { purser } = testCommand(context, { PURSER_DATABASE: `sqlite:${service.databasePath}` })
  const checking = new AbortController()
  const paying = Array.from({ length: 4 }, async () => {
    while (!checking.signal.aborted) await verifyProof(service, await issueProof(service, purchase, '0.01'))
  })
  try {
    for (let look = 0; look < 10; look++) {
      const { code, output } = await purser('ledger', 'check', '--json')
      assert.equal(code, 0, output)
    }
  } finally {
    checking.abort()
    await Promise.all(paying)
  }
})

test('ledger check lists inconsistencies, with exit code 1', async (context) => {
  const service = await startTestService(context)
  const { mandateId } = await payAndHold(service)
  await service.stop()
  const database = new Database(service.databasePath)
  database.exec('update mandates_sums set spent_micro = spent_micro + 1')
  database.close()
  const { purser } = testCommand(context)
  const words = await purser('ledger', 'check', '--database', `sqlite:${service.databasePath}`)
  assert.equal(words.code, 1)
  assert.match(words.output, new RegExp(`^  ${mandateId}: spent differs from the sum`, 'm'))
  const { code, output } = await purser(
    'ledger',
    'check',
    '--json',
    '--database',
    `sqlite:${service.databasePath}`,
  )
  assert.equal(code, 1)
  const { agrees, spent, faults } = JSON.parse(output) as Record<string, unknown>
  assert.deepEqual([agrees, spent], [false, '4.000001'])
  assert.deepEqual(
    (faults as { subject_id: string }[]).map(({ subject_id }) => subject_id),
    [mandateId],
  )
})

for (const part of ['mandates_by_agent_id_id', 'key_uses']) {
  test(`ledger check and backup refuse a file with a damaged page of ${part}, which no sum is read from`, async (context) => {
    const service = await startTestService(context)
    await payAndHold(service)
    await service.stop()
    damageRoot(service.databasePath, part)
    const { folder, purser } = testCommand(context, { PURSER_DATABASE: `sqlite:${service.databasePath}` })
    const checked = await purser('ledger', 'check')
    assert.deepEqual([checked.code, checked.output], [1, ''])
    assert.match(
      checked.errors,
      /purser\.db is damaged \(.+\), and was left untouched; restore a backup with/,
    )
    const backedUp = await purser('backup', 'backup.db')
    assert.deepEqual([backedUp.code, backedUp.output], [1, ''])
    assert.match(backedUp.errors, /purser\.db is damaged \(.+\) and cannot be copied; keep the file, and/)
    assert.deepEqual(readdirSync(folder), [])
  })
}

for (const kind of ['SQLite', 'PostgreSQL']) {
  test(`ledger check on ${kind} names the table of malformed JSON, and what to do`, async (context) => {
    const server = kind === 'SQLite' ? undefined : await databaseSettings(context)
    const service = await startTestService(context, server)
    await payAndHold(service)
    await service.stop()
    const statement = `update mandates set budget_path = '["budget_'`
    if (server) await withClient(server.PURSER_DATABASE, (client) => client.query(statement))
    else new Database(service.databasePath).exec(statement).close()
    const { purser } = testCommand(context, { PURSER_DATABASE: `sqlite:${service.databasePath}`, ...server })
    const { code, output, errors } = await purser('ledger', 'check')
    assert.deepEqual([code, output], [1, ''])
    assert.match(
      errors,
      /^purser ledger check: .+ is damaged: a row of the table mandates contains malformed JSON; stop what pays, keep it as it is, and restore a backup that passes purser ledger check\.$/,
    )
  })
}

test('ledger check creates no ledger, and runs no migration', async (context) => {
  const { folder, purser, purserWith } = testCommand(context)
  const { code, errors } = await purser('ledger', 'check')
  assert.equal(code, 1)
  assert.match(errors, /^purser ledger check: There is no ledger at .*data\/purser\.db; set its file/)
  assert.deepEqual(readdirSync(folder), [])
  assert.equal((await purser('migrate', 'up')).code, 0)
  const path = `${folder}/data/purser.db`
  const database = new Database(path)
  database.exec('pragma user_version = 0')
  database.close()
  assert.match(
    (await purser('ledger', 'check')).errors,
    /has schema 0, and this release checks schema \d+; upgrade it first, with purser migrate up/,
  )
  const called = await purserWith({ calledAs: 'npx purser' }, 'ledger', 'check')
  assert.match(called.errors, /upgrade it first, with npx purser migrate up\.$/)
})

test("ledger check refuses another user's file, and creates nothing next to it", async (context) => {
  if (process.getuid?.() !== 0) return context.skip('only root can give a file away')
  const service = await startTestService(context)
  await service.stop()
  chownSync(service.databasePath, 12_345, 12_345)
  const before = readdirSync(dirname(service.databasePath))
  const { purser } = testCommand(context, { PURSER_DATABASE: `sqlite:${service.databasePath}` })
  const { code, errors } = await purser('ledger', 'check')
  assert.equal(code, 1)
  assert.match(errors, /belongs to user 12345, .* run this as that user, with sudo -u/)
  assert.deepEqual(readdirSync(dirname(service.databasePath)), before)
})

test('ledger check checks a PostgreSQL ledger while the service runs', async (context) => {
  const settings = await databaseSettings(context)
  const { purser } = testCommand(context, settings)
  assert.match((await purser('ledger', 'check')).errors, /has schema 0/)
  const service = await startTestService(context, settings)
  await payAndHold(service)
  const { code, output } = await purser('ledger', 'check', '--json')
  assert.equal(code, 0)
  const { ledger, ...sums } = JSON.parse(output) as Record<string, unknown>
  assert.deepEqual(sums, { mandates: 1, payments: 1, spent: '4.00', held: '1.50', agrees: true, faults: [] })
  assert.doesNotMatch(String(ledger), new RegExp(new URL(settings.PURSER_DATABASE).password))
  await service.stop()
})

for (const server of postgresServers.filter(({ isDistributed }) => isDistributed)) {
  test(
    `ledger check checks a ledger on ${server.name}`,
    { skip: server.missing ?? false },
    async (context) => {
      const database = await server.createDatabase()
      context.after(() => database.drop())
      const settings = { PURSER_DATABASE: database.url, PURSER_WORKERS: '1' }
      const { purser } = testCommand(context, settings)
      const service = await startTestService(context, settings)
      await payAndHold(service)
      const { code, output } = await purser('ledger', 'check', '--json')
      assert.equal(code, 0, output)
      const { ledger: _ledger, ...sums } = JSON.parse(output) as Record<string, unknown>
      const counts = { mandates: 1, payments: 1, spent: '4.00', held: '1.50' }
      assert.deepEqual(sums, { ...counts, agrees: true, faults: [] })
      await service.stop()
    },
  )
}

for (const kind of ['SQLite', 'PostgreSQL']) {
  test(`ledger check on ${kind} adds up sums that exceed 63 bits`, async (context) => {
    const settings = kind === 'SQLite' ? {} : await databaseSettings(context)
    const service = await startTestService(context, settings)
    const most = '999999999999.999999'
    const budget = { max_spend_total: most, max_spend_per_transaction: most }
    for (let mandates = 0; mandates < 10; mandates++) {
      const paid = await preparePurchase(service, budget)
      const charge = await verifyProof(service, await issueProof(service, paid, most))
      assert.equal(charge.status, 200, charge.text)
      await issueProof(service, await preparePurchase(service, budget), most)
    }
    const { purser } = testCommand(context, {
      PURSER_DATABASE: `sqlite:${service.databasePath}`,
      ...settings,
    })
    const { code, output, errors } = await purser('ledger', 'check', '--json')
    assert.equal(code, 0, errors)
    const { spent, held } = JSON.parse(output) as Record<string, unknown>
    assert.deepEqual([spent, held], ['9999999999999.99999', '9999999999999.99999'])
  })
}

async function databaseSettings(context: TestContext) {
  const database = await postgres18.createEmptyDatabase()
  context.after(() => database.drop())
  return { PURSER_DATABASE: database.url, PURSER_WORKERS: '1' }
}

/** A mandate with 4.00 spent and 1.50 held. */
async function payAndHold(service: TestService) {
  const purchase = await preparePurchase(service)
  const paid = await verifyProof(service, await issueProof(service, purchase, '4.00'))
  assert.equal(paid.status, 200, paid.text)
  await issueProof(service, purchase, '1.50')
  return purchase
}

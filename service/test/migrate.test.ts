import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'

import type { Proof } from '@purser/wire/payments'

import { labelOf, makePurchase, openLoadClient } from '../testing/load.ts'
import { postgres18 } from '../testing/postgres.ts'
import { makeFolder, runProcess, startProcess } from './process.ts'

test('After the copy the same keys work, an open proof can be verified, and an earlier payment is known', async (context) => {
  const folder = makeFolder(context)
  const database = await postgres18.createEmptyDatabase()
  context.after(() => database.drop())

  const embedded = await startProcess(context, { folder })
  const [, key = ''] = await embedded.sees(/PURSER_SANDBOX_KEY=(\S+)/)
  const before = openLoadClient(embedded.url, key, 1)
  context.after(before.close)
  const purchase = await makePurchase(before)
  const [paid, open] = [await before.askForProof(purchase), await before.askForProof(purchase)].map(
    ({ body }) => body.proof as Proof,
  ) as [Proof, Proof]
  const first = await before.verify(paid, { idempotencyKey: 'once' })
  assert.equal(labelOf(first), '200 ok')
  assert.equal((await embedded.kill('SIGTERM')).code, 0)

  const from = `sqlite:${join(folder, 'data/purser.db')}`
  const words = ['migrate', 'copy', '--from', from, '--to', database.url]
  const copied = await runProcess(context, { folder, program: 'purser.ts', flags: words })
  assert.equal(copied.code, 0, copied.stderr)

  const settings = { PURSER_DATABASE: database.url, PURSER_WORKERS: '1', PURSER_LOG_LEVEL: 'warn' }
  const grown = await startProcess(context, { folder, program: 'purser.ts', flags: ['serve'], settings })
  const after = openLoadClient(grown.url, key, 1)
  context.after(after.close)
  assert.doesNotMatch(grown.stdout(), /operator keys/)
  assert.equal(labelOf(await after.verify(open)), '200 ok')
  const again = await after.verify(paid, { idempotencyKey: 'once' })
  assert.deepEqual([again.text, again.headers['idempotent-replayed']], [first.text, 'true'])
  assert.equal(labelOf(await after.verify(paid)), '402 nonce_reused')
  const mandate = await after.send('GET', `/mandates/${purchase.mandateId}`)
  assert.deepEqual([mandate.body.spent_total, mandate.body.held_total], ['2.00', '0.00'])
  const { code, stderr } = await grown.kill('SIGTERM')
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
})

test('purser serve reports a wrong setting with exit code 2, and npm start with 1', async (context) => {
  const folder = makeFolder(context)
  const settings = { PURSER_WORKERS: '2' }
  const fault =
    /^Purser cannot start:\n {2}- PURSER_WORKERS must be 1 with SQLite: one process writes the file\n/
  const served = await runProcess(context, { folder, settings, program: 'purser.ts', flags: ['serve'] })
  assert.equal(served.code, 2)
  assert.match(served.stderr, fault)
  const started = await runProcess(context, { folder, settings })
  assert.equal(started.code, 1)
  assert.match(started.stderr, fault)
})

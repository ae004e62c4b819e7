import assert from 'node:assert/strict'
import {
  copyFileSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { test } from 'node:test'

import { testCommand } from '../../packages/cli/testing/command.ts'
import { makePurchase, openLoadClient } from '../testing/load.ts'
import { makeFolder, runProcess, startProcess } from './process.ts'

const key = 'svc_sand_chosen-for-this-test'
const settings = {
  PURSER_BOOTSTRAP_SANDBOX_KEY: key,
  PURSER_BOOTSTRAP_PRODUCTION_KEY: 'svc_prod_chosen-for-this-test',
  PURSER_LOG_LEVEL: 'silent',
}

test('A disk that fails a sync ends the service, which says why; after a restart it knows what was charged', async (context) => {
  const folder = makeFolder(context)
  const broken = join(folder, 'broken')
  const preload = join(folder, 'disk.mjs')
  writeFileSync(preload, diskThatFails(broken))
  const first = await startProcess(context, {
    folder,
    settings: { ...settings, NODE_OPTIONS: `--import=${pathToFileURL(preload).href}` },
  })
  const client = openLoadClient(first.url, key, 2)
  const purchase = await makePurchase(client)
  const proof = (await client.askForProof(purchase)).body.proof
  writeFileSync(broken, '')
  const verification = await client.verify(proof, { idempotencyKey: 'order-1' })
  assert.equal(verification.status, 503)
  client.close()
  const { code, stderr } = await first.ended
  assert.equal(code, 1)
  assert.match(
    stderr,
    /^Purser exits: the ledger can no longer be written \(EIO: the disk is broken\)\. A restart/m,
  )

  const second = await startProcess(context, { folder, settings })
  const again = openLoadClient(second.url, key, 2)
  const retry = await again.verify(proof, { idempotencyKey: 'order-1' })
  assert.equal(retry.body.verified, true, 'charged once by one of the two')
  const mandate = await again.send('GET', `/mandates/${purchase.mandateId}`)
  assert.equal(mandate.body.spent_total, '1.00')
  again.close()
  await second.kill('SIGTERM')
})

test('A service whose folder is removed while it runs ends, and says why', async (context) => {
  const folder = makeFolder(context)
  const service = await startProcess(context, { folder, settings })
  rmSync(join(folder, 'data'), { recursive: true })
  const { code, stderr } = await service.ended
  assert.equal(code, 1)
  assert.match(
    stderr,
    /^Purser exits: the ledger can no longer be written \(.*purser\.db was moved, overwritten, replaced or removed while the service ran: put .*purser\.db and its -wal file back, or restore a backup with purser restore\)\. A restart/m,
  )
})

test('No service starts without the ledger of a log, and nothing is lost if the ledger is put back', async (context) => {
  const folder = makeFolder(context)
  const first = await startProcess(context, { folder, settings })
  const client = openLoadClient(first.url, key, 2)
  const purchase = await makePurchase(client)
  assert.equal((await client.verify((await client.askForProof(purchase)).body.proof)).status, 200)
  client.close()
  const path = join(folder, 'data/purser.db')
  renameSync(path, join(folder, 'moved.db'))
  assert.equal((await first.ended).code, 1)

  const says = `${path} is missing or empty, but its log ${path}-wal is there; put the ledger back, restore a backup with`
  const { purser } = testCommand(context, { PURSER_DATABASE: `sqlite:${path}` })
  for (const command of ['doctor', 'migrate up']) {
    const { code, output, errors } = await purser(...command.split(' '))
    assert.ok(code === 1 && `${output}${errors}`.includes(says), `${command}: ${output}${errors}`)
  }
  const refused = await runProcess(context, { folder, settings })
  assert.ok(refused.code === 1 && refused.stderr.includes(says), refused.stderr)
  renameSync(join(folder, 'moved.db'), path)
  const second = await startProcess(context, { folder, settings })
  const again = openLoadClient(second.url, key, 2)
  const mandate = await again.send('GET', `/mandates/${purchase.mandateId}`)
  assert.equal(mandate.body.spent_total, '1.00')
  again.close()
})

for (const [what, overwrite] of [
  ['a backup', (folder: string) => copyFileSync(join(folder, 'backup.db'), join(folder, 'data/purser.db'))],
  ['a shorter file', (folder: string) => truncateSync(join(folder, 'data/purser.db'), 8_192)],
] as const) {
  test(`A service whose ledger is overwritten with ${what} while it runs ends, and says why`, async (context) => {
    const folder = makeFolder(context)
    const { purser } = testCommand(context, { PURSER_DATABASE: `sqlite:${join(folder, 'data/purser.db')}` })
    await purser('migrate', 'up')
    assert.equal((await purser('backup', join(folder, 'backup.db'))).code, 0)
    const service = await startProcess(context, { folder, settings })
    overwrite(folder)
    const { code, stderr } = await service.ended
    assert.equal(code, 1)
    assert.match(
      stderr,
      /^Purser exits: the ledger can no longer be written \(.*purser\.db was moved, overwritten, /m,
    )
  })
}

test('A backup that is copied over a running ledger is not changed, and no service starts on it', async (context) => {
  const folder = makeFolder(context)
  const path = join(folder, 'data/purser.db')
  const { purser } = testCommand(context, { PURSER_DATABASE: `sqlite:${path}` })
  const service = await startProcess(context, { folder, settings })
  const backup = join(folder, 'backup.db')
  assert.equal((await purser('backup', backup)).code, 0)
  const client = openLoadClient(service.url, key, 2)
  await makePurchase(client)
  copyFileSync(backup, path)
  assert.equal((await service.ended).code, 1)
  client.close()
  assert.ok(readFileSync(path).equals(readFileSync(backup)))

  const says = `${path} is a backup, which lacks later payments, revocations and stops`
  for (const command of ['doctor', 'migrate up', 'migrate status', 'backup again.db']) {
    const { code, output, errors } = await purser(...command.split(' '))
    assert.ok(code === 1 && `${output}${errors}`.includes(says), `${command}: ${output}${errors}`)
  }
  const refused = await runProcess(context, { folder, settings })
  assert.ok(refused.code === 1 && refused.stderr.includes(says), refused.stderr)
  assert.ok(readFileSync(path).equals(readFileSync(backup)))
  const mixed = await purser('restore', path)
  assert.equal(mixed.code, 1)
  assert.match(
    mixed.errors,
    /is a backup, and .*-wal is the log of another ledger; copy the backup to another folder/,
  )
  const restored = await purser('restore', backup)
  assert.equal(restored.code, 0, restored.errors)
  assert.match(restored.output, /These keys work; revoke again those that were revoked since the backup/)
  assert.ok(readdirSync(join(folder, 'data')).some((name) => /\.before-restore-\w+-wal$/.test(name)))
})

/** Node's syncs, which fail as soon as a file exists. */
function diskThatFails(whenThere: string): string {
  return `
    import fs from 'node:fs'
    import { syncBuiltinESMExports } from 'node:module'
    const { fdatasync, fdatasyncSync } = fs
    const isBroken = () => fs.existsSync(${JSON.stringify(whenThere)})
    const fault = () => new Error('EIO: the disk is broken')
    fs.fdatasync = (file, done) => (isBroken() ? setImmediate(done, fault()) : fdatasync(file, done))
    fs.fdatasyncSync = (file) => {
      if (isBroken()) throw fault()
      fdatasyncSync(file)
    }
    syncBuiltinESMExports()`
}

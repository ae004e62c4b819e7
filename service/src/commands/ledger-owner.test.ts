import assert from 'node:assert/strict'
import { chmodSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'

import { testCommand } from '../../../packages/cli/testing/command.ts'
import { startService } from '../start/start.ts'
import { readConfig } from '../settings/config.ts'
import { examine } from './examine.ts'

const nobody = 65_534

for (const words of ['migrate status', 'migrate up', 'ledger check', 'backup copy.db']) {
  test(`purser ${words} in a folder of another user says whose command it is`, async (context) => {
    const { folder, purser } = await privateLedger(context)
    if (process.getuid?.() !== 0) return context.skip('only root can act as another user')
    const { code, output, errors } = await asNobody(() => purser(...words.split(' ')))
    assert.deepEqual([code, output], [1, ''])
    assert.equal(
      errors,
      `purser ${words.replace(' copy.db', '')}: This user may not read ${join(folder, 'data/purser.db')} (EACCES); run this as the service's user, with sudo -u.`,
    )
    assert.deepEqual(readdirSync(folder), ['data'])
  })
}

test('doctor and a start in a folder of another user say whose command it is', async (context) => {
  const { folder } = await privateLedger(context)
  if (process.getuid?.() !== 0) return context.skip('only root can act as another user')
  const findings = await asNobody(() => examine({ calledAs: 'purser', environment: {}, folder }))
  const message = new RegExp(
    `^This user may not read ${join(folder, 'data/purser.db')} \\(EACCES\\); run this`,
  )
  assert.deepEqual(
    findings.map(({ mark, subject }) => [mark, subject]),
    [
      ['ok', 'node'],
      ['fail', 'ledger'],
      ['ok', 'disk'],
      ['fail', 'secret'],
    ],
  )
  assert.match(findings[1]?.finding ?? '', message)
  const reading = readConfig(['--port', '0'], {}, folder)
  assert('config' in reading)
  await assert.rejects(
    asNobody(() => startService(reading.config)),
    { name: 'StoreOpenError', message },
  )
})

/** A ledger in a folder that only this user can enter, in a folder that everyone can. */
async function privateLedger(context: TestContext) {
  const { folder, purser } = testCommand(context)
  chmodSync(folder, 0o755)
  assert.equal((await purser('migrate', 'up')).code, 0)
  return { folder, purser }
}

async function asNobody<Result>(work: () => Promise<Result>): Promise<Result> {
  process.seteuid?.(nobody)
  try {
    return await work()
  } finally {
    process.seteuid?.(0)
  }
}

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { testCommand } from '../../../packages/cli/testing/command.ts'
import { postgres18 } from '../../testing/postgres.ts'
import { createTenant, startTestService } from '../../testing/service.ts'
import { firstUserId } from '../domain/records.ts'

test("On the ledger's machine, an operator key can be issued when all are lost, and is audited", async (context) => {
  const service = await startTestService(context)
  const { purser, purserWith, environment } = testCommand(context, {
    PURSER_DATABASE: `sqlite:${service.databasePath}`,
  })
  const whileItRuns = await purser('keys', 'issue', '--operator')
  assert.deepEqual([whileItRuns.code, whileItRuns.output], [1, ''])
  assert.match(whileItRuns.errors, /Another Purser process is using .*; stop it first/)

  await service.stop()
  const issued = await purser('keys', 'issue', '--operator', '--environment', 'production', '--json')
  assert.equal(issued.code, 0, issued.errors)
  assert.match(issued.errors, /shown only once/)
  const { key, id, role, account_id: accountId } = JSON.parse(issued.output)
  assert.equal(role, 'operator')

  const again = await startTestService(context, { ...environment })
  const accounts = await again.call('GET', '/accounts', { key })
  assert.deepEqual(
    accounts.body.map((account: Record<string, unknown>) => [account['id'], account['idp_user_id']]),
    [[accountId, firstUserId]],
  )
  const log = await again.call('GET', `/v1/audit-log?subject_id=${id}`, { key })
  assert.deepEqual(
    log.body.map(({ type, actor, data }: Record<string, unknown>) => ({ type, actor, data })),
    [
      {
        type: 'api_key.created',
        actor: 'system',
        data: { role: 'operator', environment: 'production', agent_id: null, label: 'issued on the machine' },
      },
    ],
  )
  await again.stop()
  const unknown = await purser('keys', 'issue', '--operator', '--account', 'acct_unknown')
  assert.deepEqual(
    [unknown.code, unknown.errors],
    [1, 'purser keys issue: there is no account acct_unknown.'],
  )
  const elsewhere = await purserWith({ environment: {} }, 'keys', 'issue', '--operator')
  assert.equal(elsewhere.code, 1)
  assert.match(elsewhere.errors, /there is no ledger at .*; set that of the service with --database/)
  const withoutRole = await purser('keys', 'issue')
  assert.equal(withoutRole.code, 2)
})

test(
  'On PostgreSQL the key is issued while the service runs, and a disabled account is enabled for it',
  { skip: postgres18.missing ?? false },
  async (context) => {
    const { url, drop } = await postgres18.createDatabase()
    const service = await startTestService(context, { PURSER_DATABASE: url, PURSER_WORKERS: '1' })
    context.after(drop)
    const tenant = await createTenant(service)
    assert.equal((await service.call('PATCH', `/accounts/${tenant.accountId}/disable`)).status, 200)
    const { purser } = testCommand(context, { PURSER_DATABASE: url })
    const issued = await purser('keys', 'issue', '--operator', '--account', tenant.accountId, '--json')
    assert.equal(issued.code, 0, issued.errors)
    assert.match(issued.errors, /was disabled and is now enabled/)
    const { key } = JSON.parse(issued.output)
    assert.equal((await service.call('GET', '/accounts', { key })).body.length, 2)
    const log = await service.call('GET', `/v1/audit-log?type=account.enabled`, { key })
    assert.deepEqual(
      log.body.map(({ actor }: { actor: string }) => actor),
      ['system'],
    )
  },
)

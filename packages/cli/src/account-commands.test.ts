import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import { signIn } from '../../../service/testing/console-session.ts'
import { readCsv } from '../../../service/testing/http/read-csv.ts'
import { pay, registerSeller } from '../../../service/testing/purchases.ts'
import { createTenant, preparePurchase, startTestService } from '../../../service/testing/service.ts'
import { testCommand } from '../testing/command.ts'
import { startLossyProxy } from '../testing/pass-on.ts'

const service = await startTestService({ after })

test('An operator lists, shows, disables and enables an account', async (context) => {
  const tenant = await createTenant(service)
  const { purser } = testCommand(context, { PURSER_URL: service.url, PURSER_API_KEY: service.sandboxKey })
  const listed = JSON.parse((await purser('accounts', 'list', '--json')).output)
  assert.deepEqual(
    listed.map(({ name }: { name: string }) => name),
    ['Second', 'First account'],
  )
  assert.match((await purser('accounts', 'show', tenant.accountId)).output, /status +active\n/)
  assert.match((await purser('accounts', 'disable', tenant.accountId)).output, /status +disabled\n/)
  assert.equal((await service.call('GET', '/agents', { key: tenant.sandboxKey })).status, 401)
  assert.match((await purser('accounts', 'enable', tenant.accountId)).output, /status +active\n/)
  assert.equal((await service.call('GET', '/agents', { key: tenant.sandboxKey })).status, 200)
  const own = await purser('accounts', 'disable', listed[1].id)
  assert.equal(own.code, 1)
  assert.match(own.errors, /the account of the key itself/)
})

test("An owner lists and ends the account's sessions; an operator lists and ends another account's sessions and keys", async (context) => {
  const tenant = await createTenant(service, 'idp_sessions')
  const browsers = [await signIn(service, tenant.sandboxKey), await signIn(service, tenant.sandboxKey)]
  const as = (key: string) => testCommand(context, { PURSER_URL: service.url, PURSER_API_KEY: key })
  const owner = as(tenant.sandboxKey)
  const operator = as(service.sandboxKey)
  const [second, first] = JSON.parse((await owner.purser('sessions', 'list', '--json')).output)
  assert.match((await owner.purser('sessions', 'list')).output, /began by/i)
  assert.equal((await owner.purser('sessions', 'end', first.id)).output, `${first.id} has ended.`)
  const account = ['--account', tenant.accountId]
  assert.equal((await operator.purser('sessions', 'end', second.id)).code, 5, 'not of its own account')
  assert.equal((await operator.purser('sessions', 'end', second.id, ...account)).code, 0)
  for (const browser of browsers) assert.equal((await browser.call('GET', '/agents')).status, 401)
  assert.match((await owner.purser('sessions', 'list')).errors, /Nobody is signed in/)

  const keys = JSON.parse((await operator.purser('keys', 'list', ...account, '--json')).output)
  assert.equal(keys.length, 2)
  assert.equal((await operator.purser('keys', 'revoke', keys[0].id, ...account)).code, 0)
})

test('An operator releases the domain of another account', async (context) => {
  const tenant = await createTenant(service, 'idp_seller')
  const as = (key: string) => testCommand(context, { PURSER_URL: service.url, PURSER_API_KEY: key })
  const [operator, owner] = [as(service.sandboxKey), as(tenant.sandboxKey)]
  const shop = ['sellers', 'create', '--name', 'Shop', '--domain', 'shop.example']
  assert.equal((await owner.purser(...shop)).code, 0)
  const taken = await operator.purser(...shop)
  assert.equal(taken.code, 1)
  assert.match(taken.errors, /an operator can release the domain/)
  assert.match((await owner.purser('sellers', 'release', 'shop.example')).errors, /operator/)
  const released = await operator.purser('sellers', 'release', 'shop.example')
  assert.match(
    released.output,
    new RegExp(`domain +shop\\.example\nseller +seller_.*\naccount +${tenant.accountId}`),
  )
  assert.equal((await operator.purser('sellers', 'release', 'shop.example')).code, 5)
  assert.equal((await operator.purser(...shop)).code, 0)
})

test('An owner shows the settlements of a seller, and exports the journal', async (context) => {
  const { purser } = testCommand(context, { PURSER_URL: service.url, PURSER_API_KEY: service.sandboxKey })
  const sellerId = await registerSeller(service)
  const purchase = await preparePurchase(service)
  const settlements = (...more: readonly string[]) => purser('sellers', 'settlements', sellerId, ...more)
  assert.equal((await settlements()).errors, 'Nothing was collected or refunded on these days.')
  const paid = await pay(service, purchase, '1.50')
  const { output } = await settlements()
  assert.match(output, /^2026-11-20 +1 +1\.50 +0 +0\.00 +1\.50 *\ntotal +1 +1\.50/m)
  for (const domain of ['api.example.com', 'API.example.com']) {
    assert.equal((await purser('sellers', 'settlements', domain)).output, output)
  }
  assert.match((await purser('sellers', 'settlements', 'none.example')).errors, /no such record/)
  const earlier = await settlements('--from', '2026-11-01', '--to', '2026-11-19', '--json')
  assert.deepEqual(JSON.parse(earlier.output).days, [])
  assert.equal((await settlements('--from', '2026-11-31')).code, 2)
  const journal = await purser('journal', 'export', '--from', '2026-11-20T00:00:00Z')
  assert.deepEqual(
    readCsv(`${journal.output}\n`).map((line) => [line['transaction_id'], line['account'], line['debit']]),
    [
      [paid, 'expense', '1.50'],
      [paid, 'wallet', ''],
      [paid, 'wallet', '1.50'],
      [paid, 'revenue', ''],
    ],
  )
})

test('An owner advances the clock of the sandbox, and shows it', async (context) => {
  const { sandboxKey } = await createTenant(service, 'idp_clock')
  const { purser } = testCommand(context, { PURSER_URL: service.url, PURSER_API_KEY: sandboxKey })
  const advanced = JSON.parse((await purser('test-clock', 'advance', '36h', '--json')).output)
  assert.deepEqual(advanced, { now: '2026-11-22T00:00:00.000Z', offset_seconds: 129_600 })
  const { output } = await purser('test-clock', 'show')
  assert.match(output, /^now \(utc\) +2026-11-22 00:00.*\nseconds ahead +129600$/)
  for (const wrong of ['tomorrow', '0s', '-1d', '1.5h']) {
    assert.equal((await purser('test-clock', 'advance', wrong)).code, 2, wrong)
  }
})

test('A refund whose answers are lost names the key with which it is made once', async (context) => {
  const purchase = await preparePurchase(service)
  const id = await pay(service, purchase, '4.00')
  const proxy = await startLossyProxy(context, service)
  const { purser } = testCommand(context, { PURSER_URL: proxy.url, PURSER_API_KEY: service.sandboxKey })
  const refund = ['transactions', 'refund', id, '--amount', '1.00']
  const lost = await purser(...refund)
  assert.deepEqual([lost.code, lost.output], [6, ''])
  const key =
    /^It may have been refunded; repeat it with --idempotency-key ([\w-]+), and it is refunded once\.$/m
  const [, named = ''] = key.exec(lost.errors) ?? assert.fail(lost.errors)
  proxy.losesAnswers = false
  const again = await purser(...refund, '--idempotency-key', named)
  assert.equal(again.code, 0, again.errors)
  const refused = await purser('transactions', 'refund', id, '--amount', '9.00')
  assert.doesNotMatch(refused.errors, /may have been/)
  const { body } = await service.call('GET', `/mandates/${purchase.mandateId}`)
  assert.equal(body.spent_total, '3.00')
})

test('A creation whose answer is lost says that the record may exist, unless nothing was reached', async (context) => {
  const proxy = await startLossyProxy(context, service)
  const { purser } = testCommand(context, { PURSER_URL: proxy.url, PURSER_API_KEY: service.sandboxKey })
  const create = ['agents', 'create', '--name', 'once']
  const lost = await purser(...create)
  assert.deepEqual([lost.code, lost.output], [6, ''])
  assert.match(lost.errors, /^It may have been created: see purser agents list before you repeat this\.$/m)
  const { body } = await service.call('GET', '/agents')
  assert.equal(body[0].name, 'once')
  await proxy.close()
  const unreached = await purser(...create)
  assert.deepEqual([unreached.code, /may have been/.test(unreached.errors)], [6, false], unreached.errors)
})

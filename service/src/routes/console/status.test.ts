import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Purser } from '@purser/client'

import { serviceStores, startServiceOn } from '../../../testing/service-stores.ts'
import {
  askForProof,
  createTenant,
  issueKey,
  preparePurchase,
  type TestService,
  startTestService,
} from '../../../testing/service.ts'
import { shareTestService } from '../../../testing/shared-service.ts'

for (const { name, missing, open } of serviceStores) {
  test(
    `On ${name} the status counts the stopped mandates of its account and environment only`,
    { skip: missing ?? false },
    async (context) => {
      const { service } = await startServiceOn(open, context)
      const clientOf = (apiKey: string) => new Purser({ apiKey, baseUrl: service.url })
      const purser = clientOf(service.sandboxKey)
      const others = [service.productionKey, (await createTenant(service)).sandboxKey].map(clientOf)
      await preparePurchase(service)
      assert.equal(await stopped(purser), 0)
      await purser.console.stop()
      assert.equal(await stopped(purser), 1)
      for (const other of others) assert.equal(await stopped(other), 0)
      await purser.console.resume()
      assert.equal(await stopped(purser), 0)
      assert.equal(Date.parse((await purser.console.status()).at), service.clock.nowMs)
      await assert.rejects(clientOf(await issueKey(service, { role: 'merchant' })).console.status(), {
        code: 'insufficient_scope',
      })
    },
  )
}

test('The status counts the approvals that wait for a decision', async (context) => {
  const service = await startTestService(context)
  const clientOf = (apiKey: string) => new Purser({ apiKey, baseUrl: service.url })
  const purser = clientOf(service.sandboxKey)
  const pending = async (one = purser) => (await one.console.status()).pending_approvals
  const purchase = await preparePurchase(service, { approval: { above: '1.00' } })
  const key = await issueKey(service, { role: 'agent', agent_id: purchase.agentId })
  assert.equal(await pending(), 0)
  for (const amount of ['2.00', '3.00', '4.00'])
    assert.equal((await askForProof(service, purchase, amount, { key })).status, 402)
  assert.equal(await pending(), 3)
  for (const other of [service.productionKey, (await createTenant(service)).sandboxKey])
    assert.equal(await pending(clientOf(other)), 0)
  const [last, first] = await purser.approvals.list().toArray({ limit: 3 })
  await purser.approvals.approve(first?.id ?? '')
  await purser.approvals.deny(last?.id ?? '')
  assert.equal(await pending(), 1)
  service.clock.nowMs += 15 * 60_000
  assert.equal(await pending(), 0)
})

test('The status tells how far the test clock of the sandbox is ahead', async (context) => {
  const service = await startTestService(context)
  const statusOf = (apiKey: string) => new Purser({ apiKey, baseUrl: service.url }).console.status()
  assert.equal((await statusOf(service.sandboxKey)).clock_offset_seconds, 0)
  await new Purser({ apiKey: service.sandboxKey, baseUrl: service.url }).testClock.advance(90)
  const { at, clock_offset_seconds: ahead } = await statusOf(service.sandboxKey)
  assert.deepEqual([ahead, Date.parse(at)], [90, service.clock.nowMs + 90_000])
  for (const other of [service.productionKey, (await createTenant(service)).sandboxKey]) {
    assert.equal((await statusOf(other)).clock_offset_seconds, 0)
  }
})

test('Polling the status does not keep a session alive', async () => {
  const service = await shareTestService()
  const cookie = await signIn(service)
  const ask = async () => (await fetch(`${service.url}/v1/console/status`, { headers: { cookie } })).status
  for (let hour = 0; hour < 8; hour++) {
    assert.equal(await ask(), 200, `hour ${hour}`)
    service.clock.nowMs += 3_600_000
  }
  assert.equal(await ask(), 401)
})

async function stopped(purser: Purser): Promise<number> {
  return (await purser.console.status()).stopped_mandates
}

async function signIn(service: TestService): Promise<string> {
  const answer = await service.call('POST', '/v1/console/session', { body: { api_key: service.sandboxKey } })
  assert.equal(answer.status, 201)
  return answer.headers.get('set-cookie')?.split(';')[0] ?? ''
}

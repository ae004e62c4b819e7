import assert from 'node:assert/strict'
import { test } from 'node:test'

import { roles } from '@purser/wire/roles'
import { endpoints } from '@purser/wire/openapi'
import type { Transaction } from '@purser/wire/transactions'

import { sendPlain } from '../../testing/http/plain-http.ts'
import { prepareRoleKeys } from '../../testing/role-keys.ts'
import { askForProof, issueKey, preparePurchase, startTestService } from '../../testing/service.ts'
import { shareTestService } from '../../testing/shared-service.ts'

test('Each role may call the endpoints that list it; any other is 403 insufficient_scope', async (t) => {
  const service = await startTestService(t)
  const { keys } = await prepareRoleKeys(service)
  let refusals = 0
  for (const endpoint of endpoints) {
    for (const role of roles) {
      const { status, text } = await sendPlain(service.url, {
        method: endpoint.method,
        path: endpoint.path.replaceAll(/\{\w+\}/g, 'unknown'),
        headers: { authorization: `Bearer ${keys[role]}`, 'content-type': 'application/json' },
        body: endpoint.body ? '{}' : undefined,
      })
      const isLetIn = endpoint.roles === 'public' || endpoint.roles.includes(role)
      const title = `${role}: ${endpoint.method} ${endpoint.path}`
      if (isLetIn) {
        assert.ok([200, 404, 422, 428].includes(status), `${title} answers ${status} ${text}`)
      } else {
        refusals++
        assert.deepEqual([status, text], [403, '{"detail":"insufficient_scope"}'], title)
      }
    }
  }
  assert.ok(refusals > 20, 'the table has refusals')
})

test('The role is checked before the body: an invalid body with an insufficient role is 403', async () => {
  const service = await shareTestService()
  const { keys } = await prepareRoleKeys(service)
  for (const path of ['/agents', '/mandates', '/sellers', '/accounts']) {
    for (const raw of ['{', 'x'.repeat(70_000)]) {
      const headers = { 'content-type': 'application/json' }
      const { status, body } = await service.call('POST', path, { key: keys.merchant, raw, headers })
      assert.deepEqual([status, body], [403, { detail: 'insufficient_scope' }])
    }
  }
})

test('Proofs are for sandbox keys only: a production key of an allowed role is 400, and nothing is held [auth.3]', async () => {
  const service = await shareTestService()
  const key = service.productionKey
  const purchase = await preparePurchase(service, {}, key)
  const agentKey = { role: 'agent', environment: 'production', agent_id: purchase.agentId }
  for (const production of [
    key,
    await issueKey(service, { role: 'owner', environment: 'production' }, key),
    await issueKey(service, agentKey, key),
  ]) {
    const { status, body } = await askForProof(service, purchase, '1.00', { key: production })
    assert.deepEqual([status, body], [400, { detail: 'production_payments_not_supported' }])
  }
  const merchantKey = await issueKey(service, { role: 'merchant', environment: 'production' }, key)
  const refused = await askForProof(service, purchase, '1.00', { key: merchantKey })
  assert.deepEqual([refused.status, refused.body], [403, { detail: 'insufficient_scope' }])
  const { body } = await service.call('GET', `/mandates/${purchase.mandateId}`, { key })
  assert.equal(body.held_total, '0.00')
})

test('An agent can never act for another agent, nor create or extend a mandate', async () => {
  const service = await shareTestService()
  const { keys, purchase } = await prepareRoleKeys(service)
  const other = await preparePurchase(service)
  const proposal = {
    agent_id: other.agentId,
    mandate_id: other.mandateId,
    merchant_domain: other.merchantDomain,
    amount: '1.00',
    resource_url: other.resourceUrl,
  }
  for (const path of ['/v1/policy/evaluate', '/v1/verify-agent', '/v1/payments/proof']) {
    const { status, body } = await service.call('POST', path, { key: keys.agent, body: proposal })
    assert.deepEqual([status, body], [403, { detail: 'insufficient_scope' }], path)
  }
  const mandate = await service.call('POST', '/mandates', {
    key: keys.agent,
    body: { ...proposal, agent_id: purchase.agentId },
  })
  assert.equal(mandate.status, 403)
  assert.equal((await askForProof(service, purchase, '1.00', { key: keys.agent })).status, 201)
  // Its own agent id with the other's mandate is refused too.
  const mixed = await askForProof(service, { ...purchase, mandateId: other.mandateId }, '1.00', {
    key: keys.agent,
  })
  assert.deepEqual([mixed.status, mixed.body.reason_code], [402, 'mandate_expired'])
  const { body } = await service.call('GET', `/mandates/${other.mandateId}`)
  assert.deepEqual([body.spent_total, body.held_total], ['0.00', '0.00'])
  const transactions = (await service.call('GET', '/v1/transactions')).body as Transaction[]
  assert.deepEqual(
    transactions.map(({ status, agent_id }) => [status, agent_id]),
    [['denied', purchase.agentId]],
  )
})

test('A merchant sees no agents, mandates or audit log, and changes nothing', async () => {
  const service = await shareTestService()
  const { purchase } = await prepareRoleKeys(service)
  const key = await issueKey(service, { role: 'merchant' })
  for (const path of [
    '/agents',
    `/agents/${purchase.agentId}`,
    '/mandates',
    `/mandates/${purchase.mandateId}`,
    '/v1/audit-log',
    '/accounts/api-keys',
  ]) {
    const { status, body } = await service.call('GET', path, { key })
    assert.deepEqual([status, body], [403, { detail: 'insufficient_scope' }], path)
  }
  assert.deepEqual((await service.call('GET', '/v1/transactions', { key })).body, [])
})

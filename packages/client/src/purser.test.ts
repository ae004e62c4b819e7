import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

import { merchantDomain, preparePurchase, startTestService } from '../../../service/testing/service.ts'
import { shareTestService } from '../../../service/testing/shared-service.ts'
import { Purser } from './client.ts'
import { ConflictError } from './errors.ts'

test('A complete purchase runs through the client: account, key, agent, mandate, seller, proof, charge', async (context) => {
  const service = await startTestService(context)
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: `${service.url}/` })
  const account = await purser.accounts.create({
    name: 'Ada',
    email: 'ada@example.com',
    idp_user_id: 'idp_ada',
  })
  assert.equal(account.api_keys.length, 2)
  const agent = await purser.agents.create({ name: 'research-bot' })
  assert.deepEqual(await purser.agents.get(agent.id), agent)
  const mandate = await purser.mandates.create({
    agent_id: agent.id,
    purpose: 'Buy research data',
    max_spend_total: '10.00',
    max_spend_per_transaction: '5.00',
    allowed_sellers: [merchantDomain],
    expires_at: '2099-01-01T00:00:00Z',
  })
  const seller = await purser.sellers.create({ name: 'Data', domain: merchantDomain, price_config: {} })
  const agentKey = await purser.apiKeys.create({ role: 'agent', environment: 'sandbox', agent_id: agent.id })
  const buyer = new Purser({ apiKey: agentKey.key, baseUrl: service.url })
  const payment = {
    agent_id: agent.id,
    mandate_id: mandate.id,
    amount: '4.00',
    resource_url: 'https://api.example.com/data',
  }
  const proposal = { ...payment, merchant_domain: merchantDomain }

  const report = await buyer.verifyAgent(proposal)
  assert.deepEqual([report.authorized, report.mandate.remaining_budget], [true, '10.00'])
  const evaluation = await buyer.policy.evaluate(proposal)
  assert.equal(evaluation.decision, 'approved')
  const granted = await buyer.payments.requestProof(payment)
  assert(granted.decision === 'approved')
  const charge = { proof: granted.proof, merchant_domain: merchantDomain, expected_amount: '4.00' }
  const verified = await purser.payments.verify(charge, { idempotencyKey: 'order-1' })
  assert(verified.verified)
  assert.equal(verified.replayed, false)
  assert.deepEqual(await purser.payments.verify(charge, { idempotencyKey: 'order-1' }), {
    ...verified,
    replayed: true,
  })
  assert.deepEqual(await purser.payments.verify(charge), { verified: false, reason: 'nonce_reused' })

  const transaction = await purser.transactions.get(verified.transaction_id)
  assert.deepEqual(
    [transaction.status, transaction.amount, transaction.seller_id],
    ['paid', '4.00', seller.id],
  )
  assert.equal((await buyer.payments.getProof(granted.proof.nonce)).status, 'captured')
  assert.equal((await purser.mandates.get(mandate.id)).spent_total, '4.00')
})

test('A proof can be voided, also again after a lost response, but not once it is charged', async () => {
  const service = await shareTestService()
  let lost = 1
  const purser = new Purser({
    apiKey: service.sandboxKey,
    baseUrl: service.url,
    sleep: () => Promise.resolve(),
    fetch: async (...request) => {
      const response = await fetch(...request)
      if (new Request(...request).url.endsWith('/void') && lost-- > 0) throw new TypeError('terminated')
      return response
    },
  })
  const { agentId, mandateId, resourceUrl } = await preparePurchase(service)
  const payment = { agent_id: agentId, mandate_id: mandateId, amount: '4.00', resource_url: resourceUrl }
  const granted = await purser.payments.requestProof(payment)
  assert(granted.decision === 'approved')
  const voided = await purser.payments.voidProof(granted.proof.nonce)
  assert.deepEqual([voided.status, voided.transaction_id, lost], ['voided', null, -1])
  assert.equal((await purser.mandates.get(mandateId)).held_total, '0.00')
  const charge = { proof: granted.proof, merchant_domain: merchantDomain, expected_amount: '4.00' }
  assert.deepEqual(await purser.payments.verify(charge), { verified: false, reason: 'proof_expired' })

  const second = await purser.payments.requestProof(payment)
  assert(second.decision === 'approved')
  await purser.payments.verify({ ...charge, proof: second.proof })
  await assert.rejects(
    purser.payments.voidProof(second.proof.nonce),
    (error) => error instanceof ConflictError && error.code === 'proof_captured',
  )
})

test('A refused payment is a result, not an error, in each of the four calls', async () => {
  const service = await shareTestService()
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const { agentId, mandateId, resourceUrl } = await preparePurchase(service)
  const payment = { agent_id: agentId, mandate_id: mandateId, amount: '10.01', resource_url: resourceUrl }
  const proof = await purser.payments.requestProof(payment)
  assert(proof.decision === 'denied')
  assert.equal(proof.reason_code, 'amount_exceeds_per_transaction_limit')
  assert.match(proof.reason_detail, /10\.01/)
  const evaluation = await purser.policy.evaluate({ ...payment, merchant_domain: merchantDomain })
  assert.deepEqual([evaluation.decision, evaluation.reason_code], ['denied', proof.reason_code])
  const report = await purser.verifyAgent({ ...payment, merchant_domain: merchantDomain })
  assert.deepEqual([report.authorized, report.reason_code], [false, proof.reason_code])
  const granted = await purser.payments.requestProof({ ...payment, amount: '1.00' })
  assert(granted.decision === 'approved')
  const charge = { proof: granted.proof, merchant_domain: merchantDomain, expected_amount: '1.0' }
  assert.deepEqual(await purser.payments.verify(charge), { verified: false, reason: 'amount_mismatch' })
})

test('Records are paused, resumed, revoked and listed; health needs no key', async () => {
  const service = await shareTestService()
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const { agentId, mandateId } = await preparePurchase(service)
  assert.equal((await purser.mandates.pause(mandateId)).status, 'paused')
  assert.equal((await purser.mandates.resume(mandateId)).status, 'active')
  assert.equal((await purser.mandates.revoke(mandateId)).status, 'revoked')
  assert.equal((await purser.agents.revoke(agentId)).status, 'revoked')
  const key = await purser.apiKeys.create({ role: 'merchant', environment: 'sandbox' })
  assert.notEqual((await purser.apiKeys.revoke(key.id)).revoked_at, null)
  const events = await purser.auditLog.list({ type: 'mandate.paused' }).toArray({ limit: 10 })
  assert.deepEqual(
    events.map(({ subject_id }) => subject_id),
    [mandateId],
  )
  for (const list of [purser.agents.list(), purser.mandates.list(), purser.apiKeys.list()]) {
    assert.ok((await list.toArray({ limit: 10 })).length > 0)
  }
  for (const list of [purser.sellers.list(), purser.transactions.list({ status: 'paid' })]) {
    assert.deepEqual(await list.page(), { items: [], nextCursor: null })
  }
  const keyless = new Purser({ apiKey: null, baseUrl: service.url })
  assert.deepEqual(
    [await keyless.health.live(), await keyless.health.ready()],
    [{ status: 'ok' }, { status: 'ok' }],
  )
})

test('The README lists every call', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  const rows = readme.split('\n').filter((line) => line.startsWith('| `'))
  const { console: ofConsole, ...resources } = new Purser({ apiKey: null, baseUrl: 'http://127.0.0.1:1' })
  assert.ok(ofConsole.overview)
  for (const [name, calls] of Object.entries(resources)) {
    const row = rows.find((line) => line.split('|')[1]?.includes(`\`${name}\``)) ?? ''
    for (const call of Object.keys(calls)) assert.ok(row.includes(`\`${call}\``), `${name}.${call}`)
    assert.notEqual(row, '', name)
  }
})

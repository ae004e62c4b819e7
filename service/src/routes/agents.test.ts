import assert from 'node:assert/strict'
import { test } from 'node:test'

import { issueKey, issueProof, preparePurchase, verifyProof } from '../../testing/service.ts'
import { shareTestService } from '../../testing/shared-service.ts'
import { sendPlain } from '../../testing/http/plain-http.ts'

const unknownId = 'agent_01jd0000000000000000000000'

test('POST /agents answers 201 with every field of the agent', async () => {
  const service = await shareTestService()
  const wish = { name: 'research-bot', description: 'Reads papers', capabilities: ['search', 'buy'] }
  const { status, body } = await service.call('POST', '/agents', { body: wish })
  const { id, ...rest } = body
  assert.equal(status, 201)
  assert.match(id, /^agent_/)
  assert.deepEqual(rest, {
    ...wish,
    budget_id: null,
    status: 'active',
    created_at: '2026-11-20T12:00:00.000Z',
    revoked_at: null,
  })
})

test('Only the name of an agent is required', async () => {
  const service = await shareTestService()
  const bare = await service.call('POST', '/agents', { body: { name: '' } })
  assert.deepEqual([bare.status, bare.body.description, bare.body.capabilities], [201, null, []])
  const cases: [body: unknown, type: string, loc: (string | number)[]][] = [
    [{}, 'missing', ['body', 'name']],
    [{ name: null }, 'string_type', ['body', 'name']],
    [{ name: 'a', capabilities: 'search' }, 'list_type', ['body', 'capabilities']],
    [{ name: 'a', capabilities: ['search', 1] }, 'string_type', ['body', 'capabilities', 1]],
    [{ name: 'a', description: 1 }, 'string_type', ['body', 'description']],
  ]
  for (const [body, type, loc] of cases) {
    const answer = await service.call('POST', '/agents', { body })
    assert.equal(answer.status, 422)
    assert.deepEqual([answer.body.detail[0].type, answer.body.detail[0].loc], [type, loc])
  }
  assert.equal((await service.call('GET', '/agents')).body.length, 1, 'no other agent was created')
})

test('A status, id or times sent by the caller are ignored', async () => {
  const service = await shareTestService()
  const { body } = await service.call('POST', '/agents', {
    body: { name: 'a', id: 'mine', status: 'revoked', created_at: 'then', account_id: 'acct_1' },
  })
  assert.match(body.id, /^agent_/)
  assert.deepEqual([body.status, body.created_at], ['active', '2026-11-20T12:00:00.000Z'])
})

test('Identifiers are opaque strings, TypeIDs that sort by time [fields.ids]', async () => {
  const service = await shareTestService()
  const { agentId, mandateId } = await preparePurchase(service)
  const later: string[] = []
  for (let index = 0; index < 20; index++) {
    service.clock.nowMs += index % 3
    later.push((await service.call('POST', '/agents', { body: { name: 'next' } })).body.id)
  }
  // The first of 26 characters has only three bits.
  for (const id of [agentId, ...later]) assert.match(id, /^agent_[0-7][0-9a-hjkmnp-tv-z]{25}$/)
  assert.match(mandateId, /^mandate_[0-7][0-9a-hjkmnp-tv-z]{25}$/)
  assert.deepEqual([...later].sort(), later)
  assert.equal(new Set(later).size, later.length)
  for (const id of ['1', 'mandate', unknownId.toUpperCase(), mandateId]) {
    const { status, body } = await service.call('GET', `/agents/${id}`)
    assert.deepEqual([status, body], [404, { detail: 'not_found' }], 'any text is an id that may not exist')
  }
})

test('GET /agents/{agent_id} returns the agent, GET /agents all of them [endpoint.agents.get]', async () => {
  const service = await shareTestService()
  const made: unknown[] = []
  for (const name of ['a', 'b', 'c']) {
    made.unshift((await service.call('POST', '/agents', { body: { name } })).body)
  }
  for (const agent of made as { id: string }[]) {
    const { status, body } = await service.call('GET', `/agents/${agent.id}`)
    assert.deepEqual([status, body], [200, agent])
  }
  const list = await service.call('GET', '/agents')
  assert.deepEqual([list.status, list.body], [200, made])
  const unknown = await service.call('GET', `/agents/${unknownId}`)
  assert.deepEqual([unknown.status, unknown.body], [404, { detail: 'not_found' }])
})

test("An agent's key reads its own agent and no other [endpoint.agents.get]", async () => {
  const service = await shareTestService()
  const { agentId } = await preparePurchase(service)
  const other = await preparePurchase(service)
  const key = await issueKey(service, { role: 'agent', agent_id: agentId })
  assert.equal((await service.call('GET', `/agents/${agentId}`, { key })).status, 200)
  const { body: listed } = await service.call('GET', '/agents', { key })
  assert.deepEqual(
    listed.map(({ id }: { id: string }) => id),
    [agentId],
  )
  const hidden = await service.call('GET', `/agents/${other.agentId}`, { key })
  const unknown = await service.call('GET', `/agents/${unknownId}`, { key })
  assert.deepEqual([hidden.status, hidden.text], [404, unknown.text])
})

test('PATCH /agents/{agent_id}/revoke revokes permanently, and is idempotent [endpoint.agents.revoke]', async () => {
  const service = await shareTestService()
  const { agentId } = await preparePurchase(service)
  const before = await service.call('GET', `/agents/${agentId}`)
  const first = await service.call('PATCH', `/agents/${agentId}/revoke`)
  assert.equal(first.status, 200)
  assert.deepEqual(first.body, {
    ...before.body,
    status: 'revoked',
    revoked_at: '2026-11-20T12:00:00.000Z',
  })
  service.clock.nowMs += 1_000
  const second = await service.call('PATCH', `/agents/${agentId}/revoke`)
  assert.deepEqual([second.status, second.text], [200, first.text])
  const events = await service.call('GET', `/v1/audit-log?type=agent.revoked`)
  assert.equal(events.body.length, 1, 'the second request records no event')
  const unknown = await service.call('PATCH', `/agents/${unknownId}/revoke`)
  assert.deepEqual([unknown.status, unknown.body], [404, { detail: 'not_found' }])
})

test('A revoked agent gets no mandate and no key, and its holds end [endpoint.agents.revoke]', async () => {
  const service = await shareTestService()
  const purchase = await preparePurchase(service)
  const proof = await issueProof(service, purchase)
  await service.call('PATCH', `/agents/${purchase.agentId}/revoke`)

  const mandate = await service.call('POST', '/mandates', {
    body: {
      agent_id: purchase.agentId,
      purpose: 'p',
      max_spend_total: '1',
      max_spend_per_transaction: '1',
      expires_at: '2099-01-01T00:00:00Z',
    },
  })
  assert.deepEqual([mandate.status, mandate.body], [409, { detail: 'agent_revoked' }])
  const verification = await verifyProof(service, proof)
  assert.deepEqual(verification.body, { verified: false, reason: 'proof_expired' })
  const { body } = await service.call('GET', `/mandates/${purchase.mandateId}`)
  assert.deepEqual([body.spent_total, body.held_total], ['0.00', '0.00'])
  assert.equal((await service.call('GET', '/mandates')).body.length, 1)
})

test('Revoking needs no body and ignores any body and content type [endpoint.agents.revoke] [endpoint.json]', async () => {
  const service = await shareTestService()
  const authorization = `Bearer ${service.sandboxKey}`
  const requests: { headers?: Record<string, string>; body?: string }[] = [
    {},
    { headers: { 'content-type': 'application/json' } },
    { headers: { 'content-type': 'application/json', 'content-length': '0' } },
    { headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' } },
    { headers: { 'content-type': 'application/json' }, body: '{not json' },
    { headers: { 'content-type': 'text/plain' }, body: 'junk' },
  ]
  for (const { headers = {}, body } of requests) {
    const { agentId } = await preparePurchase(service)
    const answer = await sendPlain(service.url, {
      method: 'PATCH',
      path: `/agents/${agentId}/revoke`,
      headers: { authorization, ...headers },
      body,
    })
    assert.deepEqual([answer.status, answer.body.status], [200, 'revoked'], JSON.stringify(headers))
  }
})

test('Concurrent revocations of one agent record one event and one time', async () => {
  const service = await shareTestService()
  const { agentId } = await preparePurchase(service)
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => service.call('PATCH', `/agents/${agentId}/revoke`)),
  )
  assert.equal(new Set(answers.map(({ text }) => text)).size, 1)
  assert.equal((await service.call('GET', '/v1/audit-log?type=agent.revoked')).body.length, 1)
})

test('Of two changes of an agent’s budget that are based on the same one, the first wins, and its retry succeeds', async () => {
  const service = await shareTestService()
  const { agentId } = await preparePurchase(service)
  const budgets = await Promise.all(
    ['One', 'Other'].map((name) => service.call('POST', '/v1/budgets', { body: { name, limits: [] } })),
  )
  const assign = (budget_id: string | null, expected_budget_id: string | null) =>
    service.call('PATCH', `/v1/agents/${agentId}`, { body: { budget_id, expected_budget_id } })
  const answers = await Promise.all(budgets.map(({ body }) => assign(body.id, null)))
  const [won] = answers.filter(({ status }) => status === 200)
  const [lost] = answers.filter(({ status }) => status !== 200)
  assert.deepEqual([lost?.status, lost?.body], [412, { detail: 'version_mismatch' }])
  const budgetId = won?.body.budget_id
  assert.equal((await assign(budgetId, null)).status, 200)
  assert.equal((await assign(null, null)).status, 412)
  assert.equal((await service.call('GET', `/agents/${agentId}`)).body.budget_id, budgetId)
  assert.equal((await assign(null, budgetId)).body.budget_id, null)
})

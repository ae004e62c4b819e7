import assert from 'node:assert/strict'
import { test } from 'node:test'

import { mandateMoves } from '@purser/wire/mandates'

import {
  askForProof,
  issueKey,
  issueProof,
  preparePurchase,
  verifyProof,
  type TestService,
} from '../../testing/service.ts'
import { shareTestService } from '../../testing/shared-service.ts'

const unknownId = 'mandate_01jd0000000000000000000000'

const least = {
  purpose: 'Buy research data',
  max_spend_total: '100.00',
  max_spend_per_transaction: '10.00',
  expires_at: '2099-01-01T00:00:00Z',
}

test('POST /mandates answers 201 with every field that was sent, and its sums [endpoint.mandates.create] [mandate.agent_id] [mandate.purpose] [mandate.max_spend_total] [mandate.max_spend_per_transaction] [mandate.expires_at]', async () => {
  const service = await shareTestService()
  const wish = {
    ...least,
    agent_id: await createAgent(service),
    purpose: 'Daten kaufen ☕\n"quoted"',
    max_spend_total: '0100.5',
    max_spend_per_transaction: '10',
    currency: 'USDC',
    allowed_sellers: ['API.example.com', '*', ''],
    allowed_categories: ['data', 'data'],
    allowed_resources: ['https://API.example.com/a/*'],
    category_check: 'enforced',
    metadata: { project: 'apollo' },
    expires_at: '2099-01-01T02:00:00.250+02:00',
  }
  const { status, body } = await service.call('POST', '/mandates', { body: wish })
  const { id, ...rest } = body
  assert.equal(status, 201)
  assert.match(id, /^mandate_/)
  assert.deepEqual(rest, {
    ...wish,
    status: 'active',
    approval: null,
    version: 1,
    spent_total: '0.00',
    held_total: '0.00',
    authorized_total: '0.00',
    max_capture_seconds: 600,
    remaining_budget: '100.50',
    limits: [],
    budget_id: null,
    created_at: '2026-11-20T12:00:00.000Z',
    updated_at: '2026-11-20T12:00:00.000Z',
  })
})

test('currency is USDC and both lists are empty when absent; a new mandate is active [mandate.currency] [mandate.allowed_sellers] [mandate.allowed_categories] [mandate.status]', async () => {
  const service = await shareTestService()
  const { status, body } = await service.call('POST', '/mandates', {
    body: { ...least, agent_id: await createAgent(service) },
  })
  assert.equal(status, 201)
  assert.deepEqual(
    [body.currency, body.allowed_sellers, body.allowed_categories, body.status],
    ['USDC', [], [], 'active'],
  )
})

test('Mandates do not share a default value [mandate.allowed_sellers]', async () => {
  const service = await shareTestService()
  const agent_id = await createAgent(service)
  await service.call('POST', '/mandates', {
    body: { ...least, agent_id, allowed_sellers: ['a.example.com'] },
  })
  const { body } = await service.call('POST', '/mandates', { body: { ...least, agent_id } })
  assert.deepEqual(body.allowed_sellers, [])
})

test('Each required field is required and has its type; nothing is created otherwise [mandate.agent_id] [mandate.purpose] [mandate.max_spend_total] [mandate.max_spend_per_transaction] [mandate.currency] [mandate.allowed_sellers] [mandate.allowed_categories] [mandate.expires_at] [errors.422] [endpoint.mandates.create]', async () => {
  const service = await shareTestService()
  const fit = { ...least, agent_id: await createAgent(service) }
  const missing = Object.keys(fit).map((field) => [{ [field]: undefined }, 'missing', [field]] as const)
  const wrong = [
    [{ agent_id: 1 }, 'string_type', ['agent_id']],
    [{ purpose: null }, 'string_type', ['purpose']],
    [{ max_spend_total: 100 }, 'string_type', ['max_spend_total']],
    [{ max_spend_total: '-1' }, 'string_pattern_mismatch', ['max_spend_total']],
    [{ max_spend_total: '1.0000001' }, 'string_pattern_mismatch', ['max_spend_total']],
    [{ max_spend_total: '1000000000000' }, 'decimal_whole_digits', ['max_spend_total']],
    [{ max_spend_per_transaction: '1000000000000' }, 'decimal_whole_digits', ['max_spend_per_transaction']],
    [{ max_spend_per_transaction: '1e3' }, 'string_pattern_mismatch', ['max_spend_per_transaction']],
    [{ currency: 'EUR' }, 'literal_error', ['currency']],
    [{ currency: null }, 'literal_error', ['currency']],
    [{ allowed_sellers: 'a.example.com' }, 'list_type', ['allowed_sellers']],
    [{ allowed_sellers: ['a', 1] }, 'string_type', ['allowed_sellers', 1]],
    [{ allowed_categories: [null] }, 'string_type', ['allowed_categories', 0]],
    [{ expires_at: '2099-01-01T00:00:00' }, 'timezone_aware', ['expires_at']],
    [{ expires_at: 'tomorrow' }, 'datetime_from_date_parsing', ['expires_at']],
  ] as const
  for (const [change, type, loc] of [...missing, ...wrong]) {
    const { status, body } = await service.call('POST', '/mandates', { body: { ...fit, ...change } })
    assert.equal(status, 422, JSON.stringify(change))
    assert.equal(body.detail.length, 1)
    assert.deepEqual([body.detail[0].type, body.detail[0].loc], [type, ['body', ...loc]])
  }
  assert.deepEqual((await service.call('GET', '/mandates')).body, [])
  assert.equal((await service.call('GET', '/v1/audit-log?type=mandate.created')).body.length, 0)
})

test('agent_id must be an agent of the account, otherwise 404 [mandate.agent_id]', async () => {
  const service = await shareTestService()
  const agent_id = await createAgent(service)
  for (const [key, id] of [
    [service.sandboxKey, 'agent_01jd0000000000000000000000'],
    [service.sandboxKey, ''],
    [service.productionKey, agent_id],
  ] as const) {
    const { status, body } = await service.call('POST', '/mandates', {
      key,
      body: { ...least, agent_id: id },
    })
    assert.deepEqual([status, body], [404, { detail: 'not_found' }])
  }
  for (const key of [service.sandboxKey, service.productionKey]) {
    assert.deepEqual((await service.call('GET', '/mandates', { key })).body, [])
  }
})

test('A mandate may be created already expired, and with a cap above its total', async () => {
  const service = await shareTestService()
  const expired = await preparePurchase(service, { expires_at: '2020-01-01T00:00:00Z' })
  const capped = await preparePurchase(service, { max_spend_total: '1', max_spend_per_transaction: '9' })
  const denied = await askForProof(service, expired, '1.00')
  assert.deepEqual([denied.status, denied.body.reason_code], [402, 'mandate_expired'])
  const over = await askForProof(service, capped, '2.00')
  assert.deepEqual([over.status, over.body.reason_code], [402, 'total_budget_exceeded'])
  const { body } = await service.call('GET', `/mandates/${expired.mandateId}`)
  assert.equal(body.status, 'active', 'expired is not a status')
  assert.equal((await askForProof(service, capped, '1.00')).status, 201)
})

test('A mandate is invalid after expires_at, which is returned as sent if it is RFC 3339 [mandate.expires_at]', async () => {
  const service = await shareTestService()
  const echoes = [
    ['2099-01-01T00:00:00Z', '2099-01-01T00:00:00Z'],
    ['2099-01-01T00:00:00.123456789+05:30', '2099-01-01T00:00:00.123456789+05:30'],
    ['2099-01-01 00:00Z', '2099-01-01T00:00:00.000Z'],
    ['4070908800', '2099-01-01T00:00:00.000Z'],
    [4_070_908_800, '2099-01-01T00:00:00.000Z'],
  ] as const
  for (const [sent, kept] of echoes) {
    const { mandateId } = await preparePurchase(service, { expires_at: sent })
    const { body } = await service.call('GET', `/mandates/${mandateId}`)
    assert.equal(body.expires_at, kept)
  }
  const purchase = await preparePurchase(service, { expires_at: '2026-11-20T13:00:01+01:00' })
  service.clock.nowMs += 999
  assert.equal((await askForProof(service, purchase)).status, 201, 'a millisecond before')
  service.clock.nowMs += 1
  assert.equal((await askForProof(service, purchase)).body.reason_code, 'mandate_expired', 'at that moment')
})

test('GET /mandates lists mandates newest first, GET /mandates/{mandate_id} returns one [endpoint.mandates.list] [endpoint.mandates.get]', async () => {
  const service = await shareTestService()
  const agent_id = await createAgent(service)
  const made: { id: string }[] = []
  for (const purpose of ['a', 'b', 'c']) {
    const answer = await service.call('POST', '/mandates', { body: { ...least, agent_id, purpose } })
    made.unshift(answer.body)
  }
  const list = await service.call('GET', '/mandates')
  assert.deepEqual([list.status, list.body], [200, made])
  for (const mandate of made) {
    const { status, body } = await service.call('GET', `/mandates/${mandate.id}`)
    assert.deepEqual([status, body], [200, mandate])
  }
  const unknown = await service.call('GET', `/mandates/${unknownId}`)
  assert.deepEqual([unknown.status, unknown.body], [404, { detail: 'not_found' }])
})

test("An agent's key reads its own mandates and cannot change them [endpoint.mandates.get] [endpoint.mandates.list]", async () => {
  const service = await shareTestService()
  const mine = await preparePurchase(service)
  const other = await preparePurchase(service)
  const key = await issueKey(service, { role: 'agent', agent_id: mine.agentId })
  const { body: listed } = await service.call('GET', '/mandates', { key })
  assert.deepEqual(
    listed.map(({ id }: { id: string }) => id),
    [mine.mandateId],
  )
  assert.equal((await service.call('GET', `/mandates/${mine.mandateId}`, { key })).status, 200)
  const hidden = await service.call('GET', `/mandates/${other.mandateId}`, { key })
  assert.deepEqual([hidden.status, hidden.body], [404, { detail: 'not_found' }])
  for (const move of mandateMoves) {
    const { status } = await service.call('PATCH', `/mandates/${mine.mandateId}/${move}`, { key })
    assert.equal(status, 403, 'an agent can never widen its own authority')
  }
  const { body } = await service.call('GET', `/mandates/${mine.mandateId}`)
  assert.equal(body.status, 'active')
})

test('A mandate can be paused and resumed, and only an active one pays [mandate.status]', async () => {
  const service = await shareTestService()
  const purchase = await preparePurchase(service)
  const path = `/mandates/${purchase.mandateId}`
  const before = (await service.call('GET', path)).body

  service.clock.nowMs += 1_000
  const paused = await service.call('PATCH', `${path}/pause`)
  assert.equal(paused.status, 200)
  assert.deepEqual(paused.body, { ...before, status: 'paused', updated_at: '2026-11-20T12:00:01.000Z' })
  assert.equal((await askForProof(service, purchase)).body.reason_code, 'mandate_expired')

  service.clock.nowMs += 1_000
  const again = await service.call('PATCH', `${path}/pause`)
  assert.deepEqual([again.status, again.text], [200, paused.text], 'pausing twice changes nothing')

  const resumed = await service.call('PATCH', `${path}/resume`)
  assert.deepEqual(resumed.body, { ...before, status: 'active', updated_at: '2026-11-20T12:00:02.000Z' })
  assert.equal((await askForProof(service, purchase)).status, 201)
  assert.deepEqual((await service.call('PATCH', `${path}/resume`)).body.status, 'active')
  assert.deepEqual(await movesOf(service, purchase.mandateId), ['mandate.resumed', 'mandate.paused'])
})

test('Pausing ends open holds, and resuming does not restore them [mandate.remaining_budget]', async () => {
  const service = await shareTestService()
  const purchase = await preparePurchase(service)
  const path = `/mandates/${purchase.mandateId}`
  const proof = await issueProof(service, purchase, '4.00')
  assert.equal((await service.call('GET', path)).body.held_total, '4.00')
  const paused = await service.call('PATCH', `${path}/pause`)
  assert.deepEqual([paused.body.held_total, paused.body.remaining_budget], ['0.00', '100.00'])
  await service.call('PATCH', `${path}/resume`)
  assert.deepEqual((await verifyProof(service, proof)).body, { verified: false, reason: 'proof_expired' })
  assert.equal((await service.call('GET', path)).body.spent_total, '0.00')
})

test('A revoked mandate stays revoked: pause and resume are 409 mandate_revoked', async () => {
  const service = await shareTestService()
  const purchase = await preparePurchase(service)
  const path = `/mandates/${purchase.mandateId}`
  const proof = await issueProof(service, purchase)
  const revoked = await service.call('PATCH', `${path}/revoke`)
  assert.deepEqual([revoked.status, revoked.body.status, revoked.body.held_total], [200, 'revoked', '0.00'])
  for (const move of ['pause', 'resume']) {
    const { status, body } = await service.call('PATCH', `${path}/${move}`)
    assert.deepEqual([status, body], [409, { detail: 'mandate_revoked' }])
  }
  service.clock.nowMs += 1_000
  const again = await service.call('PATCH', `${path}/revoke`)
  assert.deepEqual([again.status, again.text], [200, revoked.text])
  assert.equal((await service.call('GET', path)).text, revoked.text)
  assert.equal((await askForProof(service, purchase)).body.reason_code, 'mandate_expired')
  assert.deepEqual((await verifyProof(service, proof)).body, { verified: false, reason: 'proof_expired' })
  assert.deepEqual(await movesOf(service, purchase.mandateId), ['mandate.revoked'])
})

test('Changing an unknown mandate is 404, and records no event', async () => {
  const service = await shareTestService()
  for (const move of mandateMoves) {
    const { status, body } = await service.call('PATCH', `/mandates/${unknownId}/${move}`)
    assert.deepEqual([status, body], [404, { detail: 'not_found' }])
  }
  assert.deepEqual(await movesOf(service, unknownId), [])
})

test('spent_total grows and remaining_budget shrinks with each verified payment; a hold changes neither [mandate.spent_total] [mandate.remaining_budget]', async () => {
  const service = await shareTestService()
  const purchase = await preparePurchase(service, { max_spend_total: '10.000001' })
  const sums = async () => {
    const { body } = await service.call('GET', `/mandates/${purchase.mandateId}`)
    return [body.spent_total, body.held_total, body.remaining_budget]
  }
  const first = await issueProof(service, purchase, '2.5')
  const second = await issueProof(service, purchase, '0.000001')
  assert.deepEqual(await sums(), ['0.00', '2.500001', '10.000001'])
  await verifyProof(service, first)
  assert.deepEqual(await sums(), ['2.50', '0.000001', '7.500001'])
  await verifyProof(service, second)
  await verifyProof(service, second)
  assert.deepEqual(await sums(), ['2.500001', '0.00', '7.50'])
})

async function createAgent(service: TestService): Promise<string> {
  return (await service.call('POST', '/agents', { body: { name: 'research-bot' } })).body.id as string
}

/** The events of a mandate after its creation, newest first. */
async function movesOf(service: TestService, mandateId: string): Promise<string[]> {
  const { body } = await service.call('GET', `/v1/audit-log?subject_id=${mandateId}`)
  const types = body.map(({ type }: { type: string }) => type) as string[]
  return types.filter((type) => type !== 'mandate.created')
}

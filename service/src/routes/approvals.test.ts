import assert from 'node:assert/strict'
import { test } from 'node:test'

import { endpoints } from '@purser/wire/openapi'

import { signIn } from '../../testing/console-session.ts'
import {
  issueKey,
  merchantDomain,
  preparePurchase,
  verifyProof,
  type CallOptions,
  type Purchase,
  type TestService,
} from '../../testing/service.ts'
import { shareTestService } from '../../testing/shared-service.ts'

const minuteMs = 60_000

async function prepare(approval: unknown, mandate = {}) {
  const service = await shareTestService()
  const purchase = await preparePurchase(service, { approval, ...mandate })
  const agentKey = await issueKey(service, { role: 'agent', agent_id: purchase.agentId })
  const approverKey = await issueKey(service, { role: 'approver' })
  return { service, purchase, agentKey, approverKey }
}

function decide(service: TestService, id: string, verb: 'approve' | 'deny', key?: string, note?: string) {
  const body = note === undefined ? {} : { note }
  return service.call('POST', `/v1/approvals/${id}/${verb}`, { body, ...(key !== undefined && { key }) })
}

test('A payment above the threshold waits for a person, and is paid once with the approval', async () => {
  const { service, purchase, agentKey, approverKey } = await prepare({ above: '5.00' })
  const key = agentKey
  assert.equal((await askForProof(service, purchase, '5.00', { key })).status, 201, 'not above')
  const refused = await askForProof(service, purchase, '6.00', { key })
  assert.equal(refused.status, 402)
  assert.equal(refused.body.reason_code, 'approval_required')
  assert.equal(
    refused.body.reason_detail,
    '6.00 > 5.00, above which a person must approve each payment. It waits for a decision.',
  )
  const { approval } = refused.body
  assert.deepEqual(approval, {
    id: approval.id,
    status: 'pending',
    expires_at: '2026-11-20T12:15:00.000Z',
    url: `${service.url}/console/approvals/${approval.id}`,
  })
  const mandate = await service.call('GET', `/mandates/${purchase.mandateId}`)
  assert.equal(mandate.body.held_total, '5.00', 'nothing is held meanwhile')

  const again = await askForProof(service, purchase, '5.50', { key })
  assert.equal(again.body.approval.id, approval.id, 'it covers a smaller amount')
  const early = await askForProof(service, purchase, '6.00', { key, approval: approval.id })
  assert.deepEqual([early.status, early.body.approval], [402, approval])

  service.clock.nowMs += minuteMs
  const approved = await decide(service, approval.id, 'approve', approverKey, 'fine')
  assert.equal(approved.status, 200, approved.text)
  const { decisions, ...record } = approved.body
  assert.deepEqual(record, {
    id: approval.id,
    kind: 'payment',
    status: 'approved',
    agent_id: purchase.agentId,
    mandate_id: purchase.mandateId,
    amount: '6.00',
    resource_url: purchase.resourceUrl,
    reason: { code: 'above', limit_id: null, message: null },
    change: null,
    mandate_version: 1,
    requested_by: record.requested_by,
    requested_at: '2026-11-20T12:00:00.000Z',
    expires_at: '2026-11-20T12:16:00.000Z',
    required: 1,
    nonce: null,
    url: approval.url,
  })
  assert.deepEqual(decisions, [
    { actor: decisions[0].actor, decision: 'approved', note: 'fine', at: '2026-11-20T12:01:00.000Z' },
  ])

  const told = await askForProof(service, purchase, '6.00', { key })
  assert.deepEqual([told.status, told.body.approval.status], [402, 'approved'])
  const granted = await askForProof(service, purchase, '6.00', { key, approval: approval.id })
  assert.equal(granted.status, 201, granted.text)
  assert.equal((await verifyProof(service, granted.body.proof)).status, 200)
  const reused = await askForProof(service, purchase, '6.00', { key, approval: approval.id })
  assert.deepEqual([reused.status, reused.body.approval.status], [402, 'consumed'])
  const read = await service.call('GET', `/v1/approvals/${approval.id}`, { key })
  assert.deepEqual([read.body.status, read.body.nonce], ['consumed', granted.body.proof.nonce])
  const next = await askForProof(service, purchase, '6.00', { key })
  assert.notEqual(next.body.approval.id, approval.id, 'each purchase asks again')

  const { body: events } = await service.call('GET', `/v1/audit-log?subject_id=${approval.id}`)
  assert.deepEqual(
    events.map(({ type }: { type: string }) => type),
    ['approval.consumed', 'approval.approved', 'approval.requested'],
  )
  assert.equal(events[1].data.note, 'fine')
})

test('An approval is for its resource, up to its amount, for fifteen minutes', async () => {
  const { service, purchase } = await prepare({ above: '1.00' })
  const key = await issueKey(service, { role: 'agent', agent_id: purchase.agentId })
  const asked = await askForProof(service, purchase, '6.00', { key })
  const { id } = asked.body.approval
  assert.equal((await decide(service, id, 'approve')).status, 200)
  const other = { ...purchase, resourceUrl: `https://${merchantDomain}/other` }
  for (const [wanted, amount, detail] of [
    [other, '6.00', /another resource/],
    [purchase, '6.01', /up to 6\.00/],
  ] as const) {
    const refused = await askForProof(service, wanted, amount, { key, approval: id })
    assert.deepEqual([refused.status, refused.body.approval.id], [402, id])
    assert.match(refused.body.reason_detail, detail)
  }
  const foreign = await preparePurchase(service, { approval: { above: '1.00' } })
  for (const [wanted, approval] of [
    [foreign, id],
    [purchase, 'approval_01jd0000000000000000000000'],
    [purchase, 'made up'],
  ] as const) {
    const refused = await askForProof(service, wanted, '6.00', { approval })
    assert.deepEqual([refused.status, refused.body.approval], [402, undefined])
    assert.match(refused.body.reason_detail, /no such approval/)
  }
  service.clock.nowMs += 15 * minuteMs
  const late = await askForProof(service, purchase, '6.00', { key, approval: id })
  assert.deepEqual([late.status, late.body.approval.status], [402, 'expired'])
  const expired = await decide(service, id, 'deny')
  assert.deepEqual([expired.status, expired.body], [409, { detail: 'approval_expired' }])
})

test('All other checks come first, and run again when the approval is used', async () => {
  const { service, purchase } = await prepare({ above: '1.00' })
  const key = await issueKey(service, { role: 'agent', agent_id: purchase.agentId })
  const over = await askForProof(service, purchase, '11.00', { key })
  assert.equal(over.body.reason_code, 'amount_exceeds_per_transaction_limit')
  assert.deepEqual((await service.call('GET', '/v1/approvals')).body, [])
  const { id } = (await askForProof(service, purchase, '6.00', { key })).body.approval
  await decide(service, id, 'approve')
  await service.call('PATCH', `/v1/mandates/${purchase.mandateId}`, {
    body: { max_spend_total: '5.00' },
    headers: { 'if-match': '"1"' },
  })
  const broke = await askForProof(service, purchase, '6.00', { key, approval: id })
  assert.equal(broke.body.reason_code, 'total_budget_exceeded')
  assert.equal(
    (await service.call('GET', `/v1/approvals/${id}`)).body.status,
    'approved',
    'the approval is not used up',
  )
})

test('A denied approval answers the same request until it expires; another amount is another request', async () => {
  const { service, purchase, approverKey } = await prepare({ above: '1.00' })
  const key = await issueKey(service, { role: 'agent', agent_id: purchase.agentId })
  const { id } = (await askForProof(service, purchase, '6.00', { key })).body.approval
  const denied = await decide(service, id, 'deny', approverKey)
  assert.deepEqual([denied.status, denied.body.status], [200, 'denied'])
  const again = await askForProof(service, purchase, '6.00', { key })
  assert.deepEqual([again.body.approval.id, again.body.approval.status], [id, 'denied'])
  assert.match(again.body.reason_detail, /A person has denied it\./)
  assert.equal((await decide(service, id, 'deny')).status, 200, 'a retry changes nothing')
  const approve = await decide(service, id, 'approve')
  assert.deepEqual([approve.status, approve.body], [409, { detail: 'approval_decided' }])
  const smaller = await askForProof(service, purchase, '2.00', { key })
  assert.notEqual(smaller.body.approval.id, id)
  service.clock.nowMs += 15 * minuteMs
  assert.notEqual((await askForProof(service, purchase, '6.00', { key })).body.approval.id, id)
})

test('An unused approval can be withdrawn', async () => {
  const { service, purchase } = await prepare({ above: '1.00' })
  const key = await issueKey(service, { role: 'agent', agent_id: purchase.agentId })
  const { id } = (await askForProof(service, purchase, '6.00', { key })).body.approval
  await decide(service, id, 'approve')
  assert.equal((await decide(service, id, 'deny')).body.status, 'denied')
  const refused = await askForProof(service, purchase, '6.00', { key, approval: id })
  assert.deepEqual([refused.status, refused.body.approval.status], [402, 'denied'])
})

test('Where two approvals are required they come from two people, and no one approves their own request', async () => {
  const { service, purchase, approverKey } = await prepare({ above: '1.00', required: 2 })
  const owner = await issueKey(service, { role: 'owner' })
  const asked = await askForProof(service, purchase, '6.00', { key: owner })
  const { id } = asked.body.approval
  for (const verb of ['approve', 'deny'] as const) {
    const own = await decide(service, id, verb, owner)
    assert.deepEqual([own.status, own.body], [403, { detail: 'own_request' }])
  }
  const first = await decide(service, id, 'approve', approverKey)
  assert.deepEqual([first.body.status, first.body.required, first.body.decisions.length], ['pending', 2, 1])
  const twice = await decide(service, id, 'approve', approverKey)
  assert.deepEqual([twice.status, twice.body.status, twice.body.decisions.length], [200, 'pending', 1])
  const early = await askForProof(service, purchase, '6.00', { key: owner, approval: id })
  assert.equal(early.status, 402)
  // A session started with a key counts as the person with that key.
  const session = await service.call('POST', '/v1/console/session', { key: null, body: { api_key: owner } })
  const cookie = session.headers.get('set-cookie')?.split(';')[0] ?? ''
  const bySession = await service.call('POST', `/v1/approvals/${id}/approve`, {
    key: null,
    body: {},
    headers: { cookie, 'x-purser-console': session.body.csrf_token },
  })
  assert.deepEqual([bySession.status, bySession.body], [403, { detail: 'own_request' }])
  assert.equal((await decide(service, id, 'approve')).body.status, 'approved')
  assert.equal((await askForProof(service, purchase, '6.00', { key: owner, approval: id })).status, 201)
})

test('When two approvals become required, requests that wait or are approved need a second person, too', async () => {
  const { service, purchase, agentKey: key, approverKey } = await prepare({ above: '1.00' })
  const other = { ...purchase, resourceUrl: `https://${merchantDomain}/other` }
  const approved = (await askForProof(service, purchase, '6.00', { key })).body.approval.id
  const waiting = (await askForProof(service, other, '6.00', { key })).body.approval.id
  await decide(service, approved, 'approve', approverKey)
  const amended = await service.call('PATCH', `/v1/mandates/${purchase.mandateId}`, {
    body: { approval: { above: '1.00', required: 2 } },
    headers: { 'if-match': '"1"' },
  })
  assert.equal(amended.status, 200, amended.text)
  const refused = await askForProof(service, purchase, '6.00', { key, approval: approved })
  assert.deepEqual([refused.status, refused.body.approval?.status], [402, 'pending'])
  assert.equal(
    (await decide(service, approved, 'approve', approverKey)).body.status,
    'pending',
    'the same person',
  )
  const first = await decide(service, waiting, 'approve', approverKey)
  assert.deepEqual([first.body.status, first.body.required], ['pending', 2])
  for (const [id, wanted] of [
    [approved, purchase],
    [waiting, other],
  ] as const) {
    assert.equal((await decide(service, id, 'approve')).body.status, 'approved')
    assert.equal((await askForProof(service, wanted, '6.00', { key, approval: id })).status, 201)
  }
})

test('Agents and merchants never decide, and an agent sees only its own requests', async () => {
  const { service, purchase, agentKey } = await prepare({ above: '1.00' })
  const other = await preparePurchase(service)
  const otherKey = await issueKey(service, { role: 'agent', agent_id: other.agentId })
  const merchantKey = await issueKey(service, { role: 'merchant' })
  const { id } = (await askForProof(service, purchase, '6.00', { key: agentKey })).body.approval
  for (const key of [agentKey, merchantKey]) {
    for (const verb of ['approve', 'deny'] as const) {
      assert.deepEqual((await decide(service, id, verb, key)).body, { detail: 'insufficient_scope' })
    }
  }
  const seen = await service.call('GET', '/v1/approvals', { key: agentKey })
  assert.deepEqual(
    seen.body.map((one: { id: string }) => one.id),
    [id],
  )
  assert.deepEqual((await service.call('GET', '/v1/approvals', { key: otherKey })).body, [])
  for (const key of [otherKey, service.productionKey]) {
    assert.equal((await service.call('GET', `/v1/approvals/${id}`, { key })).status, 404)
  }
  assert.equal((await decide(service, id, 'approve', service.productionKey)).status, 404)
})

test('An approver reads what an owner reads, decides, and narrows mandates, and does nothing else', async () => {
  const { service, purchase, approverKey: key } = await prepare(null)
  const allowed = endpoints
    .filter(({ roles }) => roles !== 'public' && roles.includes('approver'))
    .filter(({ method }) => method !== 'GET')
    .map(({ id }) => id)
  assert.deepEqual(allowed.sort(), ['amendMandate', 'approveRequest', 'denyRequest', 'endSession'])
  const amend = (body: unknown, version: number) =>
    service.call('PATCH', `/v1/mandates/${purchase.mandateId}`, {
      key,
      body,
      headers: { 'if-match': `"${version}"` },
    })
  assert.equal((await amend({ max_spend_total: '50.00' }, 1)).status, 200)
  assert.equal((await amend({ max_spend_total: '51.00' }, 2)).status, 403)
})

test('An approver signs in to the console, reads and decides there, and changes nothing else', async () => {
  const { service, purchase, agentKey, approverKey } = await prepare({ above: '1.00' })
  const { body } = await askForProof(service, purchase, '6.00', { key: agentKey })
  const { call } = await signIn(service, approverKey)
  assert.equal((await call('GET', '/v1/console/session')).body.role, 'approver')
  for (const path of ['/v1/console/overview', '/v1/approvals', '/accounts/sessions', '/accounts/api-keys'])
    assert.equal((await call('GET', path)).status, 200, path)
  for (const [path, fields] of [
    ['/v1/console/stop', {}],
    ['/agents', { body: { name: 'another' } }],
  ] as const) {
    const refused = await call('POST', path, fields)
    assert.deepEqual([refused.status, refused.body], [403, { detail: 'insufficient_scope' }], path)
  }
  const approved = await call('POST', `/v1/approvals/${body.approval.id}/approve`, { body: {} })
  assert.deepEqual([approved.status, approved.body.status], [200, 'approved'])
  assert.equal((await call('DELETE', '/v1/console/session')).status, 200)
  assert.equal((await call('GET', '/v1/console/session')).status, 401)
})

test('The first purchase from a seller needs approval until one is made or may still be made', async () => {
  const { service, purchase, agentKey: key } = await prepare({ first_purchase_at_seller: true })
  const asked = await askForProof(service, purchase, '1.00', { key })
  assert.deepEqual([asked.status, asked.body.reason_code], [402, 'approval_required'])
  const { id } = asked.body.approval
  assert.equal((await evaluate(service, purchase, '1.00')).body.reason_code, 'approval_required')
  const verify = await service.call('POST', '/v1/verify-agent', { body: evaluateBody(purchase) })
  assert.equal(verify.body.reason_code, 'approval_required')
  assert.equal((await service.call('GET', '/v1/approvals')).body.length, 1, 'neither asks anybody')
  await decide(service, id, 'approve')
  const granted = await askForProof(service, purchase, '1.00', { key, approval: id })
  assert.equal(granted.status, 201, granted.text)
  const { nonce } = granted.body.proof
  const open = await askForProof(
    service,
    { ...purchase, resourceUrl: `https://${merchantDomain}/b` },
    '1.00',
    { key },
  )
  assert.equal(open.status, 201, 'a person has approved a purchase there, which may still be made')
  assert.equal((await evaluate(service, purchase, '1.00')).status, 200)
  assert.equal((await service.call('POST', '/v1/verify-agent', { body: evaluateBody(purchase) })).status, 200)
  for (const one of [nonce, open.body.proof.nonce]) {
    await service.call('POST', `/v1/payments/proofs/${one}/void`)
  }
  const anew = await askForProof(service, purchase, '1.00', { key })
  assert.equal(anew.status, 402, 'nothing was bought after all')
  await decide(service, anew.body.approval.id, 'approve')
  const second = await askForProof(service, purchase, '1.00', { key, approval: anew.body.approval.id })
  await verifyProof(service, second.body.proof)
  for (let count = 0; count < 3; count++) {
    assert.equal((await askForProof(service, purchase, '1.00', { key })).status, 201)
  }
  const elsewhere = { ...purchase, resourceUrl: 'https://other.example.com/data' }
  assert.equal((await askForProof(service, elsewhere, '1.00', { key })).status, 402)
})

test('Sellers that were already paid need no approval when first purchases begin to need it', async () => {
  const { service, purchase } = await prepare(null)
  const paid = await askForProof(service, purchase, '1.00')
  await verifyProof(service, paid.body.proof)
  await service.call('PATCH', `/v1/mandates/${purchase.mandateId}`, {
    body: { approval: { first_purchase_at_seller: true } },
    headers: { 'if-match': '"1"' },
  })
  assert.equal((await askForProof(service, purchase, '1.00')).status, 201)
  const elsewhere = { ...purchase, resourceUrl: 'https://other.example.com/data' }
  assert.equal((await askForProof(service, elsewhere, '1.00')).status, 402)
})

test('A proof that a budget has ended, or that is too old to be charged, makes no seller known', async () => {
  const { service, purchase, agentKey: key } = await prepare({ first_purchase_at_seller: true })
  const approveOne = async () => {
    const asked = await askForProof(service, purchase, '1.00', { key })
    assert.deepEqual([asked.status, asked.body.reason_code], [402, 'approval_required'])
    const { id } = asked.body.approval
    await decide(service, id, 'approve')
    assert.equal((await askForProof(service, purchase, '1.00', { key, approval: id })).status, 201)
  }
  const reasons = async () => [
    (await evaluate(service, purchase, '1.00')).body.reason_code,
    (await service.call('POST', '/v1/verify-agent', { body: evaluateBody(purchase) })).body.reason_code,
    (await askForProof(service, purchase, '1.00', { key })).body.reason_code,
  ]
  const isNew = Array(3).fill('approval_required')

  await approveOne()
  assert.notDeepEqual(await reasons(), isNew)
  service.clock.nowMs += 5 * minuteMs + 1
  assert.deepEqual(await reasons(), isNew, 'its hold lives for another minute')

  await approveOne()
  const { body: budget } = await service.call('POST', '/v1/budgets', {
    body: { name: 'Team', limits: [{ window: 'lifetime', max_amount: '500.00' }] },
  })
  await service.call('PATCH', `/v1/agents/${purchase.agentId}`, { body: { budget_id: budget.id } })
  for (const verb of ['freeze', 'unfreeze']) {
    assert.equal((await service.call('POST', `/v1/budgets/${budget.id}/${verb}`)).status, 200)
  }
  assert.deepEqual(await reasons(), isNew, 'the budget was frozen after the proof was issued')
})

test('A mandate has at most a hundred approvals that have not expired; beyond that the refusal says when to ask again', async () => {
  const { service, purchase, approverKey } = await prepare({ above: '0.00' })
  const at = (count: number) => ({ ...purchase, resourceUrl: `${purchase.resourceUrl}/${count}` })
  for (let count = 0; count < 100; count++) {
    const { approval } = (await askForProof(service, at(count), '1.00')).body
    assert.equal((await decide(service, approval.id, 'deny', approverKey)).status, 200)
  }
  const { body } = await askForProof(service, at(100), '1.00')
  assert.equal(body.approval, undefined)
  const [, time = ''] = /100 approvals .* have not expired.* after (.*)\.$/.exec(body.reason_detail) ?? []
  service.clock.nowMs = Date.parse(time)
  assert.equal((await askForProof(service, at(100), '1.00')).body.approval.status, 'pending')
})

test('A mandate has at most twenty pending approvals; beyond that the refusal says so and names none', async () => {
  const { service, purchase } = await prepare({ above: '0.00' })
  const at = (count: number) => ({ ...purchase, resourceUrl: `${purchase.resourceUrl}/${count}` })
  const ids = new Set<string>()
  for (let count = 0; count < 20; count++) {
    ids.add((await askForProof(service, at(count), '1.00')).body.approval.id)
  }
  assert.equal(ids.size, 20)
  const full = await askForProof(service, at(20), '1.00')
  assert.deepEqual(
    [full.status, full.body.reason_code, full.body.approval],
    [402, 'approval_required', undefined],
  )
  assert.match(full.body.reason_detail, /20 approvals of this mandate already wait/)
  assert.equal((await askForProof(service, at(3), '1.00')).body.approval.status, 'pending')
  const page = await service.call('GET', '/v1/approvals?status=pending&limit=15')
  assert.equal(page.body.length, 15)
  const [, next = ''] = /<(.*)>/.exec(page.headers.get('link') ?? '') ?? []
  assert.equal((await service.call('GET', next)).body.length, 5)
  const key = await issueKey(service, { role: 'approver' })
  await decide(service, [...ids][0] ?? '', 'deny', key)
  assert.equal((await askForProof(service, at(20), '1.00')).body.approval.status, 'pending')
  for (const [status, count] of [
    ['denied', 1],
    ['expired', 0],
    ['approved', 0],
  ] as const) {
    assert.equal((await service.call('GET', `/v1/approvals?status=${status}`)).body.length, count)
  }
  service.clock.nowMs += 15 * minuteMs
  assert.equal((await service.call('GET', '/v1/approvals?status=pending')).body.length, 0)
  assert.equal((await service.call('GET', '/v1/approvals?status=expired')).body.length, 20)
  const ofMandate = await service.call('GET', `/v1/approvals?mandate_id=${purchase.mandateId}&limit=200`)
  assert.equal(ofMandate.body.length, 21)
})

test('An increase takes effect once, when an owner approves it, and not after another amendment', async () => {
  const { service, purchase, agentKey: key, approverKey } = await prepare(null)
  const path = `/v1/mandates/${purchase.mandateId}/increase-requests`
  const ask = (body: object) =>
    service.call('POST', path, { key, body: { reason: 'Reports got dearer', ...body } })
  for (const body of [{}, { max_spend_total: '100.00' }, { max_spend_total: '99.00' }]) {
    const nothing = await ask(body)
    assert.deepEqual([nothing.status, nothing.body], [409, { detail: 'nothing_to_increase' }])
  }
  const change = { max_spend_total: '200.00', max_spend_per_transaction: '20.00' }
  const asked = await ask(change)
  assert.equal(asked.status, 201, asked.text)
  assert.deepEqual(
    [asked.body.kind, asked.body.status, asked.body.change, asked.body.reason, asked.body.amount],
    [
      'increase',
      'pending',
      change,
      { code: 'increase', limit_id: null, message: 'Reports got dearer' },
      null,
    ],
  )
  assert.equal((await ask(change)).body.id, asked.body.id)
  assert.equal((await service.call('GET', `/mandates/${purchase.mandateId}`)).body.max_spend_total, '100.00')
  const small = await decide(service, asked.body.id, 'approve', approverKey)
  assert.deepEqual([small.status, small.body], [403, { detail: 'widening_needs_owner' }])
  const approved = await decide(service, asked.body.id, 'approve')
  assert.deepEqual([approved.status, approved.body.status], [200, 'approved'])
  const { body: mandate } = await service.call('GET', `/mandates/${purchase.mandateId}`)
  assert.deepEqual(
    [mandate.max_spend_total, mandate.max_spend_per_transaction, mandate.version],
    ['200.00', '20.00', 2],
  )
  assert.equal((await decide(service, asked.body.id, 'approve')).status, 200)
  assert.equal((await service.call('GET', `/mandates/${purchase.mandateId}`)).body.version, 2)
  const [event] = (await service.call('GET', '/v1/audit-log?type=mandate.amended')).body
  assert.deepEqual(event.data.approval_id, asked.body.id)

  const stale = await ask({ max_spend_total: '300.00' })
  await service.call('PATCH', `/v1/mandates/${purchase.mandateId}`, {
    body: { max_spend_total: '400.00' },
    headers: { 'if-match': '"2"' },
  })
  const late = await decide(service, stale.body.id, 'approve')
  assert.deepEqual([late.status, late.body], [412, { detail: 'version_mismatch' }])
  assert.equal((await decide(service, stale.body.id, 'deny', approverKey)).status, 200)
  const longer = await ask({ expires_at: '2100-01-01T00:00:00Z' })
  service.clock.nowMs += 6 * 24 * 60 * minuteMs
  assert.equal((await decide(service, longer.body.id, 'approve')).status, 200)
  await service.call('PATCH', `/mandates/${purchase.mandateId}/revoke`)
  assert.deepEqual((await ask({ max_spend_total: '900.00' })).body, { detail: 'mandate_revoked' })
})

test('A revoked agent asks for nothing more: 409 agent_revoked, and no approval is created', async () => {
  const { service, purchase, agentKey: key } = await prepare(null)
  const ask = (max_spend_total: string, as = key) =>
    service.call('POST', `/v1/mandates/${purchase.mandateId}/increase-requests`, {
      key: as,
      body: { reason: 'More', max_spend_total },
    })
  const first = await ask('200.00')
  await service.call('PATCH', `/agents/${purchase.agentId}/revoke`)
  for (const refused of [await ask('200.00'), await ask('300.00'), await ask('300.00', service.sandboxKey)])
    assert.deepEqual([refused.status, refused.body], [409, { detail: 'agent_revoked' }])
  const { body: all } = await service.call('GET', '/v1/approvals')
  assert.deepEqual(
    all.map(({ id }: { id: string }) => id),
    [first.body.id],
  )
})

test('An agent refused by a limit asks for a wider one, which takes effect when an owner approves it', async () => {
  const { service, purchase, agentKey: key, approverKey } = await prepare(null)
  const path = `/v1/mandates/${purchase.mandateId}`
  const day = { window: { calendar: 'day', time_zone: 'Europe/Berlin' } }
  const hour = { window: { rolling_seconds: 3_600 }, max_count: 3 }
  await service.call('PATCH', path, {
    body: { limits: [{ ...day, max_amount: '2.00' }, hour] },
    headers: { 'if-match': '"1"' },
  })
  const [daily, hourly] = (await service.call('GET', `/mandates/${purchase.mandateId}`)).body.limits
  assert.equal((await askForProof(service, purchase, '1.50', { key })).status, 201)
  const refused = await askForProof(service, purchase, '1.50', { key })
  assert.deepEqual(
    [refused.status, refused.body.reason_code, refused.body.limit.id],
    [402, 'velocity_limit_exceeded', daily.id],
  )
  const ask = (limits: unknown) =>
    service.call('POST', `${path}/increase-requests`, { key, body: { limits, reason: 'One more report' } })
  for (const limits of [
    [{ ...day, max_amount: '2.00' }, hour],
    [{ ...day, max_amount: '1.00' }, hour],
    [{ ...day, max_amount: '2.00' }, hour, { window: 'lifetime', max_count: 1 }],
  ]) {
    const nothing = await ask(limits)
    assert.deepEqual([nothing.status, nothing.body], [409, { detail: 'nothing_to_increase' }])
  }
  const faulty = await ask([day])
  assert.equal(faulty.status, 422)
  assert.deepEqual(faulty.body.detail[0].loc, ['body', 'limits', 0, 'max_amount'])
  const wider = [{ ...day, max_amount: '4.00' }, hour, { window: 'lifetime', max_count: 9 }]
  const asked = await ask(wider)
  assert.equal(asked.status, 201, asked.text)
  assert.equal((await ask(wider)).body.id, asked.body.id, 'the same request')
  const { limits } = asked.body.change
  assert.deepEqual(limits.slice(0, 2), [{ ...daily, max_amount: '4.00' }, hourly])
  assert.equal((await askForProof(service, purchase, '1.50', { key })).status, 402)
  const small = await decide(service, asked.body.id, 'approve', approverKey)
  assert.deepEqual([small.status, small.body], [403, { detail: 'widening_needs_owner' }])
  assert.equal((await decide(service, asked.body.id, 'approve')).status, 200)
  const { body: mandate } = await service.call('GET', `/mandates/${purchase.mandateId}`)
  assert.deepEqual([mandate.limits, mandate.version], [limits, 3])
  assert.deepEqual(
    mandate.usage.map(({ committed, count }: Record<string, unknown>) => [committed, count]),
    Array.from({ length: 3 }, () => ['1.50', 1]),
    'an added limit counts what was committed before',
  )
  assert.equal((await askForProof(service, purchase, '1.50', { key })).status, 201)
  const [event] = (await service.call('GET', '/v1/audit-log?type=mandate.amended')).body
  assert.deepEqual(event.data.after, { limits })
  const none = await ask([])
  assert.deepEqual([none.status, none.body.change], [201, { limits: [] }])
  assert.equal((await decide(service, none.body.id, 'approve')).status, 200)
  assert.deepEqual((await service.call('GET', `/mandates/${purchase.mandateId}`)).body.limits, [])
})

test('A lost answer is repeated with the Idempotency-Key, and the approval is used once', async () => {
  const { service, purchase, agentKey: key } = await prepare({ above: '1.00' })
  const { id } = (await askForProof(service, purchase, '6.00', { key })).body.approval
  await decide(service, id, 'approve')
  const headers = { 'idempotency-key': 'order-1' }
  const first = await askForProof(service, purchase, '6.00', { key, approval: id, headers })
  const again = await askForProof(service, purchase, '6.00', { key, approval: id, headers })
  assert.deepEqual([first.status, again.status], [201, 201])
  assert.deepEqual(again.body, first.body)
})

function askForProof(
  service: TestService,
  purchase: Purchase,
  amount: string,
  { approval, ...options }: CallOptions & { readonly approval?: string } = {},
) {
  const { agentId: agent_id, mandateId: mandate_id, resourceUrl: resource_url } = purchase
  const body = {
    agent_id,
    mandate_id,
    amount,
    resource_url,
    ...(approval !== undefined && { approval_id: approval }),
  }
  return service.call('POST', '/v1/payments/proof', { ...options, body })
}

function evaluate(service: TestService, purchase: Purchase, amount: string) {
  return service.call('POST', '/v1/policy/evaluate', { body: { ...evaluateBody(purchase), amount } })
}

function evaluateBody(purchase: Purchase) {
  return {
    agent_id: purchase.agentId,
    mandate_id: purchase.mandateId,
    merchant_domain: merchantDomain,
    amount: '1.00',
    resource_url: purchase.resourceUrl,
  }
}

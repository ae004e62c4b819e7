import assert from 'node:assert/strict'
import { test } from 'node:test'

import { askForProof, issueKey, issueProof, preparePurchase, verifyProof } from '../../testing/service.ts'
import { shareTestService } from '../../testing/shared-service.ts'

const unknownId = 'mandate_01jd0000000000000000000000'

test('PATCH /v1/mandates/{id} changes terms at once, keeps the versions, and logs values before and after', async () => {
  const service = await shareTestService()
  const purchase = await preparePurchase(service)
  const path = `/v1/mandates/${purchase.mandateId}`
  const read = await service.call('GET', `/mandates/${purchase.mandateId}`)
  assert.equal(read.headers.get('etag'), '"1"')
  assert.equal(read.body.version, 1)
  const unamended = await service.call('GET', `${path}/versions`)
  assert.deepEqual(
    unamended.body.map((one: Record<string, unknown>) => [one['version'], one['changed_by']]),
    [[1, null]],
  )

  service.clock.nowMs += 1_000
  const body = { max_spend_per_transaction: '2.50', allowed_categories: ['data'] }
  const amended = await service.call('PATCH', path, { body, headers: { 'if-match': '"1"' } })
  assert.equal(amended.status, 200, amended.text)
  assert.equal(amended.headers.get('etag'), '"2"')
  assert.deepEqual(amended.body, {
    ...read.body,
    ...body,
    version: 2,
    updated_at: '2026-11-20T12:00:01.000Z',
  })
  assert.equal((await askForProof(service, purchase, '3.00')).status, 402)
  const paid = await verifyProof(service, await issueProof(service, purchase, '2.00'))
  const transaction = await service.call('GET', `/v1/transactions/${paid.body.transaction_id}`)
  assert.equal(transaction.body.mandate_version, 2)

  const { body: versions } = await service.call('GET', `${path}/versions`)
  assert.deepEqual(
    versions.map((one: Record<string, unknown>) => [
      one['version'],
      one['max_spend_per_transaction'],
      one['created_at'],
    ]),
    [
      [2, '2.50', '2026-11-20T12:00:01.000Z'],
      [1, '10.00', '2026-11-20T12:00:00.000Z'],
    ],
  )
  const page = await service.call('GET', `${path}/versions?limit=1`)
  assert.equal(page.body[0].version, 2)
  const [, next = ''] = /<(.*)>/.exec(page.headers.get('link') ?? '') ?? []
  assert.equal((await service.call('GET', next)).body[0].version, 1)

  const { body: events } = await service.call('GET', '/v1/audit-log?type=mandate.amended')
  assert.equal(events.length, 1)
  assert.equal(events[0].subject_id, purchase.mandateId)
  assert.equal(events[0].actor, versions[0].changed_by)
  assert.deepEqual(events[0].data, {
    version: 2,
    before: { max_spend_per_transaction: '10.00', allowed_categories: [] },
    after: { max_spend_per_transaction: '2.50', allowed_categories: ['data'] },
    voided_holds: 0,
  })
})

test('An amendment needs the current version: 428 without, 412 with another; a retry changes nothing', async () => {
  const service = await shareTestService()
  const { mandateId } = await preparePurchase(service)
  const amend = (ifMatch: string | undefined, max_spend_total: string) =>
    service.call('PATCH', `/v1/mandates/${mandateId}`, {
      body: { max_spend_total },
      headers: ifMatch === undefined ? {} : { 'if-match': ifMatch },
    })
  const missing = await amend(undefined, '50.00')
  assert.deepEqual([missing.status, missing.body], [428, { detail: 'if_match_required' }])
  const mismatch = await amend('"2"', '50.00')
  assert.deepEqual([mismatch.status, mismatch.body], [412, { detail: 'version_mismatch' }])
  for (const tag of ['1', '*', '"0"', '""', '"1", "2"']) {
    const { status, body } = await amend(tag, '50.00')
    const [error] = body.detail
    assert.deepEqual([status, error.loc, error.input], [422, ['header', 'if-match'], tag])
    assert.match(error.msg, /one version in double quotes such as "1"$/)
  }
  assert.equal((await amend('W/"1"', '50.00')).body.version, 2)
  // A client that did not get the answer sends the same request again.
  const repeated = await amend('"1"', '50.00')
  assert.deepEqual([repeated.status, repeated.body.version], [200, 2])
  assert.equal((await amend('"1"', '60.00')).status, 412)
  assert.equal((await service.call('GET', '/v1/audit-log?type=mandate.amended')).body.length, 1)
})

test('An agent can narrow its own mandate but not widen it; other agents and tenants do not find it', async () => {
  const service = await shareTestService()
  const { mandateId, agentId } = await preparePurchase(service)
  const other = await preparePurchase(service)
  const key = await issueKey(service, { role: 'agent', agent_id: agentId })
  const foreign = await issueKey(service, { role: 'agent', agent_id: other.agentId })
  const merchant = await issueKey(service, { role: 'merchant' })
  const amend = (as: string, body: unknown, version = 1, id = mandateId) =>
    service.call('PATCH', `/v1/mandates/${id}`, {
      key: as,
      body,
      headers: { 'if-match': `"${version}"` },
    })
  const wider = [{ max_spend_total: '100.01' }, { allowed_sellers: ['*'] }, { purpose: 'Anything' }]
  for (const body of wider) {
    const refused = await amend(key, body)
    assert.deepEqual([refused.status, refused.body], [403, { detail: 'widening_needs_owner' }])
  }
  const notFound = [404, { detail: 'not_found' }]
  for (const [as, id] of [
    [foreign, mandateId],
    [key, other.mandateId],
    [service.productionKey, mandateId],
    [service.sandboxKey, unknownId],
  ] as const) {
    const answer = await amend(as, { max_spend_total: '1' }, 1, id)
    assert.deepEqual([answer.status, answer.body], notFound)
    const versions = await service.call('GET', `/v1/mandates/${id}/versions`, { key: as })
    assert.deepEqual([versions.status, versions.body], notFound)
  }
  assert.equal((await amend(merchant, { max_spend_total: '1' })).status, 403)
  assert.equal((await amend(key, { max_spend_total: '20.00', allowed_sellers: [] })).status, 200)
  assert.equal((await amend(key, { max_spend_total: '30.00' }, 2)).status, 403)
  assert.equal((await amend(service.sandboxKey, { max_spend_total: '30.00' }, 2)).body.version, 3)
})

test('A cut below what is committed is refused with the figures; end_holds ends the open proofs', async () => {
  const service = await shareTestService()
  const purchase = await preparePurchase(service)
  await verifyProof(service, await issueProof(service, purchase, '3.00'))
  const open = await issueProof(service, purchase, '4.00')
  const amend = (body: unknown) =>
    service.call('PATCH', `/v1/mandates/${purchase.mandateId}`, { body, headers: { 'if-match': '"1"' } })
  const refused = await amend({ max_spend_total: '5.00' })
  assert.equal(refused.status, 409)
  assert.deepEqual(refused.body, {
    detail: 'budget_below_committed',
    max_spend_total: '5.00',
    spent_total: '3.00',
    held_total: '4.00',
    authorized_total: '0.00',
  })
  const cut = await amend({ max_spend_total: '5.00', end_holds: true })
  assert.deepEqual([cut.status, cut.body.held_total, cut.body.spent_total], [200, '0.00', '3.00'])
  assert.equal((await verifyProof(service, open)).body.reason, 'proof_expired')
  assert.equal((await askForProof(service, purchase, '3.00')).status, 402)
  await service.call('PATCH', `/mandates/${purchase.mandateId}/revoke`)
  const revoked = await amend({ max_spend_total: '6.00' })
  assert.deepEqual([revoked.status, revoked.body], [409, { detail: 'mandate_revoked' }])
})

test('end_holds ends the open proofs although the terms stay the same; a retry ends no later ones', async () => {
  const service = await shareTestService()
  const purchase = await preparePurchase(service)
  const proof = await issueProof(service, purchase, '4.00')
  const amend = (body: unknown, version: number) =>
    service.call('PATCH', `/v1/mandates/${purchase.mandateId}`, {
      body,
      headers: { 'if-match': `"${version}"` },
    })
  const terms = { max_spend_total: '100.00', end_holds: true }
  assert.equal((await amend(terms, 9)).status, 412, 'not the current version')
  const ended = await amend(terms, 1)
  assert.deepEqual([ended.status, ended.body.held_total, ended.body.version], [200, '0.00', 2], ended.text)
  assert.equal((await verifyProof(service, proof)).body.reason, 'proof_expired')
  const [event] = (await service.call('GET', '/v1/audit-log?type=mandate.amended')).body
  assert.deepEqual(event.data, { version: 2, before: {}, after: {}, voided_holds: 1 })
  const retried = await amend(terms, 1)
  assert.deepEqual([retried.status, retried.body], [200, ended.body], 'the answer was lost')

  const next = await issueProof(service, purchase, '4.00')
  const late = await amend(terms, 1)
  assert.deepEqual([late.status, late.body], [412, { detail: 'version_mismatch' }], 'a proof is open')
  assert.equal((await amend({ end_holds: true }, 2)).body.held_total, '0.00')
  assert.equal((await verifyProof(service, next)).body.reason, 'proof_expired')
})

test('A seller that an amendment removed cannot collect an open proof', async () => {
  const service = await shareTestService()
  const purchase = await preparePurchase(service)
  const proof = await issueProof(service, purchase)
  const body = { allowed_sellers: ['other.example.com'] }
  await service.call('PATCH', `/v1/mandates/${purchase.mandateId}`, { body, headers: { 'if-match': '"1"' } })
  const answer = await verifyProof(service, proof)
  assert.deepEqual([answer.status, answer.body], [403, { detail: 'merchant_not_allowed' }])
})

import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import { signIn } from '../../testing/console-session.ts'
import { postgres18 } from '../../testing/postgres.ts'
import { registerSeller } from '../../testing/purchases.ts'
import {
  createTenant,
  issueKey,
  issueProof,
  preparePurchase,
  startTestService,
  verifyProof,
  type TestService,
} from '../../testing/service.ts'

const service = await startTestService({ after })
const unauthorized = { status: 401, detail: 'invalid_api_key' }

test('An operator lists and reads all accounts, newest first; an owner sees only its own', async () => {
  const first = await createTenant(service, 'idp_listed_1')
  const second = await createTenant(service, 'idp_listed_2')
  const listed = await service.call('GET', '/accounts?limit=2')
  assert.equal(listed.status, 200, listed.text)
  assert.deepEqual(
    listed.body.map(({ id }: { id: string }) => id),
    [second.accountId, first.accountId],
  )
  assert.match(listed.headers.get('link') ?? '', /rel="next"/)
  const shown = await service.call('GET', `/accounts/${first.accountId}`)
  assert.deepEqual(shown.body, listed.body[1])
  assert.deepEqual([shown.body.status, shown.body.disabled_at], ['active', null])

  const key = first.sandboxKey
  assert.deepEqual((await service.call('GET', `/accounts/${first.accountId}`, { key })).body, shown.body)
  for (const id of [second.accountId, 'acct_unknown']) {
    assert.deepEqual(answerOf(await service.call('GET', `/accounts/${id}`, { key })), {
      status: 404,
      detail: 'not_found',
    })
  }
  assert.equal((await service.call('GET', '/accounts', { key })).status, 403)
})

test('The keys, sessions, merchants and open proofs of a disabled account stop at once; all except the proofs work again once it is enabled', async () => {
  const tenant = await createTenant(service, 'idp_disabled')
  const shop = await createTenant(service, 'idp_shop')
  const domain = 'disabled.example.com'
  await registerSeller(service, domain, shop.sandboxKey)
  const purchase = {
    ...(await preparePurchase(service, { allowed_sellers: [domain] }, tenant.sandboxKey)),
    resourceUrl: `https://${domain}/data`,
  }
  const inTenant = { ...service, call: asOwner(tenant.sandboxKey) }
  const agentKey = await issueKey(service, { role: 'agent', agent_id: purchase.agentId }, tenant.sandboxKey)
  const merchantKey = await issueKey(service, { role: 'merchant' }, tenant.sandboxKey)
  const open = await issueProof(inTenant, purchase)
  const verify = (key: string, proof = open) =>
    verifyProof(service, proof, { merchant_domain: domain }, { key })
  const browser = await signIn(service, tenant.sandboxKey)

  const disabled = await service.call('PATCH', `/accounts/${tenant.accountId}/disable`)
  assert.equal(disabled.status, 200, disabled.text)
  assert.deepEqual(
    [disabled.body.status, disabled.body.disabled_at],
    ['disabled', new Date(service.clock.nowMs).toISOString()],
  )
  for (const key of [tenant.sandboxKey, tenant.productionKey, agentKey]) {
    assert.deepEqual(answerOf(await service.call('GET', '/v1/transactions', { key })), unauthorized)
  }
  assert.deepEqual(answerOf(await verify(merchantKey)), unauthorized, 'its merchant cannot collect')
  const byShop = await verify(shop.sandboxKey)
  assert.deepEqual([byShop.status, byShop.body.reason], [402, 'proof_expired'])
  assert.deepEqual(answerOf(await browser.call('GET', '/agents')), { status: 401, detail: 'invalid_session' })
  const session = await service.call('POST', '/v1/console/session', {
    key: null,
    body: { api_key: tenant.sandboxKey },
  })
  assert.deepEqual(answerOf(session), unauthorized)
  const asked = {
    agent_id: purchase.agentId,
    mandate_id: purchase.mandateId,
    merchant_domain: domain,
    amount: '1.00',
    resource_url: purchase.resourceUrl,
  }
  const verifyAgent = () => service.call('POST', '/v1/verify-agent', { key: shop.sandboxKey, body: asked })
  assert.equal((await verifyAgent()).body.authorized, false, 'verify-agent does not vouch for its agent')

  const enabled = await service.call('PATCH', `/accounts/${tenant.accountId}/enable`)
  assert.deepEqual([enabled.status, enabled.body.status], [200, 'active'])
  assert.equal((await browser.call('GET', '/agents')).status, 200)
  assert.equal((await verifyAgent()).body.authorized, true)
  assert.equal((await verify(shop.sandboxKey)).body.reason, 'proof_expired', 'an ended proof stays ended')
  const mandate = await service.call('GET', `/mandates/${purchase.mandateId}`, { key: tenant.sandboxKey })
  assert.deepEqual([mandate.body.spent_total, mandate.body.held_total], ['0.00', '0.00'])
  assert.equal((await verify(shop.sandboxKey, await issueProof(inTenant, purchase))).status, 200)

  const types = ['account.enabled', 'proofs.voided', 'account.disabled']
  assert.deepEqual(await eventsAbout(tenant.accountId, tenant.sandboxKey), types)
  assert.deepEqual(
    await eventsAbout(tenant.accountId, tenant.productionKey),
    types.filter((type) => type !== 'proofs.voided'),
  )
  assert.deepEqual(
    (await eventsAbout(tenant.accountId, service.sandboxKey)).slice(0, 2),
    ['account.enabled', 'account.disabled'],
    "the operator's log has the event too",
  )
})

test('An operator cannot disable its own account, and other roles cannot disable any', async () => {
  const tenant = await createTenant(service, 'idp_not_disabled')
  const [{ account_id: own }] = (await service.call('GET', '/accounts/api-keys')).body
  assert.deepEqual(answerOf(await service.call('PATCH', `/accounts/${own}/disable`)), {
    status: 409,
    detail: 'own_account',
  })
  for (const move of ['disable', 'enable']) {
    const path = `/accounts/${tenant.accountId}/${move}`
    assert.equal((await service.call('PATCH', path, { key: tenant.sandboxKey })).status, 403)
    assert.equal((await service.call('PATCH', `/accounts/acct_unknown/${move}`)).status, 404)
  }
  assert.equal((await service.call('GET', '/agents', { key: tenant.sandboxKey })).status, 200)
})

test(
  'A disabled account is disabled in every process on the same database',
  { skip: postgres18.missing ?? false },
  async (t) => {
    const { url, drop } = await postgres18.createDatabase()
    t.after(drop)
    const settings = {
      PURSER_DATABASE: url,
      PURSER_WORKERS: '1',
      PURSER_PROOF_SECRET: '5f0c4e1b9a7d8236e4b1c09f7a6d5e3c2b',
    }
    const one = await startTestService(t, settings)
    const other = await startTestService(t, settings)
    const { accountId, sandboxKey: key } = await createTenant(one)
    const purchase = await preparePurchase(one, {}, key)
    const inOther = { ...other, call: asOwner(key, other) }
    // Both kinds of capture: decided on what was read, and as one optimistic statement for a cached caller.
    for (let count = 0; count < 3; count++) {
      const paid = await verifyProof(inOther, await issueProof(inOther, purchase))
      assert.equal(paid.status, 200, paid.text)
    }
    const open = await issueProof(inOther, purchase)
    const browser = await signIn(other, key)
    assert.equal(
      (await one.call('PATCH', `/accounts/${accountId}/disable`, { key: one.sandboxKey })).status,
      200,
    )
    assert.deepEqual(answerOf(await verifyProof(inOther, open)), unauthorized)
    assert.deepEqual(answerOf(await inOther.call('GET', '/agents')), unauthorized)
    assert.equal((await browser.call('GET', '/agents')).status, 401)
  },
)

test('An owner lists and ends sessions of its own account only', async () => {
  const tenant = await createTenant(service, 'idp_sessions')
  const stranger = await createTenant(service, 'idp_stranger')
  const key = tenant.sandboxKey
  const stolen = await signIn(service, key)
  const own = await signIn(service, tenant.productionKey)
  const listed = await service.call('GET', '/accounts/sessions', { key })
  assert.equal(listed.status, 200, listed.text)
  const [second, first] = listed.body
  assert.equal(listed.body.length, 2)
  const at = new Date(service.clock.nowMs).toISOString()
  assert.deepEqual(
    [first.kind, first.role, first.environments, first.created_at, first.used_at, first.is_current],
    ['key', 'owner', ['sandbox'], at, at, false],
  )
  assert.ok(!listed.text.includes('token') && !listed.text.includes(stolen.cookie.split('.')[1] ?? 'x'))
  const byCookie = (await own.call('GET', '/accounts/sessions')).body
  assert.deepEqual(
    byCookie.map(({ id, is_current: isCurrent }: Record<string, unknown>) => [id, isCurrent]),
    [
      [second.id, true],
      [first.id, false],
    ],
  )

  const path = `/accounts/sessions/${first.id}`
  const byStranger = await service.call('DELETE', path, { key: stranger.sandboxKey })
  assert.deepEqual(answerOf(byStranger), { status: 404, detail: 'not_found' })
  const named = `?account_id=${tenant.accountId}`
  for (const [method, where] of [
    ['GET', '/accounts/sessions'],
    ['DELETE', path],
  ] as const) {
    const answer = await service.call(method, where + named, { key: stranger.sandboxKey })
    assert.deepEqual(answerOf(answer), { status: 403, detail: 'insufficient_scope' })
  }
  assert.equal((await stolen.call('GET', '/agents')).status, 200, 'it still works')
  assert.deepEqual((await service.call('DELETE', path, { key })).body, { ended: true })
  assert.deepEqual(answerOf(await stolen.call('GET', '/agents')), { status: 401, detail: 'invalid_session' })
  assert.equal((await own.call('GET', '/agents')).status, 200)
  assert.equal((await service.call('DELETE', path, { key })).status, 404)
  assert.deepEqual(await eventsAbout(first.id, key), ['session.ended', 'session.started'])
})

test('An operator lists and ends the sessions, and lists and revokes the keys, of any account', async () => {
  const tenant = await createTenant(service, 'idp_looked_after')
  const named = `?account_id=${tenant.accountId}`
  const browser = await signIn(service, tenant.sandboxKey)
  const [session] = (await service.call('GET', `/accounts/sessions${named}`)).body
  assert.equal(session.account_id, tenant.accountId)
  assert.equal((await service.call('DELETE', `/accounts/sessions/${session.id}${named}`)).status, 200)
  assert.equal((await browser.call('GET', '/agents')).status, 401)

  const keys = (await service.call('GET', `/accounts/api-keys${named}`)).body
  assert.equal(keys.length, 2)
  for (const { id } of keys) {
    const revoked = await service.call('DELETE', `/accounts/api-keys/${id}${named}`)
    assert.deepEqual([revoked.status, revoked.body.account_id], [200, tenant.accountId], revoked.text)
  }
  const answer = await service.call('GET', '/agents', { key: tenant.sandboxKey })
  assert.deepEqual(answerOf(answer), unauthorized, 'even the last owner key: an operator can issue another')
  const issued = await issueKey(service, { role: 'owner', account_id: tenant.accountId })
  const events = await service.call('GET', `/v1/audit-log?type=api_key.revoked`, { key: issued })
  assert.equal(events.body.length, 1, "the account's log has the key of that environment")

  const unknown = '?account_id=acct_unknown'
  for (const [method, path] of [
    ['GET', '/accounts/api-keys'],
    ['GET', '/accounts/sessions'],
    ['DELETE', `/accounts/sessions/${session.id}`],
    ['DELETE', `/accounts/api-keys/${keys[0].id}`],
  ] as const) {
    assert.equal((await service.call(method, path + unknown)).status, 404, path)
  }
  const owner = await issueKey(service, { role: 'owner' })
  const byOwner = await service.call('GET', `/accounts/api-keys${named}`, { key: owner })
  assert.equal(byOwner.status, 403)
})

/** The calls of a service, with another key unless a test passes one. */
function asOwner(key: string, { call }: TestService = service): TestService['call'] {
  return (method, path, options = {}) => call(method, path, { key, ...options })
}

function answerOf({ status, body }: { status: number; body: { detail?: unknown } }) {
  return { status, detail: body.detail }
}

async function eventsAbout(subjectId: string, key: string): Promise<string[]> {
  const { body } = await service.call('GET', `/v1/audit-log?subject_id=${subjectId}`, { key })
  return body.map(({ type }: { type: string }) => type)
}

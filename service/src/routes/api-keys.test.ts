import assert from 'node:assert/strict'
import { test } from 'node:test'

import Database from 'better-sqlite3'

import { hashApiKey, isWellFormedApiKey } from '../domain/api-key.ts'
import { createTenant, issueKey, preparePurchase, startTestService } from '../../testing/service.ts'
import { shareTestService } from '../../testing/shared-service.ts'
import type { TestAnswer, TestService } from '../../testing/service.ts'

test('An issued key comes with its text, of which only the SHA-256 is stored [auth.2]', async () => {
  const service = await shareTestService()
  const issued = await issue(service, { role: 'merchant', environment: 'sandbox', label: 'the shop' })
  const { id, key, account_id: accountId, ...rest } = issued.body
  assert.equal(issued.status, 201)
  assert.match(id, /^key_/)
  assert.match(accountId, /^acct_/)
  // 30 characters of base62 carry 178 random bits; 6 more are the checksum.
  assert.match(key, /^svc_sand_[0-9A-Za-z]{36}$/)
  assert.deepEqual(rest, {
    label: 'the shop',
    role: 'merchant',
    environment: 'sandbox',
    agent_id: null,
    hint: key.slice(-4),
    created_at: '2026-11-20T12:00:00.000Z',
    revoked_at: null,
  })
  const { everything, hashes } = readStore(service)
  assert.ok(hashes.includes(hashApiKey(key).toString('hex')))
  assert.ok(!everything.includes(key), 'the text of the key is nowhere in the store')
  assert.ok(!everything.includes(key.slice(9)), 'nor is the text without its prefix')
})

test('Sandbox keys begin with svc_sand_ and production keys with svc_prod_, whoever issues them [auth.2]', async () => {
  const service = await shareTestService()
  for (const key of [service.sandboxKey, service.productionKey]) {
    const sandbox = await issue(service, { role: 'owner', environment: 'sandbox' }, key)
    const production = await issue(service, { role: 'owner', environment: 'production' }, key)
    assert.match(sandbox.body.key, /^svc_sand_/)
    assert.match(production.body.key, /^svc_prod_/)
  }
})

test('Keys are listed without their text, newest first, for both environments', async () => {
  const service = await shareTestService()
  const first = await issue(service, { role: 'owner', environment: 'production', label: 'first' })
  const second = await issue(service, { role: 'merchant', environment: 'sandbox' })
  const list = await service.call('GET', '/accounts/api-keys')
  assert.equal(list.status, 200)
  assert.equal(list.body.length, 4)
  for (const [index, { body }] of [second, first].entries()) {
    const { key: _, ...withoutText } = body
    assert.deepEqual(list.body[index], withoutText)
  }
  for (const text of [first.body.key, second.body.key, service.sandboxKey, service.productionKey]) {
    assert.ok(!list.text.includes(text))
  }
})

test('DELETE revokes a key at once; a second delete answers the same [endpoint.api-keys.revoke] [auth.4]', async () => {
  const service = await shareTestService()
  const { key, ...record } = (await issue(service, { role: 'merchant', environment: 'sandbox' })).body
  assert.equal((await service.call('GET', '/sellers', { key })).status, 200)

  const first = await service.call('DELETE', `/accounts/api-keys/${record.id}`)
  assert.equal(first.status, 200)
  assert.deepEqual(first.body, { ...record, revoked_at: '2026-11-20T12:00:00.000Z' })
  const refused = await service.call('GET', '/sellers', { key })
  assert.equal(refused.status, 401)
  assert.deepEqual(refused.body, { detail: 'invalid_api_key' })

  service.clock.nowMs += 60_000
  const second = await service.call('DELETE', `/accounts/api-keys/${record.id}`)
  assert.deepEqual([second.status, second.text], [200, first.text])
  const events = await service.call('GET', `/v1/audit-log?subject_id=${record.id}`)
  assert.deepEqual(
    events.body.map(({ type }: { type: string }) => type),
    ['api_key.revoked', 'api_key.created'],
    'the second delete records no event',
  )
})

test('An unknown key_id is 404 not_found [endpoint.api-keys.revoke]', async () => {
  const service = await shareTestService()
  for (const id of ['key_01jd0000000000000000000000', 'x', '%20', 'api-keys']) {
    const { status, body } = await service.call('DELETE', `/accounts/api-keys/${id}`)
    assert.deepEqual([status, body], [404, { detail: 'not_found' }])
  }
})

test("The account's last working operator or owner key is 409 last_owner_key", async (t) => {
  const service = await startTestService(t)
  const tenant = await createTenant(service)
  const key = tenant.sandboxKey
  await issue(service, { role: 'merchant', environment: 'sandbox' }, key)
  const { body: keys } = await service.call('GET', '/accounts/api-keys', { key })
  const idOf = (environment: string) =>
    keys.find((one: Record<string, unknown>) => one['role'] === 'owner' && one['environment'] === environment)
      .id as string

  const other = await service.call('DELETE', `/accounts/api-keys/${idOf('production')}`, { key })
  assert.equal(other.status, 200, 'one is left')
  const last = await service.call('DELETE', `/accounts/api-keys/${idOf('sandbox')}`, { key })
  assert.deepEqual([last.status, last.body], [409, { detail: 'last_owner_key' }])
  assert.equal((await service.call('GET', '/accounts/api-keys', { key })).status, 200, 'it still works')

  const spare = await issueKey(service, { role: 'owner' }, key)
  const now = await service.call('DELETE', `/accounts/api-keys/${idOf('sandbox')}`, { key })
  assert.equal(now.status, 200, 'a key may revoke itself if another is left')
  assert.equal((await service.call('GET', '/agents', { key })).status, 401)
  assert.equal((await service.call('GET', '/agents', { key: spare })).status, 200)
})

test('If the last two owner keys revoke each other, one remains', async (t) => {
  const service = await startTestService(t)
  for (let round = 0; round < 5; round++) {
    const tenant = await createTenant(service, `idp_race_${round}`)
    const keys = [tenant.sandboxKey, tenant.productionKey]
    const { body } = await service.call('GET', '/accounts/api-keys', { key: tenant.sandboxKey })
    const answers = await Promise.all(
      body.map((record: { id: string }, index: number) =>
        service.call('DELETE', `/accounts/api-keys/${record.id}`, { key: keys[index] ?? '' }),
      ),
    )
    assert.ok(answers.filter(({ status }: TestAnswer) => status === 200).length <= 1)
    const left = await Promise.all(keys.map((key) => service.call('GET', '/accounts/api-keys', { key })))
    assert.ok(left.filter(({ status }) => status === 200).length >= 1)
  }
})

test('An operator issues a key for another account, an owner does not', async (t) => {
  const service = await startTestService(t)
  const tenant = await createTenant(service)
  const wish = { role: 'owner', environment: 'sandbox', account_id: tenant.accountId }
  const issued = await issue(service, wish)
  assert.equal(issued.status, 201)
  assert.equal(issued.body.account_id, tenant.accountId)
  const keys = await service.call('GET', '/accounts/api-keys', { key: issued.body.key })
  assert.equal(keys.body.length, 3, 'the key works within the other account')
  const own = await service.call('GET', '/accounts/api-keys')
  assert.equal(own.body.length, 2, 'and is not among those of the operator')

  const unknown = await issue(service, { ...wish, account_id: 'acct_01jd0000000000000000000000' })
  assert.deepEqual([unknown.status, unknown.body], [404, { detail: 'not_found' }])

  const ownersKey = await issueKey(service, { role: 'owner' })
  for (const account_id of [tenant.accountId, 'acct_01jd0000000000000000000000']) {
    const refused = await issue(service, { ...wish, account_id }, ownersKey)
    assert.deepEqual([refused.status, refused.body], [403, { detail: 'insufficient_scope' }])
  }
  const itself = await issue(service, { ...wish, account_id: own.body[0].account_id }, ownersKey)
  assert.equal(itself.status, 201, 'an owner may name its own account')
})

test('An owner may not issue operator keys', async (t) => {
  const service = await startTestService(t)
  const owner = await issueKey(service, { role: 'owner' })
  const wish = { role: 'operator', environment: 'sandbox' }
  const refused = await issue(service, wish, owner)
  assert.deepEqual([refused.status, refused.body], [403, { detail: 'insufficient_scope' }])
  const { body: keys } = await service.call('GET', '/accounts/api-keys')
  assert.equal(keys.filter(({ role }: { role: string }) => role === 'operator').length, 2)
  assert.equal((await issue(service, wish)).status, 201, 'an operator may')
})

test('A key of the role agent is bound to an agent of its account and environment, no other key is', async (t) => {
  const service = await startTestService(t)
  const { agentId } = await preparePurchase(service)
  const agentKey = { role: 'agent', environment: 'sandbox', agent_id: agentId }
  const bound = await issue(service, agentKey)
  assert.deepEqual([bound.status, bound.body.agent_id], [201, agentId])

  for (const body of [
    { role: 'agent', environment: 'sandbox' },
    { ...agentKey, agent_id: null },
  ]) {
    const missing = await issue(service, body)
    assert.equal(missing.status, 422)
    assert.deepEqual(missing.body.detail, [
      { type: 'missing', loc: ['body', 'agent_id'], msg: 'Field required', input: body },
    ])
  }
  for (const role of ['owner', 'merchant', 'operator']) {
    const { status, body } = await issue(service, { ...agentKey, role })
    assert.equal(status, 422, role)
    assert.deepEqual([body.detail[0].type, body.detail[0].loc], ['value_error', ['body', 'agent_id']])
  }
  for (const wish of [
    { ...agentKey, agent_id: 'agent_01jd0000000000000000000000' },
    { ...agentKey, environment: 'production' },
    { ...agentKey, account_id: (await createTenant(service)).accountId },
  ]) {
    const { status, body } = await issue(service, wish)
    assert.deepEqual([status, body], [404, { detail: 'not_found' }])
  }
  await service.call('PATCH', `/agents/${agentId}/revoke`)
  const late = await issue(service, agentKey)
  assert.deepEqual([late.status, late.body], [409, { detail: 'agent_revoked' }])
})

test('A key that speaks for an agent cannot issue, list or revoke keys', async () => {
  const service = await shareTestService()
  const { agentId } = await preparePurchase(service)
  const key = await issueKey(service, { role: 'agent', agent_id: agentId })
  const { body: keys } = await service.call('GET', '/accounts/api-keys')
  for (const [method, path] of [
    ['POST', '/accounts/api-keys'],
    ['GET', '/accounts/api-keys'],
    ['DELETE', `/accounts/api-keys/${keys[0].id}`],
  ] as const) {
    const { status, body } = await service.call(method, path, { key })
    assert.deepEqual([status, body], [403, { detail: 'insufficient_scope' }])
  }
  assert.deepEqual((await service.call('GET', '/accounts/api-keys')).body, keys)
})

test('A mistyped key is detected by its checksum, whichever character is wrong', async () => {
  const service = await shareTestService()
  const key = await issueKey(service, { role: 'owner' })
  assert.ok(isWellFormedApiKey(key))
  for (let index = 0; index < key.length; index++) {
    const wrong = key.slice(0, index) + (key[index] === 'a' ? 'b' : 'a') + key.slice(index + 1)
    assert.ok(!isWellFormedApiKey(wrong), `character ${index}`)
  }
  assert.ok(!isWellFormedApiKey(key.replace('svc_sand_', 'svc_prod_')))
})

test('An invalid key request is a 422, and no key is issued [errors.422]', async () => {
  const service = await shareTestService()
  const fit = { role: 'owner', environment: 'sandbox' }
  const cases: [body: Record<string, unknown>, type: string, field: string][] = [
    [{ environment: 'sandbox' }, 'missing', 'role'],
    [{ role: 'owner' }, 'missing', 'environment'],
    [{ ...fit, role: 'root' }, 'literal_error', 'role'],
    [{ ...fit, environment: 'staging' }, 'literal_error', 'environment'],
    [{ ...fit, label: 'x'.repeat(201) }, 'string_too_long', 'label'],
    [{ ...fit, agent_id: 1 }, 'string_type', 'agent_id'],
  ]
  for (const [wish, type, field] of cases) {
    const { status, body } = await issue(service, wish)
    assert.equal(status, 422)
    assert.deepEqual([body.detail[0].type, body.detail[0].loc], [type, ['body', field]])
  }
  assert.equal((await service.call('GET', '/accounts/api-keys')).body.length, 2)
})

function issue(service: TestService, body: unknown, key: string = service.sandboxKey): Promise<TestAnswer> {
  return service.call('POST', '/accounts/api-keys', { key, body })
}

/** Everything that the store has written, as text, and the hashes of its keys. */
function readStore({ databasePath }: TestService): { everything: string; hashes: string[] } {
  const db = new Database(databasePath, { readonly: true })
  try {
    const tables = db.prepare("select name from sqlite_schema where type = 'table'").pluck().all() as string[]
    const everything = tables
      .map((table) => JSON.stringify(db.prepare(`select * from "${table}"`).all()))
      .join('\n')
    const hashes = db.prepare('select lower(hex(secret_hash)) from key_hashes').pluck().all() as string[]
    return { everything, hashes }
  } finally {
    db.close()
  }
}

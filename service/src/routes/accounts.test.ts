import assert from 'node:assert/strict'
import { test } from 'node:test'

import { isWellFormedApiKey } from '../domain/api-key.ts'
import { createTenant, issueKey, preparePurchase, startTestService } from '../../testing/service.ts'

const ada = { name: 'Ada', email: 'ada@example.com', idp_user_id: 'idp_ada' }

test('POST /accounts creates an account from name, email and idp_user_id [endpoint.accounts.create] [account.fields]', async (t) => {
  const service = await startTestService(t)
  const { status, body } = await service.call('POST', '/accounts', { body: ada })
  const { id, api_keys: _, ...echoed } = body
  assert.equal(status, 201)
  assert.match(id, /^acct_/)
  assert.deepEqual(echoed, {
    ...ada,
    status: 'active',
    created_at: '2026-11-20T12:00:00.000Z',
    disabled_at: null,
  })
})

test('An account comes with an owner key of each environment, shown this once [auth.2]', async (t) => {
  const service = await startTestService(t)
  const { body } = await service.call('POST', '/accounts', { body: ada })
  const keys = body.api_keys as { key: string; id: string }[]
  assert.deepEqual(
    body.api_keys.map((key: Record<string, unknown>) => [key['environment'], key['role'], key['account_id']]),
    [
      ['sandbox', 'owner', body.id],
      ['production', 'owner', body.id],
    ],
  )
  assert.match(keys[0]?.key ?? '', /^svc_sand_[0-9A-Za-z]{36}$/)
  assert.match(keys[1]?.key ?? '', /^svc_prod_[0-9A-Za-z]{36}$/)
  for (const { key, id } of keys) {
    assert.ok(isWellFormedApiKey(key))
    const list = await service.call('GET', '/accounts/api-keys', { key })
    assert.equal(list.status, 200, 'the key works')
    assert.ok(list.body.some((listed: { id: string }) => listed.id === id))
    assert.ok(!list.text.includes(key), 'its text is not shown again')
  }
})

test('A second account with the same idp_user_id is 409 account_exists, and creates no keys', async (t) => {
  const service = await startTestService(t)
  const first = await service.call('POST', '/accounts', { body: ada })
  const second = await service.call('POST', '/accounts', {
    body: { ...ada, name: 'Other', email: 'o@example.com' },
  })
  assert.equal(first.status, 201)
  assert.equal(second.status, 409)
  assert.deepEqual(second.body, { detail: 'account_exists' })
  const [{ key }] = first.body.api_keys
  const keys = await service.call('GET', '/accounts/api-keys', { key })
  assert.equal(keys.body.length, 2, 'the first account has only its two keys')
})

test('If requests race to create an account for one identity provider user, one succeeds', async (t) => {
  const service = await startTestService(t)
  const answers = await Promise.all(
    Array.from({ length: 12 }, () => service.call('POST', '/accounts', { body: ada })),
  )
  const statuses = answers.map(({ status }) => status).sort((a, b) => a - b)
  assert.deepEqual(statuses, [201, ...Array.from({ length: 11 }, () => 409)])
})

test('Only an operator creates accounts, of either environment', async (t) => {
  const service = await startTestService(t)
  const { agentId } = await preparePurchase(service)
  const tenant = await createTenant(service)
  const tooSmall = [
    tenant.sandboxKey,
    await issueKey(service, { role: 'owner' }),
    await issueKey(service, { role: 'agent', agent_id: agentId }),
    await issueKey(service, { role: 'merchant' }),
  ]
  for (const key of tooSmall) {
    const { status, body } = await service.call('POST', '/accounts', { key, body: ada })
    assert.equal(status, 403)
    assert.deepEqual(body, { detail: 'insufficient_scope' })
  }
  const created = await service.call('POST', '/accounts', { key: service.productionKey, body: ada })
  assert.equal(created.status, 201, 'none of the refused requests used up the idp_user_id')
})

test('The first start creates one account with an operator key for each environment', async (t) => {
  const service = await startTestService(t)
  const { body } = await service.call('GET', '/accounts/api-keys')
  assert.deepEqual(body.map((key: Record<string, unknown>) => [key['role'], key['environment']]).sort(), [
    ['operator', 'production'],
    ['operator', 'sandbox'],
  ])
  assert.equal(new Set(body.map((key: { account_id: string }) => key.account_id)).size, 1)
})

test('Keys chosen by the operator work without a checksum, and no others are generated', async (t) => {
  const service = await startTestService(t, {
    PURSER_BOOTSTRAP_SANDBOX_KEY: 'svc_sand_chosen_by_hand',
    PURSER_BOOTSTRAP_PRODUCTION_KEY: 'svc_prod_chosen_by_hand',
  })
  for (const key of ['svc_sand_chosen_by_hand', 'svc_prod_chosen_by_hand']) {
    const { status, body } = await service.call('GET', '/accounts/api-keys', { key })
    assert.equal(status, 200)
    assert.equal(body.length, 2)
  }
  const { status } = await service.call('GET', '/accounts/api-keys', { key: 'svc_sand_chosen_by_hanD' })
  assert.equal(status, 401)
})

const unfit: [title: string, body: unknown, items: [type: string, ...loc: string[]][]][] = [
  [
    'nothing',
    {},
    [
      ['missing', 'body', 'name'],
      ['missing', 'body', 'email'],
      ['missing', 'body', 'idp_user_id'],
    ],
  ],
  ['no e-mail address', { ...ada, email: 'ada' }, [['value_error', 'body', 'email']]],
  ['a number for a name', { ...ada, name: 1 }, [['string_type', 'body', 'name']]],
]

test('An invalid account is a 422, and is not created [errors.422] [account.fields]', async (t) => {
  const service = await startTestService(t)
  for (const [title, body, items] of unfit) {
    const answer = await service.call('POST', '/accounts', { body })
    assert.equal(answer.status, 422, title)
    const found = answer.body.detail.map(({ type, loc }: { type: string; loc: string[] }) => [type, ...loc])
    assert.deepEqual(found, items, title)
  }
  const events = await service.call('GET', '/v1/audit-log?type=account.created')
  assert.equal(events.body.length, 1, 'the first account is still the only one')
})

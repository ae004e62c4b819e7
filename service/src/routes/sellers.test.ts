import assert from 'node:assert/strict'
import { test } from 'node:test'

import {
  askForProof,
  createTenant,
  issueKey,
  preparePurchase,
  verifyProof,
  startTestService,
} from '../../testing/service.ts'
import { serviceStores, startServiceOn } from '../../testing/service-stores.ts'
import { shareTestService } from '../../testing/shared-service.ts'

const shop = { name: 'Shop', domain: 'api.example.com', price_config: { default: '0.10' } }

test('POST /sellers creates a seller from name, domain and price_config [endpoint.sellers.create] [seller.fields]', async () => {
  const service = await shareTestService()
  const { status, body } = await service.call('POST', '/sellers', { body: shop })
  const { id, ...rest } = body
  assert.equal(status, 201)
  assert.match(id, /^seller_/)
  assert.deepEqual(rest, { ...shop, created_at: '2026-11-20T12:00:00.000Z' })
})

test('A public suffix cannot be registered', async () => {
  const service = await shareTestService()
  for (const domain of ['co.uk', 'github.io', 'GitHub.IO.', 'com', 'b.kawasaki.jp', 'xn--55qx5d.cn']) {
    const { status, body } = await service.call('POST', '/sellers', { body: { ...shop, domain } })
    assert.equal(status, 422, domain)
    assert.deepEqual([body.detail[0].loc, body.detail[0].input], [['body', 'domain'], domain])
    assert.match(body.detail[0].msg, /public suffix.* register your own domain below it$/)
  }
  assert.deepEqual((await service.call('GET', '/sellers')).body, [])
  for (const domain of ['shop.co.uk', 'shop.github.io', 'shop.internal', 'localhost']) {
    assert.equal((await service.call('POST', '/sellers', { body: { ...shop, domain } })).status, 201, domain)
  }
})

test("The keys and values inside price_config are the seller's own [seller.fields]", async () => {
  const service = await shareTestService()
  const text =
    '{"":null,"a":{"b":[1,"2",true,{}]},"0":0.1,"__proto__":{"x":1},"constructor":"c","text":"ünïcode \\u0000"}'
  const raw = `{"name":"Shop","domain":"own.example.com","price_config":${text}}`
  const headers = { 'content-type': 'application/json' }
  const created = await service.call('POST', '/sellers', { raw, headers })
  assert.equal(created.status, 201)
  const [listed] = (await service.call('GET', '/sellers')).body
  assert.deepEqual(created.body.price_config, JSON.parse(text))
  assert.deepEqual(listed.price_config, JSON.parse(text))
  assert.equal(
    JSON.stringify(Object.entries(listed.price_config).find(([key]) => key === '__proto__')?.[1]),
    '{"x":1}',
  )
})

test('Numbers in price_config are returned digit by digit', async (t) => {
  const service = await startTestService(t)
  const text =
    '{"big":12345678901234567890,"beyond":1e400,"fine":0.1234567890123456789,"given":[1.10,-0,2E3]}'
  const raw = `{"name":"Shop","domain":"own.example.com","price_config":${text}}`
  const created = await service.call('POST', '/sellers', {
    raw,
    headers: { 'content-type': 'application/json' },
  })
  assert.equal(created.status, 201)
  for (const { text: answer } of [created, await service.call('GET', '/sellers')])
    assert(answer.includes(text), answer)
})

test('GET /sellers lists sellers, newest first [endpoint.sellers.list]', async () => {
  const service = await shareTestService()
  assert.deepEqual((await service.call('GET', '/sellers')).body, [])
  const made: unknown[] = []
  for (const domain of ['a.example.com', 'b.example.com', 'c.example.com']) {
    made.unshift((await service.call('POST', '/sellers', { body: { ...shop, domain } })).body)
  }
  const { status, body } = await service.call('GET', '/sellers')
  assert.deepEqual([status, body], [200, made])
  const key = await issueKey(service, { role: 'merchant' })
  assert.deepEqual((await service.call('GET', '/sellers', { key })).body, made)
})

test('A domain is unique in its environment, whoever registers it: 409 seller_exists', async (t) => {
  const service = await startTestService(t)
  const tenant = await createTenant(service)
  assert.equal((await service.call('POST', '/sellers', { body: shop })).status, 201)
  for (const key of [service.sandboxKey, tenant.sandboxKey]) {
    const { status, body } = await service.call('POST', '/sellers', { key, body: { ...shop, name: 'Other' } })
    assert.deepEqual([status, body], [409, { detail: 'seller_exists' }])
  }
  const elsewhere = await service.call('POST', '/sellers', { key: tenant.productionKey, body: shop })
  assert.equal(elsewhere.status, 201, 'the other environment has separate domains')
  const late = await service.call('POST', '/sellers', { key: service.productionKey, body: shop })
  assert.equal(late.status, 409)
  assert.equal((await service.call('GET', '/sellers')).body.length, 1)
  assert.equal((await service.call('GET', '/sellers', { key: tenant.sandboxKey })).body.length, 0)
  assert.equal((await service.call('GET', '/sellers', { key: service.productionKey })).body.length, 0)
})

test('If registrations of one domain race, one seller is created', async (t) => {
  const service = await startTestService(t)
  const tenant = await createTenant(service)
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      service.call('POST', '/sellers', {
        key: index % 2 === 0 ? service.sandboxKey : tenant.sandboxKey,
        body: shop,
      }),
    ),
  )
  assert.deepEqual(
    answers.map(({ status }) => status).sort((a, b) => a - b),
    [201, ...Array.from({ length: 11 }, () => 409)],
  )
})

const spellings: [sent: string, kept: string][] = [
  ['API.Example.COM', 'api.example.com'],
  ['api2.example.com.', 'api2.example.com'],
  ['  api3.example.com ', 'api3.example.com'],
  ['bücher.example', 'xn--bcher-kva.example'],
  ['BÜCHER2.example', 'xn--bcher2-3ya.example'],
  ['localhost', 'localhost'],
  ['192.0.2.7', '192.0.2.7'],
]

test('A domain is stored as a lower-case ASCII host name without a trailing dot', async (t) => {
  const service = await startTestService(t)
  for (const [sent, kept] of spellings) {
    const { status, body } = await service.call('POST', '/sellers', { body: { ...shop, domain: sent } })
    assert.equal(status, 201, sent)
    assert.equal(body.domain, kept, sent)
    const again = await service.call('POST', '/sellers', { body: { ...shop, domain: kept } })
    assert.deepEqual([again.status, again.body], [409, { detail: 'seller_exists' }], sent)
  }
})

test('An invalid seller is a 422, and is not created [errors.422] [seller.fields]', async () => {
  const service = await shareTestService()
  const cases: [body: unknown, type: string, field: string][] = [
    [{ ...shop, name: undefined }, 'missing', 'name'],
    [{ ...shop, domain: undefined }, 'missing', 'domain'],
    [{ ...shop, price_config: undefined }, 'missing', 'price_config'],
    [{ ...shop, price_config: null }, 'dict_type', 'price_config'],
    [{ ...shop, price_config: [] }, 'dict_type', 'price_config'],
    [{ ...shop, price_config: '{}' }, 'dict_type', 'price_config'],
    [{ ...shop, domain: 'https://api.example.com' }, 'value_error', 'domain'],
    [{ ...shop, domain: 'api.example.com:8080' }, 'value_error', 'domain'],
    [{ ...shop, domain: '' }, 'value_error', 'domain'],
  ]
  for (const [body, type, field] of cases) {
    const answer = await service.call('POST', '/sellers', { body })
    assert.equal(answer.status, 422, JSON.stringify(body))
    assert.deepEqual([answer.body.detail[0].type, answer.body.detail[0].loc], [type, ['body', field]])
  }
  assert.deepEqual((await service.call('GET', '/sellers')).body, [])
})

test('An operator releases a domain in the environment of its key, and another account can register it', async (t) => {
  const service = await startTestService(t)
  const [former, owner] = [
    await createTenant(service, 'idp_former'),
    await createTenant(service, 'idp_owner'),
  ]
  const register = (key: string) => service.call('POST', '/sellers', { key, body: shop })
  const release = (domain: string, key = service.sandboxKey) =>
    service.call('DELETE', `/sellers/domains/${encodeURIComponent(domain)}`, { key })
  const { body: seller } = await register(former.sandboxKey)
  assert.equal((await register(former.productionKey)).status, 201)
  const purchase = await preparePurchase(service, {}, former.sandboxKey)
  const asked = await askForProof(service, purchase, '1.00', { key: former.sandboxKey })
  const paid = await verifyProof(service, asked.body.proof, {}, { key: former.sandboxKey })
  assert.equal(paid.status, 200, paid.text)

  for (const role of ['owner', 'merchant']) {
    const key = await issueKey(service, { role }, former.sandboxKey)
    assert.equal((await release(shop.domain, key)).status, 403, role)
  }
  assert.equal((await release('unknown.example')).status, 404)
  assert.equal((await release('x'.repeat(300))).status, 404)
  const released = await release('API.Example.COM.')
  assert.deepEqual(
    [released.status, released.body],
    [200, { domain: shop.domain, seller_id: seller.id, account_id: former.accountId }],
  )
  assert.equal((await release(shop.domain)).status, 404, 'it has no seller any more')

  assert.deepEqual((await service.call('GET', '/sellers', { key: former.sandboxKey })).body, [])
  assert.equal((await service.call('GET', '/sellers', { key: former.productionKey })).body.length, 1)
  const past = await service.call('GET', `/v1/transactions/${paid.body.transaction_id}`, {
    key: former.sandboxKey,
  })
  assert.equal(past.body.seller_id, seller.id)
  assert.equal((await register(owner.sandboxKey)).status, 201)
  assert.equal((await register(former.sandboxKey)).status, 409)

  for (const key of [service.sandboxKey, former.sandboxKey]) {
    const { body } = await service.call('GET', '/v1/audit-log?type=seller.released', { key })
    assert.equal(body.length, 1)
    assert.equal(body[0].subject_id, seller.id)
    assert.equal(body[0].data.domain, shop.domain)
  }
  for (const key of [former.productionKey, owner.sandboxKey]) {
    assert.deepEqual((await service.call('GET', '/v1/audit-log?type=seller.released', { key })).body, [])
  }
})

for (const { name, missing, open } of serviceStores) {
  test(`On ${name}, releasing what cannot be a domain is 404`, { skip: missing ?? false }, async (t) => {
    const { service } = await startServiceOn(open, t)
    const { status, text } = await service.call('DELETE', '/sellers/domains/a%00b')
    assert.deepEqual([status, text], [404, '{"detail":"not_found"}'])
  })
}

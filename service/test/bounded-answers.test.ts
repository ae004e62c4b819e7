import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import { maxItems, maxLengths } from '@purser/wire/lengths'

import { maxEchoLength, maxErrors, maxPageBytes } from '../src/limits.ts'
import { askForProof, preparePurchase, startTestService, type TestService } from '../testing/service.ts'

let service: TestService
before(async (context) => {
  service = await startTestService(context as never)
})

const expiresAt = '2099-01-01T00:00:00Z'

function newMandate(agentId: string, fields: object): object {
  const limits = { max_spend_total: '10.00', max_spend_per_transaction: '1.00', expires_at: expiresAt }
  return { agent_id: agentId, purpose: 'Buy research data', ...limits, ...fields }
}

/** As many sellers as fit into a request of 64 KiB. */
const manySellers = Array.from({ length: 240 }, (_, number) => `${number}`.padStart(250, 'a'))

test('A page of large records ends early at its max size in bytes, and its links lead to all of them', async () => {
  const { agentId } = await preparePurchase(service)
  const ids: string[] = []
  for (let count = 0; count < 60; count++) {
    const { status, body } = await service.call('POST', '/mandates', {
      body: newMandate(agentId, { allowed_sellers: manySellers }),
    })
    assert.equal(status, 201)
    ids.unshift(body.id)
  }
  for (const path of ['/mandates', '/v1/console/mandates']) {
    const found: string[] = []
    let url = `${path}?limit=200`
    let pages = 0
    while (url !== '') {
      const page = await service.call('GET', url)
      assert.equal(page.status, 200, page.text)
      const bytes = Buffer.byteLength(page.text)
      assert.ok(bytes <= maxPageBytes, `${path}: a page has ${bytes} bytes`)
      found.push(...page.body.map(({ id }: { id: string }) => id))
      url = /<(.*)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1] ?? ''
      pages++
    }
    assert.ok(pages > 1)
    assert.deepEqual(found.slice(0, ids.length), ids)
  }
})

test('A record larger than a page is a page by itself', async () => {
  const huge = '\u0001'.repeat(10_000)
  await service.call('POST', '/sellers', {
    body: { name: 'Shop', domain: 'huge.example.com', price_config: { huge } },
  })
  const { status, body } = await service.call('GET', '/sellers?limit=1')
  assert.equal(status, 200)
  assert.equal(body[0].price_config.huge, huge)
})

test('A 422 lists at most 20 errors [errors.422]', async () => {
  const { agentId } = await preparePurchase(service)
  const { status, body } = await service.call('POST', '/mandates', {
    body: newMandate(agentId, { allowed_sellers: Array.from({ length: 500 }, () => 7) }),
  })
  assert.equal(status, 422)
  assert.equal(body.detail.length, maxErrors)
  assert.deepEqual(body.detail.at(-1).loc, ['body', 'allowed_sellers', 19])
})

test('A 422 truncates a long text that it echoes, and omits a large object [errors.422]', async () => {
  const long = 'é'.repeat(30_000)
  const tooLong = await service.call('POST', '/agents', { body: { name: long } })
  assert.deepEqual(tooLong.body.detail, [
    {
      type: 'string_too_long',
      loc: ['body', 'name'],
      msg: `String should have at most ${maxLengths.name} characters`,
      input: `${'é'.repeat(maxEchoLength)}…`,
      ctx: { max_length: maxLengths.name },
    },
  ])
  const noName = await service.call('POST', '/agents', { body: { description: 'x'.repeat(60_000) } })
  assert.deepEqual(noName.body.detail[0], {
    type: 'missing',
    loc: ['body', 'name'],
    msg: 'Field required',
  })
  const number = `1${'0'.repeat(4_000)}`
  const inexact = await service.call('POST', '/agents', {
    raw: `{"name":[${number},${number}]}`,
    headers: { 'content-type': 'application/json' },
  })
  assert.equal(inexact.status, 422)
  assert.ok(inexact.text.length < 1_000, 'more digits than a double has are bounded too')
  const text = await service.call('POST', '/agents', {
    raw: 'x'.repeat(60_000),
    headers: { 'content-type': 'text/plain' },
  })
  assert.ok(text.text.length < 10_000)
  const query = await service.call('GET', `/v1/audit-log?type=${'x'.repeat(10_000)}`)
  assert.equal(query.status, 422)
  assert.ok(query.text.length < 6_000)
})

test('A list with too many items is refused by its length [errors.422]', async () => {
  const { agentId } = await preparePurchase(service)
  const { status, body } = await service.call('POST', '/mandates', {
    body: newMandate(agentId, { allowed_sellers: Array.from({ length: 1_001 }, () => 'a.example') }),
  })
  assert.equal(status, 422)
  const [{ input: _input, ...item }] = body.detail
  assert.deepEqual(item, {
    type: 'too_long',
    loc: ['body', 'allowed_sellers'],
    msg: `List should have at most ${maxItems.sellers} items after validation, not 1001`,
    ctx: { field_type: 'List', max_length: maxItems.sellers, actual_length: 1_001 },
  })
})

test('A host name, a timestamp, an amount and a price_config are bounded too [errors.422]', async () => {
  const { agentId } = await preparePurchase(service)
  const seller = { name: 'Shop', domain: 'shop.example.com', price_config: {} }
  const many = Object.fromEntries(Array.from({ length: 1_001 }, (_, number) => [`price_${number}`, '1.00']))
  const refused: [path: string, body: object, type: string, field: string][] = [
    ['/sellers', { ...seller, domain: `${' '.repeat(9_000)}shop.example.com` }, 'string_too_long', 'domain'],
    ['/sellers', { ...seller, price_config: many }, 'too_long', 'price_config'],
    [
      '/mandates',
      newMandate(agentId, { expires_at: `2099-01-01T00:00:00.${'0'.repeat(9_000)}Z` }),
      'string_too_long',
      'expires_at',
    ],
    [
      '/mandates',
      newMandate(agentId, { max_spend_total: '1'.repeat(9_000) }),
      'string_too_long',
      'max_spend_total',
    ],
  ]
  for (const [path, body, type, field] of refused) {
    const answer = await service.call('POST', path, { body })
    assert.equal(answer.status, 422)
    assert.deepEqual([answer.body.detail[0].type, answer.body.detail[0].loc], [type, ['body', field]])
  }
})

test('reason_detail quotes the beginning of what was requested and of what is allowed', async () => {
  const category = 'c'.repeat(maxLengths.category)
  const sellers = Array.from({ length: 5 }, (_, number) => `${number}`.padStart(maxLengths.domain, 's'))
  const purchase = await preparePurchase(service, {
    allowed_sellers: sellers,
    allowed_categories: [category],
  })
  const proposal = {
    agent_id: purchase.agentId,
    mandate_id: purchase.mandateId,
    amount: '1.00',
    resource_url: purchase.resourceUrl,
  }
  for (const asked of [
    { merchant_domain: 'd'.repeat(maxLengths.domain) },
    { merchant_domain: sellers[0], category: 'x'.repeat(maxLengths.category) },
  ]) {
    const { status, body } = await service.call('POST', '/v1/policy/evaluate', {
      body: { ...proposal, ...asked },
    })
    assert.equal(status, 402)
    assert.match(
      body.reason_detail,
      /^The category of the payment is not allowed|^d{80}… is not an allowed seller/,
    )
    assert.ok(body.reason_detail.length <= maxLengths.reasonDetail, `${body.reason_detail.length} characters`)
  }
  await service.call('PATCH', `/agents/${purchase.agentId}/revoke`)
  const refused = await askForProof(service, purchase)
  assert.ok(refused.body.reason_detail.length <= maxLengths.reasonDetail)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { maxLengths } from '@purser/wire/lengths'
import { endpoints } from '@purser/wire/openapi'
import { defaultPageSize, maxPageSize } from '@purser/wire/pages'

import {
  createTenant,
  issueKey,
  preparePurchase,
  type Purchase,
  type TestAnswer,
  type TestService,
  startTestService,
} from '../../testing/service.ts'
import { evaluate } from '../../testing/purchases.ts'
import { shareTestService } from '../../testing/shared-service.ts'

const lists = endpoints.filter(({ query }) => query && 'cursor' in query.properties)

function pathsOf(mandateId: string): string[] {
  return lists.map(({ path }) => path.replace('{mandate_id}', mandateId))
}

test('Every list is an array, newest first, and Link leads through its pages', async (t) => {
  const service = await startTestService(t)
  const { mandateId } = await fillLists(service, 5)
  assert.ok(lists.length >= 6)
  for (const path of pathsOf(mandateId)) {
    const whole = (await service.call('GET', path)).body as { id?: string; version?: number }[]
    assert.ok(whole.length >= 5, path)
    const order = whole.map(({ id, version }) => id ?? String(version))
    assert.deepEqual(order.toSorted().toReversed(), order, path)
    for (const limit of [1, 2, whole.length - 1, whole.length, whole.length + 1]) {
      const { items, pages } = await walk(service, `${path}?limit=${limit}`)
      assert.deepEqual(items, whole, `${path} by ${limit}`)
      assert.equal(pages, Math.ceil(whole.length / limit), `${path} by ${limit}: no empty last page`)
    }
  }
})

test('An empty list is an empty array without a Link', async () => {
  const service = await shareTestService()
  for (const path of ['/agents', '/mandates', '/sellers', '/v1/transactions']) {
    const { status, text, headers } = await service.call('GET', path)
    assert.deepEqual([status, text, headers.get('link')], [200, '[]', null])
  }
})

test('limit is 50 when absent, and from 1 to 200 [errors.422]', async () => {
  const service = await shareTestService()
  await createAgents(service, maxPageSize + 1)
  const sizes: [query: string, size: number][] = [
    ['', defaultPageSize],
    ['?limit=1', 1],
    ['?limit=200', maxPageSize],
    ['?limit=%20007%20', 7],
    ['?limit=%2B2', 2],
    ['?limit=3.0', 3],
    ['?limit=9&limit=4', 4],
  ]
  assert.deepEqual([defaultPageSize, maxPageSize], [50, 200])
  for (const [query, size] of sizes) {
    const { status, body, headers } = await service.call('GET', `/agents${query}`)
    assert.deepEqual([status, body.length], [200, size], query)
    assert.match(headers.get('link') ?? '', /^<[^>]+>; rel="next"$/, query)
  }
})

const badLimits: [limit: string, type: string][] = [
  ['0', 'greater_than_equal'],
  ['-1', 'greater_than_equal'],
  ['201', 'less_than_equal'],
  ['99999999999999999999', 'less_than_equal'],
  ['', 'int_parsing'],
  ['ten', 'int_parsing'],
  ['1.5', 'int_parsing'],
  ['1e2', 'int_parsing'],
  ['0x10', 'int_parsing'],
  ['NaN', 'int_parsing'],
  ['Infinity', 'int_parsing'],
  ['1%00', 'int_parsing'],
]

test('A limit out of range is a 422 at query limit, on every list [errors.422] [validation.body]', async (t) => {
  const service = await startTestService(t)
  for (const { path } of lists) {
    for (const [limit, type] of badLimits) {
      const { status, body } = await service.call('GET', `${path}?limit=${limit}`)
      assert.equal(status, 422, `${path}?limit=${limit}`)
      assert.equal(body.detail.length, 1)
      const [item] = body.detail
      assert.deepEqual([item.type, item.loc], [type, ['query', 'limit']], `${path}?limit=${limit}`)
      assert.equal(item.input, decodeURIComponent(limit))
    }
  }
})

const badCursors = [
  'x',
  '',
  '%20',
  '%00',
  'agent_01jd0000000000000000000000',
  Buffer.from('agent_short').toString('base64url'),
  Buffer.from("agent_' or 1=1 --").toString('base64url'),
  `${Buffer.from('agent_01jd0000000000000000000000').toString('base64url')}=`,
  Buffer.from('AGENT_01JD0000000000000000000000').toString('base64url'),
  'x'.repeat(maxLengths.cursor),
]

test('An invalid cursor is a 422 at query cursor, on every list [errors.422]', async (t) => {
  const service = await startTestService(t)
  const { mandateId } = await preparePurchase(service)
  for (const path of pathsOf(mandateId)) {
    for (const cursor of badCursors) {
      const { status, body } = await service.call('GET', `${path}?cursor=${cursor}`)
      assert.equal(status, 422, `${path}?cursor=${cursor}`)
      const [item] = body.detail
      assert.deepEqual([item.type, item.loc], ['value_error', ['query', 'cursor']])
      assert.equal(item.input, decodeURIComponent(cursor))
    }
  }
})

test('Link keeps the filters of the list', async (t) => {
  const service = await startTestService(t)
  const { agentId: mine } = await fillLists(service, 3)
  await fillLists(service, 2, 'other')
  const path = `/v1/transactions?status=approved&agent_id=${mine}&limit=1`
  const { items, pages } = await walk(service, path)
  assert.deepEqual([items.length, pages], [3, 3])
  assert.ok(items.every((item) => item['agent_id'] === mine && item['status'] === 'approved'))
})

test('New records do not shift the pages of a list', async () => {
  const service = await shareTestService()
  await createAgents(service, 6)
  const whole = (await service.call('GET', '/agents')).body
  const seen: unknown[] = []
  let next: string | undefined = '/agents?limit=2'
  while (next !== undefined) {
    const answer: TestAnswer = await service.call('GET', next)
    seen.push(...answer.body)
    await createAgents(service, 1)
    next = nextOf(answer)
  }
  assert.deepEqual(seen, whole)
})

test("A cursor of another tenant's list reveals nothing", async (t) => {
  const service = await startTestService(t)
  await createAgents(service, 3)
  const tenant = await createTenant(service)
  const next = nextOf(await service.call('GET', '/agents?limit=1')) ?? ''
  const { status, body } = await service.call('GET', next, { key: tenant.sandboxKey })
  assert.deepEqual([status, body], [200, []])
})

test("A page for an agent's key contains only its own records, and Link does not count others", async (t) => {
  const service = await startTestService(t)
  const { agentId } = await fillLists(service, 3)
  await fillLists(service, 3, 'other')
  const key = await issueKey(service, { role: 'agent', agent_id: agentId })
  for (const path of ['/agents', '/mandates', '/v1/transactions']) {
    const { items } = await walk(service, `${path}?limit=1`, key)
    assert.equal(items.length, path === '/agents' ? 1 : 3, path)
    assert.ok(items.every((item) => (item['agent_id'] ?? item['id']) === agentId))
  }
})

test('A page with few matches looks at six transactions for each item that it may hold', async (t) => {
  const service = await startTestService(t)
  const purchase = await preparePurchase(service)
  for (let index = 0; index < 150; index++) await evaluate(service, purchase)
  const none = `agent_id=${purchase.agentId}&merchant_domain=other.example.com`
  const { items, pages } = await walk(service, `/v1/console/transactions?${none}`)
  assert.deepEqual([items.length, pages], [0, 1])
})

/** Every item of a list, page by page. */
async function walk(service: TestService, path: string, key: string = service.sandboxKey) {
  const items: Record<string, unknown>[] = []
  let pages = 0
  for (let next: string | undefined = path; next !== undefined; pages++) {
    const answer: TestAnswer = await service.call('GET', next, { key })
    assert.equal(answer.status, 200, `${next}: ${answer.text}`)
    items.push(...answer.body)
    next = nextOf(answer)
    assert.ok(pages < 1_000)
  }
  return { items, pages }
}

function nextOf({ headers }: TestAnswer): string | undefined {
  const link = headers.get('link')
  if (link === null) return undefined
  const [, address] = /^<([^>]+)>; rel="next"$/.exec(link) ?? []
  assert.ok(address?.startsWith('/'), link)
  return address
}

async function createAgents(service: TestService, count: number): Promise<void> {
  for (let index = 0; index < count; index++) {
    const { status } = await service.call('POST', '/agents', { body: { name: `agent ${index}` } })
    assert.equal(status, 201)
  }
}

/** Adds items to every list, and returns the agent and the mandate of the transactions. */
async function fillLists(service: TestService, count: number, prefix = 'shop'): Promise<Purchase> {
  const purchase = await preparePurchase(service)
  await createAgents(service, count - 1)
  for (let index = 0; index < count; index++) {
    await issueKey(service, { role: 'merchant' })
    await service.call('POST', '/sellers', {
      body: { name: 'Shop', domain: `${prefix}${index}.example.com`, price_config: {} },
    })
    const proposal = {
      agent_id: purchase.agentId,
      mandate_id: purchase.mandateId,
      merchant_domain: purchase.merchantDomain,
      amount: '1.00',
      resource_url: purchase.resourceUrl,
    }
    await service.call('POST', '/v1/policy/evaluate', { body: proposal })
    await service.call('POST', '/v1/budgets', { body: { name: 'Team', limits: [] } })
    const { mandateId } = purchase
    const amended = await service.call('PATCH', `/v1/mandates/${mandateId}`, {
      body: { purpose: `purpose ${index}` },
      headers: { 'if-match': `"${index + 1}"` },
    })
    const asked = await service.call('POST', `/v1/mandates/${mandateId}/increase-requests`, {
      body: { max_spend_total: `${1_000 + index}.00`, reason: 'more reports' },
    })
    assert.deepEqual([amended.status, asked.status], [200, 201])
  }
  const { agentId } = purchase
  const mandate = { purpose: 'p', max_spend_total: '1', max_spend_per_transaction: '1' }
  for (let index = 0; index < count; index++) {
    await createTenant(service, `idp_${prefix}_${index}`)
    const body = { api_key: service.sandboxKey }
    await service.call('POST', '/v1/console/session', { key: null, body })
  }
  for (let index = 1; index < count; index++) {
    await service.call('POST', '/mandates', {
      body: { ...mandate, agent_id: agentId, expires_at: '2099-01-01T00:00:00Z' },
    })
  }
  return purchase
}

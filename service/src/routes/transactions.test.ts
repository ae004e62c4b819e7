import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import type { Transaction } from '@purser/wire/transactions'

import { changingNothing } from '../../testing/ledger.ts'
import { createMerchant, evaluate, pay, registerSeller } from '../../testing/purchases.ts'
import {
  createTenant,
  issueKey,
  issueProof,
  preparePurchase,
  verifyProof,
  type TestAnswer,
  startTestService,
} from '../../testing/service.ts'
import { shareTestService } from '../../testing/shared-service.ts'

// Two agents of the first account; each has bought something, had an evaluation and been denied, in various
// places.
const service = await startTestService({ after })
const sellerId = await registerSeller(service, 'own.example')
const merchant = await createMerchant(service, 'api.example.com')
const first = await preparePurchase(service, { allowed_sellers: ['*'] })
const second = await preparePurchase(service, { allowed_sellers: ['*'] })

const paidOwn = await pay(service, first, '1.00', { merchant_domain: 'own.example' })
const paidNobody = await pay(service, first, '2.00', { merchant_domain: 'nobody.example' })
const approved = await idOf(evaluate(service, first, { category: 'data' }))
const denied = await idOf(evaluate(service, second, { amount: '50.00', merchant_domain: 'own.example' }))
const paidMerchant = await idOf(
  verifyProof(service, await issueProof(service, second, '3.00'), {}, { key: merchant.merchantKey }),
)
const unknownAgents = await idOf(evaluate(service, { ...first, agentId: 'agent_unknown' }))
const all = [unknownAgents, paidMerchant, denied, approved, paidNobody, paidOwn]

test('Transactions are listed newest first, each with all its fields [transaction.fields]', async () => {
  const answer = await list('')
  assert.equal(answer.status, 200)
  assert.deepEqual(idsOf(answer), all)
  assert.equal(answer.headers.get('link'), null)
  const fields =
    'id status agent_id mandate_id amount currency resource_url merchant_domain seller_id category reason_code reason_detail order_id refund_of refunded_total created_at mandate_version metadata'
  for (const transaction of answer.body) assert.deepEqual(Object.keys(transaction), fields.split(' '))
})

test('A single transaction is the same as in the list [transaction.fields]', async () => {
  const { body } = await list('')
  for (const listed of body) {
    const answer = await service.call('GET', `/v1/transactions/${listed.id}`)
    assert.deepEqual([answer.status, answer.body], [200, listed])
  }
  assert.deepEqual(body.at(-1), {
    id: paidOwn,
    status: 'paid',
    agent_id: first.agentId,
    mandate_id: first.mandateId,
    amount: '1.00',
    currency: 'USDC',
    resource_url: 'https://api.example.com/data',
    merchant_domain: 'own.example',
    seller_id: sellerId,
    category: null,
    reason_code: null,
    reason_detail: null,
    order_id: null,
    refund_of: null,
    refunded_total: '0.00',
    created_at: '2026-11-20T12:00:00.000Z',
    mandate_version: 1,
    metadata: {},
  })
})

test("An unknown transaction is 404 not_found, and another tenant's gives the same answer, byte for byte", async () => {
  const tenant = await createTenant(service, 'idp_curious')
  const unknown = await service.call('GET', '/v1/transactions/txn_unknown')
  assert.deepEqual([unknown.status, unknown.text], [404, '{"detail":"not_found"}'])
  for (const key of [tenant.sandboxKey, service.productionKey, merchant.ownerKey]) {
    const answer = await service.call('GET', `/v1/transactions/${paidOwn}`, { key })
    assert.deepEqual([answer.status, answer.text], [unknown.status, unknown.text])
  }
})

const filters: readonly (readonly [query: string, ids: readonly string[]])[] = [
  [`agent_id=${first.agentId}`, [approved, paidNobody, paidOwn]],
  [`agent_id=${second.agentId}`, [paidMerchant, denied]],
  ['agent_id=agent_unknown', [unknownAgents]],
  ['agent_id=agent_other', []],
  ['agent_id=', []],
  [`mandate_id=${first.mandateId}`, [approved, paidNobody, paidOwn]],
  [`mandate_id=${second.mandateId}`, [paidMerchant, denied]],
  ['mandate_id=mandate_other', []],
  ['status=paid', [paidMerchant, paidNobody, paidOwn]],
  ['status=approved', [approved]],
  ['status=denied', [unknownAgents, denied]],
  ['status=pending', []],
  ['merchant_domain=own.example', [denied, paidOwn]],
  ['merchant_domain=OWN.example.', [denied, paidOwn]],
  ['merchant_domain=api.example.com', [unknownAgents, paidMerchant, approved]],
  ['merchant_domain=example.com', []],
  [`agent_id=${first.agentId}&status=paid&merchant_domain=own.example`, [paidOwn]],
  [`agent_id=${first.agentId}&mandate_id=${second.mandateId}`, []],
]
for (const [query, ids] of filters) {
  const shown = query.replace(first.agentId, 'first').replace(second.agentId, 'second')
  test(`The filter ${shown.replaceAll(/mandate_[0-9a-z]{26}/g, 'mandate')} returns ${ids.length} transactions`, async () => {
    assert.deepEqual(idsOf(await list(query)), ids)
  })
}

test('An unknown status is 422', async () => {
  const answer = await list('status=disputed')
  assert.equal(answer.status, 422)
  assert.deepEqual(answer.body.detail[0].loc, ['query', 'status'])
})

test('Following Link to the end returns every transaction once, in order, with the same filter', async () => {
  for (const [query, expected] of [
    ['limit=1', all],
    ['limit=2', all],
    ['limit=4', all],
    ['limit=5', all],
    [`limit=1&agent_id=${first.agentId}`, [approved, paidNobody, paidOwn]],
    ['merchant_domain=OWN.example.&limit=1&status=denied', [denied]],
  ] as const) {
    const limit = Number(new URLSearchParams(query).get('limit'))
    const pages = await follow(`/v1/transactions?${query}`)
    assert.deepEqual(pages.flat(), expected)
    assert.equal(pages.length, Math.ceil(expected.length / limit))
  }
})

test('A page with everything has no Link; limit is 1 to 200; an invalid cursor is 422', async () => {
  for (const limit of [all.length, all.length + 1, 200]) {
    const answer = await list(`limit=${limit}`)
    assert.deepEqual(idsOf(answer), all)
    assert.equal(answer.headers.get('link'), null)
  }
  for (const query of ['limit=0', 'limit=201', 'limit=-1', 'limit=x', 'cursor=x', 'cursor=', 'cursor=YWJj']) {
    const answer = await list(query)
    assert.equal(answer.status, 422, query)
    assert.deepEqual(answer.body.detail[0].loc, ['query', query.split('=')[0]])
  }
})

test('New records do not change later pages of a list', async () => {
  const service = await shareTestService()
  const purchase = await preparePurchase(service)
  const ids: string[] = []
  for (let count = 0; count < 5; count++) ids.unshift(await idOf(evaluate(service, purchase)))
  const page = await service.call('GET', '/v1/transactions?limit=2')
  await evaluate(service, purchase)
  const next = await service.call('GET', nextOf(page) ?? '')
  assert.deepEqual([...idsOf(page), ...idsOf(next)], ids.slice(0, 4))
})

test('Without a limit a page has 50 items', async () => {
  const service = await shareTestService()
  const purchase = await preparePurchase(service)
  await Promise.all(Array.from({ length: 51 }, () => evaluate(service, purchase)))
  const pages = await follow('/v1/transactions', service)
  assert.deepEqual(
    pages.map(({ length }) => length),
    [50, 1],
  )
  assert.equal(new Set(pages.flat()).size, 51)
})

test('An agent sees only its own transactions, whatever it filters by', async () => {
  const key = await issueKey(service, { role: 'agent', agent_id: first.agentId })
  const own = [approved, paidNobody, paidOwn]
  const rows: readonly (readonly [query: string, ids: readonly string[]])[] = [
    ['', own],
    [`agent_id=${first.agentId}`, own],
    [`agent_id=${second.agentId}`, []],
    [`mandate_id=${second.mandateId}`, []],
    ['status=paid', [paidNobody, paidOwn]],
  ]
  for (const [query, ids] of rows) assert.deepEqual(idsOf(await list(query, key)), ids)
  assert.deepEqual(await visibleOnes(key), own)
})

test('A merchant sees payments to its account and nothing else', async () => {
  const own = await issueKey(service, { role: 'merchant' })
  assert.deepEqual(idsOf(await list('', own)), [paidNobody, paidOwn])
  assert.deepEqual(idsOf(await list('status=denied', own)), [])
  assert.deepEqual(idsOf(await list('merchant_domain=own.example', own)), [paidOwn])
  assert.deepEqual(await visibleOnes(own), [paidNobody, paidOwn])

  assert.deepEqual(idsOf(await list('', merchant.merchantKey)), [paidMerchant])
  assert.deepEqual(idsOf(await list(`agent_id=${second.agentId}`, merchant.merchantKey)), [paidMerchant])
  assert.deepEqual(idsOf(await list('status=approved', merchant.merchantKey)), [])
  assert.deepEqual(await visibleOnes(merchant.merchantKey), [paidMerchant])
})

test('Operator and owner see their account, and both sides of a payment are the same record', async () => {
  const owner = await issueKey(service, { role: 'owner' })
  assert.deepEqual(idsOf(await list('', owner)), all)
  const theirs = await list('', merchant.ownerKey)
  const ours = await list(`mandate_id=${second.mandateId}&status=paid`)
  assert.deepEqual(theirs.body, ours.body)
  assert.equal(theirs.body[0].seller_id, merchant.sellerId)
})

test('Sandbox and production, and all tenants, have separate transactions', async () => {
  const tenant = await createTenant(service, 'idp_empty')
  for (const key of [service.productionKey, tenant.sandboxKey, merchant.productionKey]) {
    assert.deepEqual((await list('', key)).body, [])
    assert.deepEqual((await list(`agent_id=${first.agentId}`, key)).body, [])
  }
  assert.equal((await service.call('GET', '/v1/transactions', { key: null })).status, 401)
})

test('Reading changes nothing', async () => {
  await changingNothing(service, async () => {
    await list('')
    await service.call('GET', `/v1/transactions/${paidOwn}`)
  })
})

function list(query: string, key: string = service.sandboxKey): Promise<TestAnswer> {
  return service.call('GET', `/v1/transactions?${query}`, { key })
}

async function idOf(answering: Promise<TestAnswer>): Promise<string> {
  return (await answering).body.transaction_id as string
}

function idsOf({ body, text }: TestAnswer): string[] {
  assert(Array.isArray(body), text)
  return (body as Transaction[]).map(({ id }) => id)
}

/** The transactions that the key can read one by one. */
async function visibleOnes(key: string): Promise<string[]> {
  const found: string[] = []
  for (const id of all) {
    const answer = await service.call('GET', `/v1/transactions/${id}`, { key })
    if (answer.status === 200) found.push(id)
    else assert.equal(answer.text, '{"detail":"not_found"}')
  }
  return found
}

/** The ids of every page, from the first to the one without a `Link`. */
async function follow(path: string, from = service): Promise<string[][]> {
  const pages: string[][] = []
  for (let next: string | undefined = path; next !== undefined;) {
    assert(pages.length < 20, 'the list never ends')
    const answer = await from.call('GET', next)
    pages.push(idsOf(answer))
    next = nextOf(answer)
  }
  return pages
}

function nextOf({ headers }: TestAnswer): string | undefined {
  const link = headers.get('link')
  if (link === null) return undefined
  const match = /^<([^>]+)>; rel="next"$/.exec(link)
  assert(match, link)
  return match[1]
}

for (const days of [0, 30]) {
  test(`A payment ${days} days of the test clock after an evaluation ${days === 0 ? 'gets' : 'does not get'} its category`, async (context) => {
    const own = await startTestService(context)
    const purchase = await preparePurchase(own)
    await evaluate(own, purchase, { amount: '1.00', category: 'data' })
    own.clock.nowMs += 1_000
    const body = { seconds: days * 86_400 }
    if (days > 0) assert.equal((await own.call('POST', '/v1/test-clock/advance', { body })).status, 200)
    const { body: paid } = await verifyProof(own, await issueProof(own, purchase, '1.00'))
    const found = await own.call('GET', `/v1/transactions/${paid.transaction_id}`)
    assert.equal(found.body.category, days === 0 ? 'data' : null)
  })
}

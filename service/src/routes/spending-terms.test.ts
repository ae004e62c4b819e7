import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import { changingNothing, leavingDenials } from '../../testing/ledger.ts'
import { createMerchant, evaluate, verifyAgent } from '../../testing/purchases.ts'
import {
  issueKey,
  preparePurchase,
  startTestService,
  verifyProof,
  type CallOptions,
  type Purchase,
} from '../../testing/service.ts'

const service = await startTestService({ after })
const merchant = await createMerchant(service)

/** Requests a proof; the fields override or add. */
function ask(purchase: Purchase, fields: Record<string, unknown> = {}, options: CallOptions = {}) {
  const { agentId: agent_id, mandateId: mandate_id, resourceUrl: resource_url } = purchase
  const body = { agent_id, mandate_id, amount: '1.00', resource_url, ...fields }
  return service.call('POST', '/v1/payments/proof', { ...options, body })
}

async function get(path: string, key?: string) {
  const answer = await service.call('GET', path, key === undefined ? {} : { key })
  assert.equal(answer.status, 200, answer.text)
  return answer.body
}

test('A mandate shows its optional terms, with defaults for absent ones', async () => {
  const terms = {
    allowed_resources: ['https://API.example.com/data', 'https://api.example.com/reports/*'],
    category_check: 'enforced',
    metadata: { project: 'apollo', 'Größe "1"': '' },
  }
  for (const [given, shown] of [
    [terms, terms],
    [{}, { allowed_resources: [], category_check: 'advisory', metadata: {} }],
  ] as const) {
    const { mandateId } = await preparePurchase(service, given)
    const { allowed_resources, category_check, metadata } = await get(`/mandates/${mandateId}`)
    assert.deepEqual({ allowed_resources, category_check, metadata }, shown)
  }
})

const invalid: readonly (readonly [fields: Record<string, unknown>, loc: unknown[], msg: RegExp])[] = [
  [{ allowed_resources: ['reports'] }, ['allowed_resources', 0], /relative URL without a base/],
  [{ allowed_resources: ['ftp://api.example.com/'] }, ['allowed_resources', 0], /'http' or 'https'/],
  [
    { allowed_resources: ['https://api.example.com/*', 'https://api.example.com/a%2fb'] },
    ['allowed_resources', 1],
    /^Value error, the pattern must not contain an encoded slash$/,
  ],
  [
    { allowed_resources: ['https://*.example.com/'] },
    ['allowed_resources', 0],
    /must name its host without wildcards/,
  ],
  [{ allowed_resources: Array(101).fill('https://a.example/') }, ['allowed_resources'], /at most 100 items/],
  [{ category_check: 'strict' }, ['category_check'], /'advisory' or 'enforced'/],
  [{ metadata: [] }, ['metadata'], /valid dictionary/],
  [{ metadata: { project: 5 } }, ['metadata', 'project'], /valid string/],
  [{ metadata: { '': 'a' } }, ['metadata', ''], /at least 1 character/],
  [{ metadata: { ['a'.repeat(41)]: 'a' } }, ['metadata', 'a'.repeat(40)], /at most 40 characters/],
  [{ metadata: { a: 'ä'.repeat(501) } }, ['metadata', 'a'], /at most 500 characters/],
  [
    { metadata: Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`k${n}`, ''])) },
    ['metadata'],
    /at most 20 items/,
  ],
]
for (const [fields, loc, msg] of invalid) {
  test(`A mandate with ${JSON.stringify(fields).slice(0, 80)} is 422`, async () => {
    const { agentId } = await preparePurchase(service)
    const body = {
      agent_id: agentId,
      purpose: 'Buy research data',
      max_spend_total: '100.00',
      max_spend_per_transaction: '10.00',
      expires_at: '2099-01-01T00:00:00Z',
      ...fields,
    }
    const answer = await changingNothing(service, () => service.call('POST', '/mandates', { body }))
    assert.equal(answer.status, 422, answer.text)
    const [item, ...others] = answer.body.detail
    assert.deepEqual([item.loc, others], [['body', ...loc], []])
    assert.match(item.msg, msg)
  })
}

test('Proofs, evaluations and verify-agent respect the allowed resources, and the console shows check 6a', async () => {
  const purchase = await preparePurchase(service, { allowed_resources: ['https://api.example.com/data*'] })
  const other = { resource_url: 'https://api.example.com/other' }
  const code = 'resource_not_allowed'
  assert.equal((await ask(purchase)).status, 201)
  const { result: denied, denials } = await leavingDenials(service, () => ask(purchase, other))
  assert.equal(denials.length, 1)
  assert.deepEqual([denied.status, denied.body.reason_code], [402, code])
  assert.equal((await evaluate(service, purchase)).status, 200)
  const evaluated = await evaluate(service, purchase, other)
  assert.deepEqual([evaluated.status, evaluated.body.reason_code], [402, code])
  const checked = await verifyAgent(service, purchase, other)
  assert.deepEqual([checked.status, checked.body.reason_code], [403, code])

  const { checks } = await get(`/v1/console/transactions/${evaluated.body.transaction_id}`)
  const rungs = checks.map(({ label, state }: Record<string, string>) => `${label} ${state}`)
  assert.deepEqual(rungs.slice(5, 8), ['6 passed', '6a failed', '7 not_reached'])
  const { value, relation, limits } = checks[6]
  assert.deepEqual(
    [value, relation, limits],
    [other.resource_url, 'not_in', ['https://api.example.com/data*']],
  )
})

test('A mandate that enforces categories issues proofs only for an allowed one, which the transaction shows', async () => {
  const purchase = await preparePurchase(service, {
    allowed_categories: ['data'],
    category_check: 'enforced',
  })
  for (const category of [undefined, null, 'games']) {
    const denied = await ask(purchase, { category })
    assert.deepEqual([denied.status, denied.body.reason_code], [402, 'merchant_not_allowed'])
  }
  const issued = await ask(purchase, { category: 'data' })
  assert.equal(issued.status, 201, issued.text)
  assert.equal('category' in issued.body.proof, false)
  const { body } = await verifyProof(service, issued.body.proof, { category: 'data' })
  assert.equal((await get(`/v1/transactions/${body.transaction_id}`)).category, 'data')
  const { checks } = await get(`/v1/console/transactions/${body.transaction_id}`)
  assert.deepEqual([checks[6].name, checks[6].state, checks[6].value], ['category_allowed', 'passed', 'data'])
})

test("A verification that names a category other than the proof's is 403 and charges nothing", async () => {
  const purchase = await preparePurchase(service)
  for (const [ofProof, named] of [
    ['data', 'games'],
    [null, 'data'],
  ]) {
    const { body } = await ask(purchase, { category: ofProof })
    const refused = await changingNothing(service, () =>
      verifyProof(service, body.proof, { category: named }),
    )
    assert.deepEqual([refused.status, refused.body], [403, { detail: 'category_mismatch' }])
    const { status } = await verifyProof(service, body.proof, { category: null })
    assert.equal(status, 200, 'the proof is still usable')
  }
})

test('A retry with the same Idempotency-Key must have the same category and metadata', async () => {
  const purchase = await preparePurchase(service)
  const fields = { category: 'data', metadata: { a: '1', b: '2' } }
  const headers = { 'idempotency-key': 'order-1' }
  const first = await ask(purchase, fields, { headers })
  const again = await ask(purchase, { ...fields, metadata: { b: '2', a: '1' } }, { headers })
  assert.deepEqual([again.status, again.body], [201, first.body])
  for (const other of [{ ...fields, category: 'games' }, { ...fields, metadata: { a: '1' } }, {}]) {
    const refused = await ask(purchase, other, { headers })
    assert.deepEqual([refused.status, refused.body], [422, { detail: 'idempotency_key_reused' }])
  }
})

test('Metadata filters lists and exports, and is hidden from the account that collects', async () => {
  const metadata = { project: 'apollo', 'a]b': 'x,y "z"' }
  const { mandateId, ...purchase } = await preparePurchase(service, { metadata })
  const proof = (await ask({ mandateId, ...purchase }, { metadata })).body.proof
  const paid = await verifyProof(service, proof, {}, { key: merchant.merchantKey })
  const id = paid.body.transaction_id
  const denied = await ask({ mandateId, ...purchase }, { metadata, amount: '99.00' })
  assert.equal(denied.status, 402)
  const evaluated = await evaluate(service, { mandateId, ...purchase }, { metadata: { project: 'gemini' } })

  const filter = `metadata[project]=apollo&${new URLSearchParams({ 'metadata[a]b]': metadata['a]b'] }).toString()}`
  const listed = await get(`/v1/transactions?mandate_id=${mandateId}&${filter}`)
  assert.deepEqual(
    listed.map((one: Record<string, unknown>) => [one['status'], one['metadata']]),
    [
      ['denied', metadata],
      ['paid', metadata],
    ],
  )
  assert.equal((await get(`/v1/transactions?${filter}&mandate_id=${mandateId}&status=paid`))[0].id, id)
  const gemini = await get('/v1/console/transactions?metadata%5Bproject%5D=gemini')
  assert.deepEqual(
    gemini.map((one: { id: string }) => one.id),
    [evaluated.body.transaction_id],
  )
  assert.deepEqual(await get('/v1/transactions?metadata[project]=none'), [])

  const csv = await service.call('GET', `/v1/transactions.csv?${filter}`)
  const [header = '', ...lines] = csv.text.trimEnd().split('\r\n')
  const at = header.split(',').indexOf('metadata')
  assert.ok(at > header.split(',').indexOf('created_at'), header)
  assert.equal(lines.length, 2)
  assert.ok(lines[0]?.includes(`,"${JSON.stringify(metadata).replaceAll('"', '""')}"`), lines[0])

  const mandates = await get('/mandates?limit=1&metadata[project]=apollo')
  assert.deepEqual(
    mandates.map((one: { id: string }) => one.id),
    [mandateId],
  )

  for (const key of [merchant.merchantKey, merchant.ownerKey]) {
    const [received, ...others] = await get('/v1/transactions', key)
    assert.deepEqual([received.id, received.metadata, others], [id, {}, []])
    assert.deepEqual(await get(`/v1/transactions?${filter}`, key), [])
  }
})

test('A dry run of evaluate decides the same way and records nothing', async () => {
  const purchase = await preparePurchase(service)
  for (const amount of ['1.00', '99.00']) {
    const dry = await changingNothing(service, () => evaluate(service, purchase, { amount, dry_run: true }))
    const { status, body } = await evaluate(service, purchase, { amount })
    assert.deepEqual([dry.status, dry.body], [status, { ...body, transaction_id: null }])
  }
})

test('A metadata filter that is not a map, or has an invalid entry, is 422', async () => {
  for (const [query, loc] of [
    ['metadata=apollo', ['query', 'metadata']],
    ['metadata[]=apollo', ['query', 'metadata', '']],
    [`metadata[a]=${'x'.repeat(501)}`, ['query', 'metadata', 'a']],
    ['meta[a]=b', ['query', 'meta[a]']],
    ['status[a]=paid', ['query', 'status[a]']],
  ] as const) {
    const answer = await service.call('GET', `/v1/transactions?${query}`)
    assert.equal(answer.status, 422, query)
    assert.deepEqual(answer.body.detail[0].loc, loc)
  }
})

test("An agent's key filters only its own agent's mandates", async () => {
  const purchase = await preparePurchase(service, { metadata: { team: 'red' } })
  await preparePurchase(service, { metadata: { team: 'red' } })
  const key = await issueKey(service, { role: 'agent', agent_id: purchase.agentId })
  const mandates = await get('/mandates?metadata[team]=red', key)
  assert.deepEqual(
    mandates.map((one: { id: string }) => one.id),
    [purchase.mandateId],
  )
})

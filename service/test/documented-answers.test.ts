import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'

import { answerHeaders } from '@purser/wire/answer-headers'
import { answersOf, type Endpoint } from '@purser/wire/endpoint'
import { endpoints } from '@purser/wire/openapi'

import { StoreUnavailableError } from '../src/store/store.ts'
import { startAppOverStore } from '../testing/app-over-store.ts'
import { isErrorBody, undescribed } from '../testing/http/documented-answers.ts'
import { provenDomain, proverOf, type Zone } from '../testing/http/domain-servers.ts'
import { sendPlain, type PlainAnswer } from '../testing/http/plain-http.ts'
import { registerSeller } from '../testing/purchases.ts'
import { prepareSampleRecords, sampleBodies, type SampleRecords } from '../testing/sample-records.ts'
import { createTenant, issueKey, issueProof, preparePurchase, startTestService } from '../testing/service.ts'

/** How a request differs from a valid one. */
interface Ask {
  readonly url: string
  readonly key?: string
  readonly ids?: Readonly<Record<string, string>>
  readonly query?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** The documented and tested statuses of each endpoint, as `verify 402`. */
const answered = new Set<string>()

const sent = new Set<string>()

/** Sends a request to an endpoint, and compares the response with the description. */
async function ask(endpoint: Endpoint, { url, key, ids = {}, query = '', body, headers = {} }: Ask) {
  const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? 'unknown')
  const answer = await sendPlain(url, {
    method: endpoint.method,
    path: `${path}${query}`,
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    body: typeof body === 'string' || body === undefined ? body : JSON.stringify(body),
  })
  const title = `${endpoint.id}: ${answer.status} ${answer.text.slice(0, 300)}`
  assert.equal(undescribed(endpoint, answer), undefined, title)
  answered.add(`${endpoint.id} ${answer.status}`)
  for (const name of Object.keys(answer.headers)) sent.add(name)
  return answer
}

function byId(id: string): Endpoint {
  return endpoints.find((one) => one.id === id) ?? assert.fail(id)
}

const keyed = endpoints.filter(({ roles }) => roles !== 'public')
const wrongQuery = `?limit=none&account_id=${'x'.repeat(256)}`
const tooLarge = JSON.stringify('x'.repeat(70_000))
const tooDeep = '['.repeat(30_000)

test('Every documented status occurs, with the documented headers and body [errors.422]', async (t) => {
  const service = await startTestService(t)
  const { url, sandboxKey: key } = service
  const records = await prepareSampleRecords(service, key)

  // 401, 403, 404, 422, 413 and 400 depend only on the request.
  const session = await ask(byId('startSession'), { url, body: { api_key: key } })
  const cookie = session.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
  for (const one of keyed) {
    await ask(one, { url })
    await ask(one, { url, headers: { cookie, 'sec-fetch-site': 'cross-site' } })
    await ask(one, { url, key, query: '?unknown=1' })
    await ask(one, { url, key, query: wrongQuery, body: one.body && [] })
    if (one.method !== 'GET') await ask(one, { url, key, body: tooLarge })
    if (one.body) await ask(one, { url, key, body: tooDeep })
  }
  for (const one of endpoints.filter(({ roles }) => roles === 'public'))
    await ask(one, { url, query: '?unknown=1' })
  await askSignIn(url)

  // A successful read from each endpoint, then a 404.
  for (const one of keyed.filter(({ method }) => method === 'GET')) {
    await ask(one, { url, key, ids: { ...records } })
    await ask(one, { url, headers: { cookie } })
    await ask(one, { url, key })
    const query = one.query?.properties['account_id'] ? '?account_id=unknown' : ''
    await ask(one, { url, key, query })
    if (one.query?.properties['cursor']) await ask(one, { url, key, query: '?limit=1' })
  }
  for (const id of ['getSignInOptions', 'healthz', 'readyz']) await ask(byId(id), { url })
  await askForPayments(service, records)
  await askForChanges(service, records, { cookie, csrfToken: session.body.csrf_token as string })
  await askForTestClock(service)
  await askForTakenDomain(t)
  await askLimitedServices(t)

  const listed = endpoints.flatMap((one) =>
    Object.keys(answersOf(one)).map((status) => `${one.id} ${status}`),
  )
  const missing = listed.filter((one) => !answered.has(one))
  t.diagnostic(`${listed.length} responses are documented, ${listed.length - missing.length} occurred`)
  assert.deepEqual(missing, [])
  for (const { name } of Object.values(answerHeaders)) assert.ok(sent.has(name.toLowerCase()), name)
})

async function askSignIn(url: string): Promise<void> {
  const one = byId('startSession')
  await ask(one, { url, body: { api_key: 'svc_sand_wrong' } })
  await ask(one, { url, body: { api_key: null }, headers: { 'sec-fetch-site': 'cross-site' } })
  await ask(one, { url, body: tooLarge })
  await ask(one, { url, body: tooDeep })
  await ask(one, { url, body: {} })
}

type Service = Awaited<ReturnType<typeof startTestService>>

/** Every outcome of a proposed and of a real payment. */
async function askForPayments(service: Service, records: SampleRecords): Promise<void> {
  const { url, sandboxKey: key, productionKey } = service
  const purchase = await preparePurchase(service)
  const ids = { agent_id: purchase.agentId, mandate_id: purchase.mandateId }
  const proposal = sampleBodies.evaluate(ids)
  for (const id of ['evaluate', 'verifyAgent'] as const) {
    await ask(byId(id), { url, key, body: proposal })
    await ask(byId(id), { url, key, body: { ...proposal, amount: '11.00' } })
  }
  const request = sampleBodies.issueProof(ids)
  const headers = { 'idempotency-key': 'proof-1' }
  await ask(byId('issueProof'), { url, key, body: request, headers })
  const replay = await ask(byId('issueProof'), { url, key, body: request, headers })
  assert.equal(replay.headers['idempotent-replayed'], 'true')
  await ask(byId('issueProof'), { url, key, body: { ...request, amount: '2.00' }, headers })
  await ask(byId('issueProof'), { url, key, body: { ...request, amount: '11.00' } })
  await ask(byId('issueProof'), { url, key: productionKey, body: request })

  for (const amount of ['1.00', '2.00'])
    await ask(byId('issueProof'), { url, key, body: { ...request, amount, order_id: 'order-1' } })
  const proof = await issueProof(service, purchase)
  const verification = { proof, merchant_domain: purchase.merchantDomain, expected_amount: proof.amount }
  await ask(byId('verify'), { url, key, body: { ...verification, expected_amount: '9.00' } })
  for (let count = 0; count < 2; count++) {
    const retried = await ask(byId('verify'), { url, key, body: verification, headers })
    assert.equal(retried.headers['idempotent-replayed'], count === 0 ? undefined : 'true')
  }
  const reserved = await issueProof(service, purchase)
  const authorization = { ...verification, proof: reserved }
  await ask(byId('authorize'), { url, key, body: { ...authorization, expected_amount: '9.00' } })
  const params = { url, key, ids: { nonce: reserved.nonce } }
  await ask(byId('capture'), { ...params, body: {} })
  await ask(byId('voidAuthorization'), params)
  for (let count = 0; count < 2; count++) {
    const retried = await ask(byId('authorize'), { url, key, body: authorization, headers })
    assert.equal(retried.headers['idempotent-replayed'], count === 0 ? undefined : 'true')
  }
  await ask(byId('voidProof'), params)
  await ask(byId('capture'), { ...params, body: { amount: '9.00' } })
  await ask(byId('capture'), { ...params, body: {}, headers: { 'idempotency-key': '' } })
  for (let count = 0; count < 2; count++) {
    const retried = await ask(byId('capture'), { ...params, body: {}, headers })
    assert.equal(retried.headers['idempotent-replayed'], count === 0 ? undefined : 'true')
  }
  await ask(byId('voidAuthorization'), params)
  const released = await issueProof(service, purchase)
  await ask(byId('authorize'), { url, key, body: { ...verification, proof: released } })
  await ask(byId('voidAuthorization'), { url, key, ids: { nonce: released.nonce } })
  await askForRefunds(service, { ...verification, headers })
  const { nonce } = proof
  await ask(byId('voidProof'), { url, key, ids: { nonce } })
  await ask(byId('voidProof'), { url, key, ids: { ...records } })
  await ask(byId('voidProof'), { url, key, ids: { nonce: 'unknown' } })
}

/** Every outcome of a refund. */
async function askForRefunds(
  service: Service,
  {
    headers,
    proof,
  }: { readonly headers: Readonly<Record<string, string>>; readonly proof: { nonce: string } },
): Promise<void> {
  const { url, sandboxKey: key } = service
  const paid = await service.call('GET', `/v1/payments/proofs/${proof.nonce}`)
  const ids = { transaction_id: paid.body.transaction_id as string }
  const refund = (options: Omit<Ask, 'url' | 'key'>) =>
    ask(byId('refundTransaction'), { url, key, ids, headers, body: { amount: '0.50' }, ...options })
  await refund({ headers: {} })
  await refund({ headers: { 'idempotency-key': '' } })
  for (let count = 0; count < 2; count++) {
    const retried = await refund({})
    assert.equal(retried.headers['idempotent-replayed'], count === 0 ? undefined : 'true')
  }
  await refund({ body: { amount: '0.25' } })
  await refund({ body: { amount: '9.00' }, headers: { 'idempotency-key': 'refund-2' } })
  await refund({ ids: { transaction_id: 'unknown' } })
}

/** Every change, the refusals that depend on the state of a record, and the revocation of what was used. */
async function askForChanges(
  service: Service,
  records: SampleRecords,
  { cookie, csrfToken }: { readonly cookie: string; readonly csrfToken: string },
): Promise<void> {
  const { url, sandboxKey: key } = service
  const at = (id: string, options: Omit<Ask, 'url' | 'key'> = {}) => ask(byId(id), { url, key, ...options })
  for (const [id, body] of [
    ['createAccount', sampleBodies.createAccount()],
    ['createAccount', sampleBodies.createAccount()],
    ['createApiKey', { role: 'merchant', environment: 'sandbox' }],
    ['createApiKey', { role: 'merchant', environment: 'sandbox', account_id: 'unknown' }],
    ['createAgent', sampleBodies.createAgent()],
    ['createMandate', sampleBodies.createMandate(records)],
    ['createMandate', sampleBodies.createMandate({ agent_id: 'unknown' })],
    ['createSeller', sampleBodies.createSeller()],
    ['createSeller', sampleBodies.createSeller()],
    ['resumeAgents', sampleBodies.resumeAgents({})],
    ['resumeAgents', { stop_number: 7 }],
  ] as const) {
    await at(id, { body })
  }
  await askForBudgets(service, records)
  await at('backtestMandate', { ids: { ...records }, body: sampleBodies.backtestMandate() })
  await at('backtestMandate', { body: sampleBodies.backtestMandate() })
  await at('stopAgents', { headers: { 'idempotency-key': 'x'.repeat(256) } })
  await at('stopAgents')
  for (const [version, body] of [
    ['1', sampleBodies.amendMandate({})],
    ['1', { max_spend_total: '80.00' }],
    ['2', { max_spend_total: '0.00' }],
    ['2', { budget_id: 'unknown' }],
  ] as const) {
    await at('amendMandate', { ids: { ...records }, body, headers: { 'if-match': `"${version}"` } })
  }
  await at('amendMandate', { ids: { ...records }, body: {} })
  await at('amendMandate', { body: {}, headers: { 'if-match': '"1"' } })
  await askForDecisions(service, records)
  for (const id of ['pauseMandate', 'resumeMandate', 'revokeMandate', 'pauseMandate', 'resumeMandate']) {
    await at(id, { ids: { ...records } })
    await at(id)
  }
  await at('revokeAgent', { ids: { ...records } })
  await at('revokeAgent')
  await at('createMandate', { body: sampleBodies.createMandate(records) })
  await at('createApiKey', { body: { role: 'agent', environment: 'sandbox', agent_id: records.agent_id } })
  await at('revokeApiKey', { ids: { ...records } })
  await at('revokeApiKey')
  await at('verifySeller', { ids: { ...records } })
  await at('verifySeller')
  await at('releaseDomain', { ids: { ...records } })
  await at('releaseDomain')
  await at('endSessionOfAccount', { ids: { ...records } })
  await at('endSessionOfAccount')
  const tenant = await createTenant(service)
  for (const id of ['disableAccount', 'enableAccount']) {
    await at(id, { ids: { account_id: tenant.accountId } })
    await at(id)
  }
  await at('disableAccount', { ids: { ...records } })
  await revokeAllKeys(service, tenant)
  await at('endSession')
  await ask(byId('endSession'), { url, headers: { cookie, 'x-purser-console': csrfToken } })
}

async function askForBudgets(service: Service, records: SampleRecords): Promise<void> {
  const { url, sandboxKey: key } = service
  const at = (id: string, options: Omit<Ask, 'url' | 'key'> = {}) => ask(byId(id), { url, key, ...options })
  let parentId: string | undefined
  for (let level = 1; level <= 5; level++) {
    const answer = await at('createBudget', {
      body: sampleBodies.createBudget(parentId === undefined ? {} : { budget_id: parentId }),
    })
    if (answer.status === 201) parentId = (JSON.parse(answer.text) as { id: string }).id
  }
  await at('createBudget', { body: sampleBodies.createBudget({ budget_id: 'unknown' }) })
  const ids = { ...records }
  await at('getBudget', { ids })
  const change = async (version: number, body: Record<string, unknown>) =>
    at('changeBudget', { ids, body, headers: { 'if-match': `"${version}"` } })
  await at('changeBudget', { ids, body: sampleBodies.changeBudget() })
  await at('changeBudget', { body: {}, headers: { 'if-match': '"1"' } })
  await change(1, sampleBodies.changeBudget())
  await change(1, { name: 'Other' })
  await issueProof(service, await preparePurchase(service, { budget_id: records.budget_id }), '2.00')
  await change(2, { limits: [{ window: 'lifetime', max_amount: '1.00' }] })
  await at('updateAgent', { ids, body: sampleBodies.updateAgent(records) })
  await at('updateAgent', { body: sampleBodies.updateAgent({}) })
  await at('updateAgent', { ids, body: { budget_id: null, expected_budget_id: null } })
  for (const id of ['freezeBudget', 'unfreezeBudget']) {
    await at(id, { ids })
    await at(id)
  }
}

/** The clock of a sandbox, of production, and one that cannot go further. */
async function askForTestClock(service: Service): Promise<void> {
  const { url } = service
  const { sandboxKey: key, productionKey } = await createTenant(service, 'idp_clock')
  const body = { seconds: 3_653 * 86_400 }
  for (const one of [key, key, productionKey]) await ask(byId('advanceTestClock'), { url, key: one, body })
  await ask(byId('getTestClock'), { url, key: productionKey })
}

/** Decisions on a payment and on an increase. */
async function askForDecisions(service: Service, records: SampleRecords): Promise<void> {
  const { url, sandboxKey: key } = service
  const approver = await issueKey(service, { role: 'approver' })
  const owner = await issueKey(service, { role: 'owner' })
  const at = (id: string, options: Omit<Ask, 'url'> = {}) => ask(byId(id), { url, key, ...options })
  const { body } = sampleIncrease
  await at('requestIncrease', { ids: { ...records }, body: { ...body, max_spend_total: '500.00' } })
  await at('requestIncrease', { ids: { ...records }, body: { ...body, max_spend_total: '1.00' } })
  await at('requestIncrease', { body })
  const ids = { ...records }
  for (const id of ['approveRequest', 'denyRequest']) {
    await at(id, { ids, body: {} })
    await at(id, { ids, body: {}, key: approver })
    await at(id, { body: {} })
  }
  await at('approveRequest', { ids, body: {}, key: owner })
  const purchase = await preparePurchase(service)
  const asked = await service.call('POST', `/v1/mandates/${purchase.mandateId}/increase-requests`, { body })
  const other = { approval_id: asked.body.id as string }
  const headers = { 'if-match': '"1"' }
  const cut = { max_spend_total: '90.00' }
  await at('amendMandate', { ids: { mandate_id: purchase.mandateId }, body: cut, headers })
  await at('approveRequest', { ids: other, body: {}, key: owner })
  const again = await service.call('POST', `/v1/mandates/${purchase.mandateId}/increase-requests`, { body })
  await at('approveRequest', { ids: { approval_id: again.body.id as string }, body: {}, key: owner })
  await at('denyRequest', { ids: { approval_id: again.body.id as string }, body: {}, key: owner })
}

const sampleIncrease = { body: sampleBodies.requestIncrease() }

async function revokeAllKeys(
  service: Service,
  { sandboxKey }: { readonly sandboxKey: string },
): Promise<void> {
  const { body } = await service.call('GET', '/accounts/api-keys', { key: sandboxKey })
  for (const { id } of (body as { readonly id: string; readonly environment: string }[]).toSorted((one) =>
    one.environment === 'production' ? -1 : 1,
  )) {
    await ask(byId('revokeApiKey'), { url: service.url, key: sandboxKey, ids: { key_id: id } })
  }
}

/** The verification of a domain that another account verified first. */
async function askForTakenDomain(t: TestContext): Promise<void> {
  const zone: Zone = {}
  const proveDomain = await proverOf(t, zone)
  const service = await startTestService(t, { PURSER_SELLER_VERIFICATION: 'required' }, { proveDomain })
  const { url } = service
  const tenants = [await createTenant(service, 'idp_first'), await createTenant(service, 'idp_late')]
  for (const { sandboxKey } of tenants) await registerSeller(service, provenDomain, sandboxKey)
  const ids = { domain: provenDomain }
  for (const { sandboxKey: key } of tenants) {
    const { body } = await ask(byId('getSellerVerification'), { url, key, ids })
    zone.txt = { [body.record_name as string]: [body.text as string] }
    await ask(byId('verifySeller'), { url, key, ids })
  }
}

function failAsUnavailable(): Promise<never> {
  return Promise.reject(new StoreUnavailableError('a test', { retryAfterSeconds: 1 }))
}

/** 429 from a service with low limits, 503 from one without its store, and what any request can get. */
async function askLimitedServices(t: Parameters<typeof startAppOverStore>[0]): Promise<void> {
  const quota = { requests: 1, seconds: 1_000 }
  const limited = await startAppOverStore(
    t,
    {},
    { rateLimits: { key: quota, account: quota, address: quota } },
  )
  const { url, sandboxKey: key } = limited
  for (const one of [keyed[0], ...keyed]) if (one) await ask(one, { url, key })
  for (let count = 0; count < 2; count++) await ask(byId('startSession'), { url, body: {} })

  const down = await startAppOverStore(t, {
    authenticate: failAsUnavailable,
    checkReady: failAsUnavailable,
  })
  for (const one of keyed) await ask(one, { url: down.url, key: down.sandboxKey })
  await ask(byId('startSession'), { url: down.url, body: { api_key: down.sandboxKey } })
  await ask(byId('readyz'), { url: down.url })

  const broken = await startAppOverStore(t, { authenticate: () => Promise.reject(new Error('a bug')) })
  const bug = await sendPlain(broken.url, {
    method: 'GET',
    path: '/agents',
    headers: { authorization: `Bearer ${broken.sandboxKey}` },
  })
  assertAnyAnswer(bug, 500)
  assert.ok(bug.headers['x-request-id'])
  assertAnyAnswer(
    await sendPlain(broken.url, { method: 'GET', path: '/agents', headers: { long: 'x'.repeat(20_000) } }),
    431,
  )
}

/** The meaning of `4XX` and `5XX`. */
function assertAnyAnswer({ status, headers, body }: PlainAnswer, expected: number): void {
  assert.equal(status, expected)
  assert.equal(headers['cache-control'], 'no-store')
  assert.ok(isErrorBody.Check(body))
}

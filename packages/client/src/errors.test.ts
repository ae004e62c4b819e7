import assert from 'node:assert/strict'
import { test } from 'node:test'

import {
  createTenant,
  issueKey,
  preparePurchase,
  startTestService,
} from '../../../service/testing/service.ts'
import { shareTestService } from '../../../service/testing/shared-service.ts'
import { startServer } from '../testing/scripted-server.ts'
import {
  ApiError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  NotFoundError,
  PayloadTooLargeError,
  PermissionError,
  Purser,
  PurserError,
  ServerError,
  UnavailableError,
  ValidationError,
} from './client.ts'

test('An error response becomes an error of its class, with status, code, request id and body', async (context) => {
  const service = await startTestService(context)
  const client = (apiKey: string) => new Purser({ apiKey, baseUrl: service.url })
  const purser = client(service.sandboxKey)
  const { agentId, mandateId, resourceUrl } = await preparePurchase(service)
  const agent = client(await issueKey(service, { role: 'agent', agent_id: agentId }))
  const payment = { agent_id: agentId, mandate_id: mandateId, amount: '1.00', resource_url: resourceUrl }
  const account = { name: 'Ada', email: 'ada@example.com', idp_user_id: 'idp_ada' }
  await purser.accounts.create(account)

  const cases: [() => Promise<unknown>, typeof ApiError, number, string][] = [
    [
      () => client(service.productionKey).payments.requestProof(payment),
      BadRequestError,
      400,
      'production_payments_not_supported',
    ],
    [
      () => client(`${service.sandboxKey}x`).agents.list().page(),
      AuthenticationError,
      401,
      'invalid_api_key',
    ],
    [() => agent.agents.create({ name: 'another' }), PermissionError, 403, 'insufficient_scope'],
    [
      () => agent.verifyAgent({ ...payment, agent_id: 'agent_x', merchant_domain: 'api.example.com' }),
      PermissionError,
      403,
      'insufficient_scope',
    ],
    [() => purser.agents.get('agent_x'), NotFoundError, 404, 'not_found'],
    [() => purser.accounts.create(account), ConflictError, 409, 'account_exists'],
    [
      () => purser.agents.create({ name: 'x'.repeat(70_000) }),
      PayloadTooLargeError,
      413,
      'payload_too_large',
    ],
  ]
  for (const [call, Class, status, code] of cases) {
    const error = await call().catch((error: unknown) => error)
    assert(error instanceof Class && error instanceof ApiError && error instanceof PurserError, String(error))
    assert.equal(error.name, Class.name)
    assert.deepEqual([error.status, error.code, error.body], [status, code, { detail: code }])
    assert.match(error.requestId ?? '', /^\w+$/)
    assert.match(error.message, new RegExp(`^(GET|POST) /\\S+ answered ${status}: ${code}( \\(.+\\))?$`))
  }
})

test('A caller who may not collect gets a PermissionError from verify, not a result', async (context) => {
  const service = await startTestService(context)
  const { agentId, mandateId, resourceUrl, merchantDomain } = await preparePurchase(service)
  const owner = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const payment = { agent_id: agentId, mandate_id: mandateId, amount: '1.00', resource_url: resourceUrl }
  const granted = await owner.payments.requestProof(payment)
  assert(granted.decision === 'approved')
  const stranger = new Purser({ apiKey: (await createTenant(service)).sandboxKey, baseUrl: service.url })
  const charge = { proof: granted.proof, merchant_domain: merchantDomain, expected_amount: '1.00' }
  await assert.rejects(stranger.payments.verify(charge), {
    name: 'PermissionError',
    code: 'seller_not_yours',
  })
})

test('A 422 has its items, and lists them in its message', async () => {
  const service = await shareTestService()
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const error = await purser.sellers.create({ name: 7, domain: '' } as never).catch((error: unknown) => error)
  assert(error instanceof ValidationError)
  assert.deepEqual([error.status, error.code], [422, 'validation_error'])
  assert.deepEqual(
    error.items.map(({ loc }) => loc),
    [
      ['body', 'name'],
      ['body', 'domain'],
      ['body', 'price_config'],
    ],
  )
  assert.match(
    error.message,
    /^POST \/sellers answered 422: body\.name: .+; body\.domain: .+; body\.price_config: /,
  )
})

test("A 422 with another server's list is an error without items", async (context) => {
  let detail: unknown
  const baseUrl = await startServer(context, (_request, response) => {
    response.writeHead(422, { 'content-type': 'application/json' }).end(JSON.stringify({ detail }))
  })
  const purser = new Purser({ apiKey: 'svc_sand_x', baseUrl })
  for (detail of [['name is missing'], [null], [{ msg: 'Invalid.', loc: 'name' }]]) {
    const error = await purser.agents.create({ name: 'bot' }).catch((error: unknown) => error)
    assert(error instanceof ApiError && !(error instanceof ValidationError), String(error))
    assert.deepEqual([error.code, error.body], ['http_422', { detail }])
  }
})

test("A response that is not the service's is an error, whatever its status", async (context) => {
  let status = 200
  const baseUrl = await startServer(context, (_request, response) => {
    response.writeHead(status, { location: '/elsewhere' }).end('<h1>Welcome to our network</h1>')
  })
  const purser = new Purser({ apiKey: 'svc_sand_x', baseUrl, maxRetries: 0 })
  const charge = { proof: {} as never, merchant_domain: 'api.example.com', expected_amount: '1.00' }
  for (status of [200, 302, 401, 402, 403, 404, 409, 418, 500, 502, 503]) {
    const error = await purser.payments.verify(charge).catch((error: unknown) => error)
    assert(error instanceof ApiError, String(status))
    assert.deepEqual([error.status, error.code], [status, `http_${status}`])
    assert.equal(error.body, '<h1>Welcome to our network</h1>')
    if (status < 500) assert.equal(error.constructor, ApiError)
    assert.equal(error instanceof ServerError, status >= 500)
    assert.equal(error instanceof UnavailableError, status === 503)
    if (status === 302) assert.match(error.message, /a redirect; set baseUrl to the final address/)
  }
})

test('A path that the service does not have, as with /v1 in baseUrl, does not look like a missing record', async () => {
  const { url, sandboxKey } = await shareTestService()
  const purser = new Purser({ apiKey: sandboxKey, baseUrl: `${url}/v1` })
  for (const [call, status] of [
    [() => purser.agents.list().page(), 404],
    [() => purser.agents.get('agent_x'), 405],
  ] as const) {
    const error = await call().catch((error: unknown) => error)
    assert(error instanceof ApiError, String(error))
    assert.deepEqual([error.constructor, error.status, error.code], [ApiError, status, `http_${status}`])
    assert.match(error.message, /; check baseUrl$/)
  }
})

test('Feeds and exports do not follow redirects either', async (context) => {
  const asked: string[] = []
  const baseUrl = await startServer(context, ({ url }, response) => {
    asked.push(url ?? '')
    response.writeHead(302, { location: '/elsewhere' }).end()
  })
  const { console } = new Purser({ apiKey: 'svc_sand_x', baseUrl })
  for (const open of [() => console.feed().next(), () => console.transactions.exportCsv()]) {
    const error = await open().catch((error: unknown) => error)
    assert(error instanceof ApiError, String(error))
    assert.match(error.message, /answered 302: a redirect; set baseUrl to the final address/)
  }
  assert.deepEqual(asked, ['/v1/console/feed', '/v1/console/transactions.csv'])
})

test('An API error has the Retry-After of its response, so that a program knows when to repeat the call', async (context) => {
  let answer = { status: 429, detail: 'rate_limited', retryAfter: '7' }
  const baseUrl = await startServer(context, (_request, response) => {
    response.writeHead(answer.status, { 'retry-after': answer.retryAfter })
    response.end(JSON.stringify({ detail: answer.detail }))
  })
  const purser = new Purser({ apiKey: 'svc_sand_x', baseUrl, maxRetries: 0 })
  for (const [status, detail, retryAfter, retryAfterMs] of [
    [429, 'rate_limited', '7', 7_000],
    [500, 'internal_error', '2', 2_000],
    [503, 'store_unavailable', '1', 1_000],
    [409, 'mandate_revoked', 'soon', null],
  ] as const) {
    answer = { status, detail, retryAfter }
    const error = await purser.agents
      .list()
      .page()
      .catch((error: unknown) => error)
    assert(error instanceof ApiError)
    assert.deepEqual([error.status, error.code, error.retryAfterMs], [status, detail, retryAfterMs])
  }
})

test('Only a clear success counts as a charge', async (context) => {
  let body = '{}'
  let status = 200
  const baseUrl = await startServer(context, (_request, response) => response.writeHead(status).end(body))
  const purser = new Purser({ apiKey: 'svc_sand_x', baseUrl, maxRetries: 0 })
  const charge = { proof: {} as never, merchant_domain: 'api.example.com', expected_amount: '1.00' }
  const unclear: [number, unknown][] = [
    [200, {}],
    [200, []],
    [200, { verified: 'true', transaction_id: 'txn_1' }],
    [200, { verified: true }],
    [200, { verified: false }],
    [201, { verified: true, transaction_id: 'txn_1' }],
    [402, { verified: true, transaction_id: 'txn_1' }],
  ]
  for (const [one, answer] of unclear) {
    status = one
    body = JSON.stringify(answer)
    await assert.rejects(purser.payments.verify(charge), ApiError, body)
  }
})

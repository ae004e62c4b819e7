import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'

import { answersOf, takesSession, type Endpoint } from '@purser/wire/endpoint'
import { refusesUnknownParameters } from '@purser/wire/interface-endpoints'
import { endpoints, interfaceVersion, retries } from '@purser/wire/openapi'

import { startAppOverStore } from '../testing/app-over-store.ts'
import {
  describedOperations,
  type ApiDocument,
  type DescribedOperation,
} from '../testing/http/api-document.ts'
import { sendPlain } from '../testing/http/plain-http.ts'
import { startTestService, type TestService } from '../testing/service.ts'

/** Outside the interface: the console redirect, the OpenAPI document and its reference. */
const besideTheInterface = /^(GET|HEAD) (\/|\/openapi\.json|\/docs(\/.*)?|\/console.*)$/

test('openapi.json is OpenAPI 3.1 of version 0.1.0, without a key [version.1]', async (t) => {
  const service = await startTestService(t)
  const { status, headers, body } = await service.call('GET', '/openapi.json', { key: null })
  assert.equal(status, 200)
  assert.match(headers.get('content-type') ?? '', /^application\/json/)
  assert.match(body.openapi, /^3\.1\.\d+$/)
  assert.deepEqual([body.info.version, interfaceVersion], ['0.1.0', '0.1.0'])
})

test('Every route is in the OpenAPI document, and every operation in it is served [version.1]', async (t) => {
  const { app, url } = await startAppOverStore(t)
  const { body } = await sendPlain(url, { method: 'GET', path: '/openapi.json' })
  const described = describedOperations(body).map(({ method, path }) => `${method} ${path}`)
  const served: string[] = []
  for (const { method, path } of routesOf(app.printRoutes({ commonPrefix: false }))) {
    const answer = await sendPlain(url, { method, path: path.replaceAll(/:\w+|\*/g, 'x') })
    if (answer.status !== 405) served.push(`${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`)
  }
  // HEAD is not described: HTTP derives it from GET.
  const ofTheInterface = served.filter(
    (route) => !besideTheInterface.test(route) && !route.startsWith('HEAD '),
  )
  assert.deepEqual(ofTheInterface.sort(), described.sort())
  assert.ok(described.length >= 26)
})

test('HEAD on a public page responds like GET, without the body', async (t) => {
  const { app, url } = await startAppOverStore(t)
  const open = endpoints.filter(({ method, roles }) => method === 'GET' && roles === 'public')
  const beside = [
    '/',
    '/openapi.json',
    '/docs',
    '/docs/json',
    '/console',
    '/console/',
    '/console/assets/x.js',
  ]
  for (const path of [...open.map(({ path }) => path), ...beside]) {
    const headers = { accept: 'text/html' }
    const get = await sendPlain(url, { method: 'GET', path, headers })
    const head = await sendPlain(url, { method: 'HEAD', path, headers })
    assert.deepEqual([head.status, head.text], [get.status, ''], path)
    for (const name of ['content-type', 'content-length', 'location', 'etag', 'content-security-policy']) {
      assert.equal(head.headers[name], get.headers[name], `${path} ${name}`)
    }
  }
  const routes = routesOf(app.printRoutes({ commonPrefix: false }))
  assert.ok(routes.some(({ method, path }) => method === 'GET' && path === '/agents'))
  const closed = await sendPlain(url, { method: 'HEAD', path: '/agents' })
  assert.deepEqual([closed.status, closed.headers.allow], [405, 'GET, POST'])
})

test('Every declared endpoint is served [version.1]', async () => {
  const declared = new Set<string>()
  const folder = new URL('../../packages/wire/src/', import.meta.url)
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  for (const name of names.filter((one) => one.endsWith('.ts') && !one.includes('.test.'))) {
    const exports = (await import(new URL(name, folder).href)) as Record<string, unknown>
    for (const value of Object.values(exports)) if (isEndpoint(value)) declared.add(value.id)
  }
  assert.deepEqual([...declared].sort(), endpoints.map(({ id }) => id).sort())
})

test('Payments, policy, verification and extensions of the interface have the prefix /v1; its other resources have no version [version.2] [endpoint.prefix]', async (t) => {
  const service = await startTestService(t)
  const groups = { with: new Set<string>(), without: new Set<string>() }
  for (const { path, tag } of endpoints) groups[path.startsWith('/v1/') ? 'with' : 'without'].add(tag)
  assert.deepEqual([...groups.with].sort(), [
    'Accounts',
    'Agents',
    'Approvals',
    'Audit',
    'Budgets',
    'Console',
    'Mandates',
    'Payments',
    'Policy',
    'Sellers',
    'Transactions',
    'Verification',
  ])
  assert.deepEqual([...groups.without].sort(), ['Accounts', 'Agents', 'Health', 'Mandates', 'Sellers'])
  for (const { method, path } of endpoints) {
    const other = path.startsWith('/v1/') ? path.slice('/v1'.length) : `/v1${path}`
    // Agents and mandates have one path for reads and another for changes.
    if (/^(\/v1)?\/(agents|mandates)\/\{\w+\}$/.test(other)) continue
    // The web app under /console has its own routing.
    if (other.startsWith('/console/')) continue
    const { status, body } = await service.call(method, other.replaceAll(/\{\w+\}/g, 'x'))
    assert.deepEqual([status, body], [404, { detail: 'Not Found' }], `${method} ${other}`)
  }
})

test('The endpoints of the interface have their method and path [endpoint.prefix]', () => {
  const inTheInterface = [
    'POST /mandates',
    'GET /mandates',
    'GET /mandates/{mandate_id}',
    'POST /v1/payments/proof',
    'POST /v1/payments/verify',
    'POST /v1/policy/evaluate',
    'POST /v1/verify-agent',
    'POST /accounts',
    'POST /sellers',
    'GET /sellers',
    'DELETE /accounts/api-keys/{key_id}',
    'PATCH /agents/{agent_id}/revoke',
    'GET /agents/{agent_id}',
  ]
  const declared = endpoints.map(({ method, path }) => `${method} ${path}`)
  assert.deepEqual(
    inTheInterface.filter((route) => !declared.includes(route)),
    [],
  )
})

test('The OpenAPI document lists the input, callers and responses of each operation [endpoint.json] [auth.1] [errors.422]', async (t) => {
  const service = await startTestService(t)
  const document = await describe(service)
  assert.deepEqual(document.security, [{ bearer: [] }])
  const operations = describedOperations(document)
  assert.equal(new Set(operations.map(({ operation }) => operation.operationId)).size, operations.length)
  for (const { method, path, operation } of operations) {
    const declared = endpoints.find(({ id }) => id === operation.operationId)
    const title = `${method} ${path}`
    assert.ok(declared, title)
    assert.deepEqual(operation.security, securityOf(declared), title)
    const inPath = operation.parameters.filter((parameter) => parameter.in === 'path')
    assert.deepEqual(
      inPath.map(({ name, required }) => [name, required]),
      [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name, true]),
      title,
    )
    assert.deepEqual(
      asJson(operation.requestBody?.content),
      declared.body && { 'application/json': { schema: asJson(declared.body) } },
      title,
    )
    assert.deepEqual(
      operation.parameters
        .filter((parameter) => parameter.in === 'query')
        .map(({ name, schema, description }) => [name, asJson({ ...schema, description })]),
      Object.entries(declared.query?.properties ?? {}).map(([name, schema]) => [name, asJson(schema)]),
      title,
    )
    assert.deepEqual(headerParametersOf(operation), [
      ...(declared.id in retries ? ['Idempotency-Key'] : []),
      ...(['amendMandate', 'changeBudget'].includes(declared.id) ? ['If-Match'] : []),
      ...(declared.id === 'streamTransactions' ? ['Last-Event-ID'] : []),
      ...(takesSession(declared) ? ['x-purser-environment'] : []),
    ])
    const { '4XX': unreadable, '5XX': broken, ...responses } = operation.responses
    assert.ok(unreadable && broken, title)
    const statuses = Object.keys(responses).map(Number)
    assert.ok(
      statuses.some((status) => status >= 200 && status < 300),
      title,
    )
    const takesCredentials = declared.roles !== 'public' || declared.id === 'startSession'
    assert.equal(statuses.includes(401), takesCredentials, title)
    const takesInput = Boolean(declared.body ?? declared.query) || refusesUnknownParameters(declared)
    assert.equal(statuses.includes(422), takesInput, title)
    for (const [status, { content }] of Object.entries(responses)) {
      const type: string =
        Number(status) < 300 ? (declared.produces ?? 'application/json') : 'application/json'
      assert.deepEqual(
        asJson(content),
        { [type]: { schema: asJson(answersOf(declared)[Number(status)]?.schema) } },
        title,
      )
    }
  }
})

test('Objects and vocabularies are named in the OpenAPI document and not repeated inline', async (t) => {
  const service = await startTestService(t)
  const { paths, components } = await describe(service)
  const { schemas = {} } = components
  const text = JSON.stringify(paths)
  assert.ok(!text.includes('"properties"'), 'no object without a name')
  for (const [name, { properties }] of Object.entries(schemas)) {
    assert.ok(!JSON.stringify(properties ?? {}).includes('"properties"'), name)
  }
  for (const name of ['Mandate', 'NewMandate', 'Denial', 'AgentReport', 'ErrorBody', 'IssuedProof']) {
    assert.ok(text.includes(`"#/components/schemas/${name}"`), name)
  }
  const { status, reason_code } = schemas['Transaction']?.properties ?? {}
  assert.equal(status?.['$ref'], '#/components/schemas/TransactionStatus')
  assert.deepEqual(reason_code?.['anyOf'], [{ $ref: '#/components/schemas/ReasonCode' }, { type: 'null' }])
})

test('docs returns HTML that loads nothing external, without a key', async (t) => {
  const service = await startTestService(t)
  const { status, headers, text } = await service.call('GET', '/docs', { key: null })
  assert.equal(status, 200)
  assert.match(headers.get('content-type') ?? '', /^text\/html/)
  const files = [...text.matchAll(/\b(?:src|href)="([^"]*)"/g)].map(([, address = '']) => address)
  assert.ok(files.length >= 4)
  for (const file of files) {
    const { origin, pathname } = new URL(file, `${service.url}/docs`)
    assert.equal(origin, service.url, file)
    const answer = await service.call('GET', pathname, { key: null })
    assert.equal(answer.status, 200, file)
    if (!file.endsWith('.css')) continue
    const loaded = [...answer.text.matchAll(/url\(\s*['"]?([^'")]+)|@import\s+['"]?([^'";]+)/g)]
    for (const [, url, imported] of loaded) assert.match(url ?? imported ?? '', /^(data:|#)/)
  }
  // Whatever the scripts try, the browser loads nothing external: the page only references its own files.
  const policy = headers.get('content-security-policy') ?? ''
  const directives = new Map(
    policy.split(';').map((directive) => {
      const [name = '', ...sources] = directive.trim().split(/\s+/)
      return [name, sources]
    }),
  )
  assert.deepEqual(directives.get('default-src'), ["'none'"])
  assert.deepEqual(directives.get('script-src'), ["'self'"])
  for (const name of ['base-uri', 'form-action', 'frame-ancestors']) {
    assert.deepEqual(directives.get(name), ["'none'"], name)
  }
  assert.equal(headers.get('x-content-type-options'), 'nosniff')
  assert.equal(headers.get('referrer-policy'), 'no-referrer')
  for (const sources of directives.values()) {
    for (const source of sources) assert.ok(["'self'", "'none'", 'data:'].includes(source), policy)
  }
  assert.ok(!directives.has('upgrade-insecure-requests'), 'the reference works over plain HTTP')
})

test('No response of the interface may be cached', async (t) => {
  const service = await startTestService(t)
  const answers = [
    service.call('GET', '/accounts/api-keys'),
    service.call('POST', '/accounts/api-keys', { body: { role: 'owner', environment: 'sandbox' } }),
    service.call('POST', '/agents', { body: {} }),
    service.call('GET', '/agents', { key: null }),
    service.call('GET', '/nothing'),
    service.call('PATCH', '/agents'),
    service.call('POST', '/agents', { raw: 'x'.repeat(70_000) }),
    service.call('GET', '/healthz', { key: null }),
    service.call('GET', '/openapi.json', { key: null }),
    service.call('GET', '/v1/console/transactions/export'),
    service.call('POST', '/v1/console/session', { key: null, body: { api_key: service.sandboxKey } }),
  ]
  for (const { status, headers, text } of await Promise.all(answers)) {
    assert.equal(headers.get('cache-control'), 'no-store', `${status} ${text}`)
  }
  const broken = await sendPlain(service.url, {
    method: 'GET',
    path: '/agents',
    headers: { 'x-long': 'x'.repeat(20_000) },
  })
  assert.deepEqual([broken.status, broken.headers['cache-control']], [431, 'no-store'])
})

test('A browser at / is redirected to the console, everything else gets the 404 of unknown paths', async (t) => {
  const service = await startTestService(t)
  const at = (method: string, headers: Record<string, string>, path = '/') =>
    sendPlain(service.url, { method, path, headers })
  const browser = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }
  for (const path of ['/', '/?a=b']) {
    const led = await at('GET', browser, path)
    assert.deepEqual([led.status, led.headers.location, led.headers.vary], [302, '/console/', 'accept'], path)
  }
  const others = [
    at('GET', {}),
    at('GET', { accept: '*/*' }),
    at('GET', { accept: 'application/json' }),
    at('GET', { ...browser, authorization: `Bearer ${service.sandboxKey}` }),
    at('POST', browser),
    at('GET', browser, '//'),
    at('GET', browser, '/nothing'),
  ]
  for (const { status, text, headers } of await Promise.all(others)) {
    assert.deepEqual([status, text, headers.location], [404, '{"detail":"Not Found"}', undefined])
  }
})

test('docs shows the document of openapi.json', async (t) => {
  const service = await startTestService(t)
  const drawn = await service.call('GET', '/docs/json', { key: null })
  assert.equal(drawn.status, 200)
  assert.deepEqual(drawn.body, await describe(service))
})

/** A schema as a reader of the document sees it, without its name. */
function asJson(schema: unknown): unknown {
  const text = JSON.stringify(schema, (key: string, value: unknown) =>
    key === 'title' && typeof value === 'string' ? undefined : value,
  )
  return text === undefined ? undefined : JSON.parse(text)
}

async function describe(service: TestService): Promise<ApiDocument> {
  return (await service.call('GET', '/openapi.json', { key: null })).body as ApiDocument
}

/** A console session may do what an owner's key may, with its token for changes. */
function securityOf(declared: Endpoint): unknown[] {
  if (declared.roles === 'public') return []
  const session = declared.method === 'GET' ? { session: [] } : { session: [], sessionToken: [] }
  return takesSession(declared) ? [{ bearer: [] }, session] : [{ bearer: [] }]
}

function headerParametersOf({ parameters }: DescribedOperation): string[] {
  return parameters.flatMap((parameter) => (parameter.in === 'header' ? [parameter.name] : []))
}

/** The routes in the router's own output: a tree whose lines extend the path of the line above. */
function routesOf(drawing: string): { method: string; path: string }[] {
  const above: string[] = []
  return drawing.split('\n').flatMap((line) => {
    const [, indent = '', part = '', methods] = /^([\s│]*)[├└]── (\S+)(?: \((.*)\))?$/.exec(line) ?? []
    if (part === '') return []
    const depth = indent.length / 4
    above[depth] = part
    const path = above.slice(0, depth + 1).join('')
    return (methods?.split(', ') ?? []).map((method) => ({ method, path }))
  })
}

function isEndpoint(value: unknown): value is { id: string } {
  return typeof value === 'object' && value !== null && 'roles' in value && 'responses' in value
}

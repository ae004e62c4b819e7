import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'

import { fetchFromProvider } from '../console/provider-fetch.ts'
import { startAppOverStore } from '../../testing/app-over-store.ts'
import { requestIdOf, traceHeaders, traceOf, withTraceOf } from './request-trace.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const traceparent = `00-${traceId}-00f067aa0ba902b7-01`

const requestIds = [
  { given: 'order-17', isKept: true },
  { given: '01980c7e-5c3f-7d1a-9f0e-2b1c3d4e5f60', isKept: true },
  { given: 'Root=1-67891233-abcdef012345678912345678', isKept: true },
  { given: 'a'.repeat(128), isKept: true },
  { given: 'a'.repeat(129), isKept: false },
  { given: '', isKept: false },
  { given: 'two ids', isKept: false },
  { given: 'one, two', isKept: false },
  { given: '"} {"level":60', isKept: false },
  { given: '${jndi:ldap://127.0.0.1/a}', isKept: false },
  { given: '<script>', isKept: false },
  { given: 'caf\u00e9', isKept: false },
  // A client's mistake must not put a key into the log.
  { given: `svc_sand_${'a1'.repeat(16)}`, isKept: false },
  { given: `key=svc_prod_${'a1'.repeat(16)}`, isKept: false },
]

for (const { given, isKept } of requestIds) {
  const shown = JSON.stringify(given).slice(0, 50)
  test(`x-request-id ${shown} is ${isKept ? 'kept' : 'replaced'}`, async (context) => {
    const { url } = await startAppOverStore(context)
    const answer = await fetch(`${url}/healthz`, { headers: { 'x-request-id': given } })
    const id = answer.headers.get('x-request-id') ?? ''
    assert.equal(id === given, isKept)
    if (!isKept) assert.match(id, /^[a-z\d]{5,20}$/)
  })
}

test('Without an x-request-id, each request gets a new id', () => {
  assert.notEqual(requestIdOf({}), requestIdOf({}))
})

const traces = [
  { given: traceparent, id: traceId },
  { given: `00-${traceId}-00f067aa0ba902b7-00`, id: traceId },
  // A later version may have more fields.
  { given: `cc-${traceId}-00f067aa0ba902b7-01-what-comes`, id: traceId },
  { given: `00-${traceId}-00f067aa0ba902b7-01-more`, id: undefined },
  { given: `ff-${traceId}-00f067aa0ba902b7-01`, id: undefined },
  { given: `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`, id: undefined },
  { given: `00-${traceId}-0000000000000000-01`, id: undefined },
  { given: traceparent.toUpperCase(), id: undefined },
  { given: `00-${traceId}-00f067aa0ba902b7`, id: undefined },
  { given: `${traceparent}, ${traceparent}`, id: undefined },
  { given: '', id: undefined },
]

for (const { given, id } of traces) {
  test(`traceparent ${given || '(empty)'} is ${id ? 'kept' : 'ignored'}`, () => {
    assert.equal(traceOf({ traceparent: given })?.traceId, id)
  })
}

test('A log line has the id and the trace of its request, and the response has both', async (context) => {
  const { url, sandboxKey, log } = await startAppOverStore(context, { listAgents: fail })
  const answer = await fetch(`${url}/agents`, {
    headers: { authorization: `Bearer ${sandboxKey}`, 'x-request-id': 'order-17', traceparent },
  })
  assert.equal(answer.status, 500)
  assert.equal(answer.headers.get('x-request-id'), 'order-17')
  assert.equal(answer.headers.get('traceparent'), traceparent)
  const [line] = log.map((one) => JSON.parse(one)).filter(({ level }) => level === 50)
  assert.deepEqual([line?.reqId, line?.traceId], ['order-17', traceId])
})

test('An invalid traceparent is not returned and not logged', async (context) => {
  const { url, log } = await startAppOverStore(context, {}, { accessLog: true })
  const answer = await fetch(`${url}/healthz`, { headers: { traceparent: 'hello' } })
  assert.equal(answer.headers.get('traceparent'), null)
  await until(() => log.length > 0)
  assert.ok(!log.join('').includes('traceId'))
})

test('The trace is sent to the identity provider', async (context) => {
  const { url, seen } = await startListener(context)
  const ask = () =>
    fetchFromProvider(url, { body: null, headers: { accept: 'a/b' }, method: 'GET', redirect: 'manual' })
  await withTraceOf({ traceparent, tracestate: 'vendor=1' }, ask)
  await withTraceOf({ traceparent: 'hello', tracestate: 'vendor=1' }, ask)
  assert.deepEqual(seen, [
    { traceparent, tracestate: 'vendor=1', accept: 'a/b' },
    { traceparent: undefined, tracestate: undefined, accept: 'a/b' },
  ])
  assert.deepEqual(traceHeaders(), {})
})

test('The access log has a line of JSON per request, without queries and secrets', async (context) => {
  const { url, sandboxKey, log } = await startAppOverStore(context, {}, { accessLog: true })
  const headers = { authorization: `Bearer ${sandboxKey}`, 'x-request-id': 'order-17', traceparent }
  await fetch(`${url}/agents/agent_01?cursor=a-query-value`, { headers })
  await fetch(`${url}/no/such/path?key=${sandboxKey}`)
  await until(() => log.filter((line) => line.includes('"msg":"request"')).length === 2)
  const [known, unknown] = log.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request')
  const { time, pid: _, hostname: __, ms, account, key, ...others } = known
  assert.deepEqual(others, {
    level: 30,
    reqId: 'order-17',
    traceId,
    method: 'GET',
    route: '/agents/:agent_id',
    status: 404,
    msg: 'request',
  })
  assert.ok(time > 0 && ms > 0)
  assert.match(account, /^acct_/)
  assert.match(key, /^key_/)
  assert.deepEqual([unknown.route, unknown.status, unknown.account], ['unmatched', 404, undefined])
  for (const secret of [sandboxKey, 'a-query-value', '/no/such', 'agent_01'])
    assert.ok(!log.join('').includes(secret), secret)
})

test('Without PURSER_ACCESS_LOG, requests are not logged', async (context) => {
  const { url, log } = await startAppOverStore(context)
  await fetch(`${url}/healthz`)
  await fetch(`${url}/healthz`)
  assert.deepEqual(
    log.filter((line) => !line.includes('listening')),
    [],
  )
})

async function fail(): Promise<never> {
  throw new Error('a broken list')
}

async function startListener(context: TestContext) {
  const seen: unknown[] = []
  const server = createServer(({ headers: { traceparent: parent, tracestate, accept } }, response) => {
    seen.push({ traceparent: parent, tracestate, accept })
    response.end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  context.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, seen }
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise(setImmediate)
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'

import { endpoints } from '@purser/wire/openapi'

import { issueProof, preparePurchase, type TestService } from '../../../service/testing/service.ts'
import { shareTestService } from '../../../service/testing/shared-service.ts'
import { startServer } from '../testing/scripted-server.ts'
import {
  ApiError,
  ConnectionError,
  Purser,
  PurserError,
  TimeoutError,
  UnavailableError,
  type Proof,
} from './client.ts'

/** A client whose connection breaks after the chosen requests were answered. */
function overLossyNetwork({ sandboxKey, url }: TestService, isLost: (sent: RequestInit) => boolean): Purser {
  return new Purser({
    apiKey: sandboxKey,
    baseUrl: url,
    sleep: async () => {},
    fetch: async (input, init) => {
      const answer = await fetch(input, init)
      if (!isLost(init ?? {})) return answer
      await answer.body?.cancel()
      throw new TypeError('the connection broke before the reply')
    },
  })
}

test('A lost reply to a verification is retried with the same key, and charged once', async () => {
  const service = await shareTestService()
  const purchase = await preparePurchase(service)
  const proof = await issueProof(service, purchase, '4.00')
  const keys: (string | null)[] = []
  const purser = overLossyNetwork(service, ({ headers }) => {
    keys.push(new Headers(headers).get('idempotency-key'))
    return keys.length <= 2
  })
  const charge = { proof, merchant_domain: purchase.merchantDomain, expected_amount: '4.00' }
  const verification = await purser.payments.verify(charge)
  assert.deepEqual([verification.verified, verification.verified && verification.replayed], [true, true])
  assert.deepEqual([keys.length, new Set(keys).size], [3, 1])
  assert.match(keys[0] ?? '', /^[0-9a-f]{32}$/)
  assert.equal((await service.call('GET', `/mandates/${purchase.mandateId}`)).body.spent_total, '4.00')
})

test('A lost reply to the creation of a mandate or a shared budget is retried, and creates one', async () => {
  const service = await shareTestService()
  const { agentId } = await preparePurchase(service)
  let isLost = false
  const purser = overLossyNetwork(service, ({ method }) => (isLost = method === 'POST' && !isLost))
  const mandate = await purser.mandates.create({
    agent_id: agentId,
    purpose: 'Once',
    max_spend_total: '1.00',
    max_spend_per_transaction: '1.00',
    expires_at: '2099-01-01T00:00:00Z',
  })
  const budget = await purser.budgets.create({ name: 'Once', limits: [] })
  const mandates = await purser.mandates.list().toArray({ limit: 100 })
  assert.deepEqual(
    mandates.filter(({ purpose }) => purpose === 'Once').map(({ id }) => id),
    [mandate.id],
  )
  const budgets = await purser.budgets.list().toArray({ limit: 100 })
  assert.deepEqual(
    budgets.map(({ id }) => id),
    [budget.id],
  )
})

test('A lost reply to a proof request is retried with the same key, and holds once', async () => {
  const service = await shareTestService()
  const purchase = await preparePurchase(service)
  const payment = {
    agent_id: purchase.agentId,
    mandate_id: purchase.mandateId,
    amount: '4.00',
    resource_url: purchase.resourceUrl,
  }
  const nonces: string[] = []
  const purser = new Purser({
    apiKey: service.sandboxKey,
    baseUrl: service.url,
    sleep: async () => {},
    fetch: async (input, init) => {
      const answer = await fetch(input, init)
      if (nonces.length > 2) return answer
      const { proof } = (await answer.clone().json()) as { proof: Proof }
      if (nonces.push(proof.nonce) > 2) return answer
      throw new TypeError('the connection broke after the hold')
    },
  })
  const granted = await purser.payments.requestProof(payment)
  assert(granted.decision === 'approved')
  assert.deepEqual([nonces.length, granted.replayed], [3, true])
  assert.deepEqual([...new Set(nonces)], [granted.proof.nonce])
  assert.equal((await service.call('GET', `/mandates/${purchase.mandateId}`)).body.held_total, '4.00')

  const own = { idempotencyKey: 'order-1001' }
  const first = await purser.payments.requestProof(payment, own)
  const again = await purser.payments.requestProof(payment, own)
  assert(first.decision === 'approved' && again.decision === 'approved')
  assert.deepEqual([first.replayed, again], [false, { ...first, replayed: true }])
  await assert.rejects(
    purser.payments.requestProof({ ...payment, amount: '5.00' }, own),
    (error) => error instanceof ApiError && error.status === 422 && error.code === 'idempotency_key_reused',
  )
  assert.equal((await service.call('GET', `/mandates/${purchase.mandateId}`)).body.held_total, '8.00')
})

/** A client of a server that breaks the first connections, and its recorded pauses. */
async function breaking(
  context: Parameters<typeof startServer>[0],
  { breaks, random = () => 0.5 }: { breaks: number; random?: () => number },
) {
  const pauses: number[] = []
  const seen: string[] = []
  const baseUrl = await startServer(context, (request, response) => {
    seen.push(`${request.method} ${request.url}`)
    if (seen.length <= breaks) request.socket.destroy()
    else response.writeHead(200, { 'content-type': 'application/json' }).end('{"id":"agent_1"}')
  })
  const sleep = async (milliseconds: number) => void pauses.push(milliseconds)
  return { purser: new Purser({ apiKey: 'svc_sand_x', baseUrl, random, sleep }), seen, pauses }
}

test('Idempotent requests are retried twice, after pauses with full jitter', async (context) => {
  const { purser, pauses } = await breaking(context, { breaks: 2 })
  assert.deepEqual(await purser.agents.get('agent_1'), { id: 'agent_1' })
  assert.deepEqual(pauses, [100, 200])
  const unlucky = await breaking(context, { breaks: 20, random: () => 0 })
  await assert.rejects(unlucky.purser.agents.revoke('agent_1', { maxRetries: 99 }), ConnectionError)
  assert.deepEqual([unlucky.seen.length, unlucky.pauses], [11, Array(10).fill(0)])
  const late = await breaking(context, { breaks: 20, random: () => 0.999 })
  await assert.rejects(late.purser.agents.get('agent_1', { maxRetries: 10 }), ConnectionError)
  assert.deepEqual(late.pauses.map(Math.round), [200, 400, 799, 1598, 3197, 4995, 4995, 4995, 4995, 4995])
})

test('A POST without an idempotency key is never retried, except evaluate, which holds and charges nothing', async (context) => {
  const { purser, seen, pauses } = await breaking(context, { breaks: 3 })
  await assert.rejects(purser.agents.create({ name: 'research-bot' }, { maxRetries: 5 }), ConnectionError)
  assert.deepEqual([seen, pauses], [['POST /agents'], []])
  const payment = { agent_id: 'a', mandate_id: 'm', amount: '1.00', resource_url: 'https://api.example.com/' }
  await purser.policy.evaluate({ ...payment, merchant_domain: 'api.example.com' })
  assert.deepEqual(seen.slice(1), Array(3).fill('POST /v1/policy/evaluate'))
})

test('Retry-After is honored, in seconds or as a date; above ten seconds the error is thrown at once', async (context) => {
  const asked = ['3', new Date(Date.now() + 5_000).toUTCString(), 'soon', '11']
  const baseUrl = await startServer(context, (_request, response) => {
    response.writeHead(503, { 'content-type': 'application/json', 'retry-after': asked.shift() ?? '' })
    response.end('{"detail":"store_unavailable"}')
  })
  const pauses: number[] = []
  const sleep = async (milliseconds: number) => void pauses.push(milliseconds)
  const purser = new Purser({ apiKey: 'svc_sand_x', baseUrl, maxRetries: 9, random: () => 0.5, sleep })
  const error = await purser.health.ready().catch((error: unknown) => error)
  assert(error instanceof UnavailableError)
  assert.deepEqual([error.code, error.retryAfterMs], ['store_unavailable', 11_000])
  const [seconds, date = 0, backoff] = pauses
  assert.deepEqual([pauses.length, seconds, backoff], [3, 3100, 400])
  assert.ok(date > 3000 && date <= 5200, `${date} ms`)
})

/** A fetch that ignores its signal. */
const deaf = () => new Promise<Response>(() => {})

test('An attempt ends at its timeout, even while its body arrives, and with a fetch that ignores its signal', async (context) => {
  const silent = await startServer(context, () => {})
  const dripping = await startServer(context, (_request, response) => void response.writeHead(200).write('{'))
  for (const options of [{ baseUrl: silent }, { baseUrl: dripping }, { fetch: deaf }]) {
    const purser = new Purser({ apiKey: 'svc_sand_x', timeout: 30, maxRetries: 0, ...options })
    await assert.rejects(purser.health.live(), (error) => {
      assert(error instanceof TimeoutError && error instanceof ConnectionError)
      return /GET http.*\/healthz was not answered within 30 ms/.test(error.message)
    })
    await assert.rejects(purser.health.live({ timeout: 20 }), /20 ms/)
  }
})

test('A signal aborts a call and its pauses with its own reason', async (context) => {
  const baseUrl = await startServer(context, (request) => void request.socket.destroy())
  const purser = new Purser({ apiKey: 'svc_sand_x', baseUrl, random: () => 0.999, maxRetries: 10 })
  const reason = new Error('the person left')
  await assert.rejects(purser.health.live({ signal: AbortSignal.abort(reason) }), reason)
  await assert.rejects(purser.health.live({ signal: AbortSignal.timeout(5) }), { name: 'TimeoutError' })
  const silent = await startServer(context, () => {})
  const controller = new AbortController()
  const waiting = new Purser({ apiKey: 'svc_sand_x', baseUrl: silent }).health.live({
    signal: controller.signal,
  })
  setImmediate(() => controller.abort(reason))
  await assert.rejects(waiting, reason)
})

test('Every endpoint of the interface has its call', async () => {
  const asked: string[] = []
  const purser = new Purser({
    apiKey: 'svc_sand_x',
    fetch: async (input, init) => {
      const method = init?.method ?? 'GET'
      asked.push(`${method} ${new URL(input as string).pathname}`)
      return Response.json(method === 'GET' ? [] : { proof: {}, verified: false, decision: 'denied' })
    },
  })
  const calls: unknown[] = [purser.verifyAgent({} as never)]
  const callAll = (resource: object): void => {
    for (const call of Object.values(resource) as (Resource | ((argument: string) => unknown))[]) {
      if (typeof call !== 'function') {
        callAll(call)
        continue
      }
      const result = call('{id}')
      calls.push(isList(result) ? result.page() : isStream(result) ? result.next() : result)
    }
  }
  for (const resource of Object.values(purser)) callAll(resource as Resource)
  await Promise.allSettled(calls)
  const declared = endpoints.map(({ method, path }) => `${method} ${path.replace(/\{\w+\}/, '%7Bid%7D')}`)
  assert.deepEqual(asked.sort(), declared.sort())
})

type Resource = Readonly<Record<string, unknown>>

function isStream(value: unknown): value is AsyncGenerator {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

function isList(value: unknown): value is { page: () => Promise<unknown> } {
  return typeof value === 'object' && value !== null && 'page' in value
}

test('Invalid arguments are refused before anything is sent', async () => {
  assert.throws(() => new Purser({ apiKey: '' }), /apiKey is missing/)
  assert.throws(() => new Purser({ apiKey: undefined }), /apiKey is missing/)
  assert.throws(() => new Purser({ apiKey: 'svc_sand_…' }), /apiKey has characters that no key has/)
  for (const baseUrl of ['', 'purser.example.com', 'ftp://purser.example.com']) {
    assert.throws(() => new Purser({ apiKey: null, baseUrl }), /baseUrl must be an http or https URL/)
  }
  // A key in the wrong place does not get into logs.
  assert.throws(() => new Purser({ baseUrl: 'svc_sand_x' }), /^(?!.*svc_)PurserError: baseUrl must be/s)
  const purser = new Purser({ apiKey: 'svc_sand_x', fetch: () => assert.fail('sent') })
  for (const id of ['', '.', '..']) {
    await assert.rejects(purser.agents.revoke(id), PurserError)
    await assert.rejects(purser.apiKeys.revoke(id), /is not an id/)
  }
})

test('An id stays in its place in the path, and a base path is kept', async (context) => {
  const seen: (string | undefined)[] = []
  const url = await startServer(context, (request, response) => {
    seen.push(request.url)
    response.end('{}')
  })
  const purser = new Purser({ apiKey: 'svc_sand_x', baseUrl: `${url}/purser/` })
  await purser.mandates.pause('../agents/a?b#c')
  await purser.transactions.list({ status: 'paid', merchant_domain: 'a&b' }).page()
  assert.deepEqual(seen, [
    '/purser/mandates/..%2Fagents%2Fa%3Fb%23c/pause',
    '/purser/v1/transactions?status=paid&merchant_domain=a%26b',
  ])
})

test('The key appears in no error, and not when the client is logged', async (context) => {
  const sent: unknown[] = []
  const baseUrl = await startServer(context, ({ headers, socket }) => {
    sent.push(headers.authorization)
    socket.destroy()
  })
  const apiKey = 'svc_sand_secret'
  // A secret often comes from a file, with line ends around it.
  const purser = new Purser({ apiKey: `\n${apiKey}\n`, baseUrl, maxRetries: 0 })
  const error = await purser.agents
    .list()
    .page()
    .catch((error: unknown) => error)
  assert(error instanceof ConnectionError)
  assert.ok(!inspect(error, { depth: 9 }).includes(apiKey))
  assert.deepEqual(sent, [`Bearer ${apiKey}`])
  assert.ok(!inspect(purser, { depth: 9, showHidden: true }).includes(apiKey))
  assert.ok(!JSON.stringify(purser).includes(apiKey))
})

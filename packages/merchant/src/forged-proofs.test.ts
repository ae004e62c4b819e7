import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test, type TestContext } from 'node:test'

import { Purser, type Proof } from '@purser/client'
import { createPaymentGate, type Decision, type DeliveryStore } from '@purser/merchant'

import {
  issueKey,
  issueProof,
  merchantDomain,
  preparePurchase,
  startTestService,
} from '../../../service/testing/service.ts'
import { encode } from '../testing/purchase.ts'
import { keepInProcess } from './deliveries/delivery-store.ts'

const service = await startTestService({ after })
const merchantKey = await issueKey(service, { role: 'merchant' })
const purchase = await preparePurchase(service)
const genuine = await issueProof(service, purchase, '4.00')

/** A forged proof: every field is valid except the signature. */
const forged = (fields: object = {}) => ({
  ...genuine,
  nonce: randomUUID(),
  signature: 'f'.repeat(64),
  ...fields,
})

interface Asking {
  readonly apiKey?: string
  readonly baseUrl?: string
  readonly preflight?: boolean
  readonly deliveries?: DeliveryStore
}

/** A gate whose errors and stored deliveries can be checked. */
function openGate({ apiKey = merchantKey, baseUrl = service.url, preflight, deliveries }: Asking = {}) {
  const errors: unknown[] = []
  const kept = new Set<string>()
  const store = deliveries ?? keepInProcess()
  const gate = createPaymentGate({
    client: new Purser({ apiKey, baseUrl, maxRetries: 0 }),
    merchantDomain,
    price: '4.00',
    preflight: preflight === true,
    onError: (error) => errors.push(error),
    deliveries: {
      read: (id) => store.read(id),
      replace: (id, from, to) => {
        if (to) kept.add(id)
        else kept.delete(id)
        return store.replace(id, from, to)
      },
    },
  })
  const ask = (proof: object) =>
    gate({ method: 'GET', target: '/data', proof: encode(proof), request: undefined })
  return { ask, errors, kept }
}

const nested = (depth: number): unknown => JSON.parse('['.repeat(depth) + ']'.repeat(depth))

for (const [what, fields] of Object.entries<object>({
  'lists in lists': { more: nested(250) },
  'lists in lists in a field of a proof': { amount: nested(250) },
  'a short list': { more: [] },
  'an object': { more: { amount: '4.00' } },
  'half a letter': { scheme: '\ud800' },
  'half a letter in the name of its agent': { agentId: '\ud800' },
  'half a letter in the name of its mandate': { mandateId: '\ud800' },
  'a NUL in the name of its agent': { agentId: '\u0000' },
  'a nonce that is no UUID': { nonce: 'x' },
  'a time that is none': { timestamp: 'x' },
  'an amount that is none': { amount: 'x' },
  'a mandate id that is too long': { mandateId: 'x'.repeat(256) },
})) {
  test(`A proof with ${what} is malformed, is not retried and leaves nothing behind`, async () => {
    for (const preflight of [false, true]) {
      const { ask, errors, kept } = openGate({ preflight })
      const decision = await ask({ ...genuine, ...fields })
      assert.deepEqual([statusOf(decision), reasonIn(decision)], [402, 'malformed_proof'])
      assert.deepEqual([errors, kept.size], [[], 0])
    }
  })
}

test('A proof with nested values is refused before the service is asked', async () => {
  const { ask } = openGate({ baseUrl: 'http://127.0.0.1:1' })
  assert.equal(reasonIn(await ask(forged({ more: nested(1) }))), 'malformed_proof')
  assert.equal(statusOf(await ask(forged({ more: 'x' }))), 503)
})

test('A proof may have more flat fields, because its signature covers them', async () => {
  const { ask, errors, kept } = openGate()
  for (const more of ['x', '', 1.5, 1e20, 0, true, null]) {
    assert.equal(reasonIn(await ask(forged({ more }))), 'invalid_signature', String(more))
  }
  assert.deepEqual([errors, kept.size], [[], 0])
})

test('A changed currency, agent or mandate is refused, with and without preflight', async () => {
  for (const [fields, plain, checked] of [
    [{ currency: 'EUR' }, 'amount_mismatch', 'amount_mismatch'],
    [{ currency: '' }, 'amount_mismatch', 'amount_mismatch'],
    [{ agentId: '' }, 'invalid_signature', 'agent_revoked'],
    [{ mandateId: 'x'.repeat(255) }, 'invalid_signature', 'mandate_expired'],
  ] as const) {
    for (const preflight of [false, true]) {
      const { ask, errors, kept } = openGate({ preflight })
      const decision = await ask({ ...genuine, ...fields })
      assert.equal(statusOf(decision), 402, JSON.stringify(fields))
      assert.equal(reasonIn(decision), preflight ? checked : plain, JSON.stringify(fields))
      assert.deepEqual([errors, kept.size], [[], 0])
    }
  }
})

test('With a key that cannot collect, forged proofs do not fill the store or displace anything', async () => {
  const deliveries = keepInProcess()
  const proof = await issueProof(service, await preparePurchase(service), '4.00')
  const first = await openGate({ deliveries }).ask(proof)
  assert(first.outcome === 'paid')
  await first.notDelivered()

  const agentKey = await issueKey(service, { role: 'agent', agent_id: purchase.agentId })
  for (const apiKey of ['svc_sand_unknown', agentKey]) {
    const { ask, errors, kept } = openGate({ apiKey, deliveries })
    assert.equal(statusOf(await ask(forged())), 503, 'it is the merchant who has to put it right')
    assert.deepEqual([errors.length, kept.size], [1, 0])
    assert.equal(statusOf(await ask(proof)), 503)
    assert.equal(kept.size, 1, 'what was paid is put back')
  }
  assert.equal((await openGate({ deliveries }).ask(proof)).outcome, 'paid')
})

for (const status of [400, 401, 403, 413, 422, 431]) {
  test(`After a ${status} of the service nothing has been charged, and nothing is kept`, async (context) => {
    const baseUrl = await startWall(context, status, '{"detail":"turned_away"}')
    const { ask, errors, kept } = openGate({ baseUrl })
    assert.equal(statusOf(await ask(forged())), 503)
    assert.deepEqual([kept.size, errors.length], [0, 1])
  })
}

for (const status of [400, 401, 403, 404, 405, 408, 409, 413, 422, 429, 431, 500, 502, 503]) {
  test(`A ${status} of a proxy gives no goods, and leaves the delivery open`, async (context) => {
    const { ask, errors, kept } = openGate({ baseUrl: await startWall(context, status) })
    assert.equal(statusOf(await ask(forged())), 503)
    assert.deepEqual([kept.size, errors.length], [1, 1])
  })
}

test('Endless forged proofs do not cost customers the goods of a failed handler', async (context) => {
  const deliveries = keepInProcess()
  const proof = await issueProof(service, await preparePurchase(service), '4.00')
  const first = await openGate({ deliveries }).ask(proof)
  assert(first.outcome === 'paid')
  await first.notDelivered()
  // Not even while the service is unreachable and the store is almost full.
  for (let number = 0; number < 10_000; number++) {
    const forgery = { text: 'forged', keepUntilMs: Date.now() + 3_600_000, worth: 'doubtful' } as const
    await deliveries.replace(`forged ${number}`, undefined, forgery)
  }
  const { ask, kept } = openGate({ baseUrl: await startWall(context, 503), deliveries })
  for (let number = 0; number < 10; number++) assert.equal(statusOf(await ask(forged())), 503)
  assert.equal(kept.size, 10)
  assert.equal((await openGate({ deliveries }).ask(proof)).outcome, 'paid')
})

test('Each signature is a separate proof: forged ones with the nonce of a real one do not affect it', async () => {
  const deliveries = keepInProcess()
  const proof: Proof = await issueProof(service, await preparePurchase(service), '4.00')
  const { ask } = openGate({ deliveries })
  const first = await ask(proof)
  assert(first.outcome === 'paid')
  await first.notDelivered()
  assert.equal(reasonIn(await ask({ ...proof, signature: 'f'.repeat(64) })), 'invalid_signature')
  assert.equal((await ask(proof)).outcome, 'paid')
})

/** A server in front of the service that answers everything with one status. */
async function startWall(
  context: TestContext,
  status: number,
  body = 'not in the words of the service',
): Promise<string> {
  const wall = createServer((_, response) => void response.writeHead(status).end(body))
  await new Promise<void>((resolve) => wall.listen(0, '127.0.0.1', resolve))
  context.after(() => {
    wall.closeAllConnections()
    wall.close()
  })
  return `http://127.0.0.1:${(wall.address() as AddressInfo).port}`
}

function statusOf(decision: Decision): number | undefined {
  return 'answer' in decision ? decision.answer.status : undefined
}

function reasonIn(decision: Decision): string | undefined {
  assert('answer' in decision, decision.outcome)
  return (JSON.parse(decision.answer.body) as { reason?: string }).reason
}

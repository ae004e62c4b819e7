import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'

import {
  issueKey,
  issueProof,
  preparePurchase,
  startTestService,
} from '../../../../service/testing/service.ts'
import { merchantDomain, startMerchant, type MerchantOptions } from '../../testing/merchant.ts'
import {
  ConnectionError,
  PaymentUncertainError,
  paymentDecisionOf,
  Purser,
  wrapFetchWithPayment,
  type PaymentDecision,
  type PaymentOptions,
} from '../client.ts'

/** An agent with a mandate over 10.00, at most 5.00 at once, at a merchant that asks 4.00. */
async function prepareMarket(context: TestContext, merchantOptions: MerchantOptions = {}) {
  const service = await startTestService(context)
  const merchant = await startMerchant(context, service, merchantOptions)
  const { agentId, mandateId } = await preparePurchase(service, {
    max_spend_total: '10.00',
    max_spend_per_transaction: '5.00',
    allowed_sellers: [merchantDomain],
  })
  const apiKey = await issueKey(service, { role: 'agent', agent_id: agentId })
  const client = new Purser({ apiKey, baseUrl: service.url })
  const decisions: PaymentDecision[] = []
  const pauses: number[] = []
  const pay = (options: Partial<PaymentOptions> = {}, fetch: typeof globalThis.fetch = globalThis.fetch) =>
    wrapFetchWithPayment(fetch, {
      client,
      agentId,
      mandateId,
      onDecision: (decision) => void decisions.push(decision),
      random: () => 0.5,
      sleep: async (milliseconds) => void pauses.push(milliseconds),
      ...options,
    })
  const budget = async () => {
    const { spent_total, held_total } = await client.mandates.get(mandateId)
    return { spent: spent_total, held: held_total }
  }
  return { service, merchant, client, decisions, pauses, pay, budget, mandateId }
}

test('A 402 with a challenge is paid, and the request sent again once, as it was [decision.91]', async (context) => {
  const { merchant, decisions, pay, budget } = await prepareMarket(context)
  const order = { method: 'POST', body: '{"query":"rain"}', headers: { 'x-trace': '7' } }
  const answer = await pay()(`${merchant.url}/data?of=today#top`, order)
  assert.deepEqual([answer.status, await answer.json()], [200, { data: [1, 2, 3] }])
  const [decision] = decisions
  assert(decision?.outcome === 'approved')
  assert.equal(paymentDecisionOf(answer), decision)
  assert.deepEqual(merchant.visits, [
    { method: 'POST', nonce: undefined, body: order.body },
    { method: 'POST', nonce: decision.nonce, body: order.body },
  ])
  assert.deepEqual(await budget(), { spent: '4.00', held: '0.00' })
})

test('A challenge that stands in the body only is read, and the body of a refused 402 stays readable [decision.91]', async (context) => {
  const { merchant, pay, budget } = await prepareMarket(context, { isBodyOnly: true })
  assert.equal((await pay()(merchant.url)).status, 200)
  const refused = await pay({ maxAmount: '3.99' })(merchant.url)
  assert.equal(refused.status, 402)
  assert.equal((await refused.json()).amount, '4.00')
  assert.deepEqual(await budget(), { spent: '4.00', held: '0.00' })
})

/** A proxy that cuts long headers short. */
const spoilHeader: typeof globalThis.fetch = async (input, init) => {
  const answer = await fetch(input, init)
  const headers = { 'content-type': 'application/json', 'x-payment-challenge': 'eyJ' }
  return answer.status === 402 ? new Response(answer.body, { status: 402, headers }) : answer
}

test('A header that is no challenge does not hide the one in the body [decision.91]', async (context) => {
  const { merchant, pay } = await prepareMarket(context, { isBodyOnly: true })
  const before = globalThis.fetch
  assert.equal((await pay({}, spoilHeader)(merchant.url)).status, 200)
  assert.equal(globalThis.fetch, before, 'the global fetch is not touched')
})

test('What asks for no payment passes through untouched, the same object [decision.91]', async (context) => {
  const { decisions, pay } = await prepareMarket(context)
  const given = new Response('free', { status: 404 })
  const answer = await pay({}, async () => given)('http://127.0.0.1/free')
  assert.equal(answer, given)
  assert.equal(answer.bodyUsed, false)
  assert.equal(paymentDecisionOf(answer), undefined)
  assert.deepEqual(decisions, [])
})

test('A denial hands the 402 back, and says what was asked, the limit and what would help [decision.91]', async (context) => {
  const { merchant, decisions, pay, budget } = await prepareMarket(context, { price: '5.01' })
  const answer = await pay()(merchant.url)
  assert.deepEqual([answer.status, (await answer.json()).amount], [402, '5.01'])
  const [decision] = decisions
  assert(decision?.outcome === 'denied')
  assert.equal(decision.reason_code, 'amount_exceeds_per_transaction_limit')
  assert.match(decision.reason_detail, /5\.01/)
  assert.equal(merchant.visits.length, 1, 'the merchant was shown no proof')
  assert.deepEqual(await budget(), { spent: '0.00', held: '0.00' })
})

test('A merchant or category that the mandate does not admit is denied before anything is held [decision.91]', async (context) => {
  const { service, merchant, decisions, pay, budget } = await prepareMarket(context, {
    challenge: () => ({ category: 'games' }),
  })
  const { agentId, mandateId } = await preparePurchase(service, { allowed_sellers: ['shop.example'] })
  const narrow = await preparePurchase(service, { allowed_sellers: ['*'], allowed_categories: ['data'] })
  const client = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  for (const ids of [{ agentId, mandateId }, narrow]) {
    assert.equal((await pay({ client, ...ids })(merchant.url)).status, 402)
    assert.equal((await client.mandates.get(ids.mandateId)).held_total, '0.00')
  }
  assert.deepEqual(
    decisions.map((one) => one.outcome === 'denied' && one.reason_code),
    ['merchant_not_allowed', 'merchant_not_allowed'],
  )
  assert.deepEqual(await budget(), { spent: '0.00', held: '0.00' })
})

const challenges: [title: string, challenge: Record<string, unknown>, why: string][] = [
  ['another address', { resource: 'http://127.0.0.1/other' }, 'other_resource'],
  ['no address', { resource: 'data' }, 'no_challenge'],
  ['the domain of somebody else', { merchant_domain: 'shop.example' }, 'other_merchant'],
  ['a domain that only looks like a parent', { merchant_domain: '0.0.1' }, 'other_merchant'],
  ['another scheme', { scheme: 'exact' }, 'no_challenge'],
  ['another network', { network: 'mainnet' }, 'no_challenge'],
  ['another currency', { currency: 'EUR' }, 'no_challenge'],
  ['an amount that is none', { amount: '1e3' }, 'no_challenge'],
  ['a number for an amount', { amount: 4 }, 'no_challenge'],
]

test('A challenge that is not about what was asked for, or not understood, is not paid, and onDecision is told why [decision.91]', async (context) => {
  let challenge: Record<string, unknown> = {}
  const { merchant, decisions, pay, budget } = await prepareMarket(context, { challenge: () => challenge })
  for (const [title, fields, why] of challenges) {
    challenge = fields
    const answer = await pay()(`${merchant.url}/data`)
    assert.deepEqual([answer.status, (await answer.json()).error], [402, 'payment_required'], title)
    const decision = decisions.at(-1)
    assert(decision?.outcome === 'skipped', title)
    assert.equal(decision.why, why, title)
  }
  assert.equal(merchant.visits.length, challenges.length)
  assert.deepEqual(await budget(), { spent: '0.00', held: '0.00' })
})

test('Of an offer for another address both are named: localhost is not 127.0.0.1 [decision.91]', async (context) => {
  const resource = 'http://localhost:3000/data'
  const { merchant, pay } = await prepareMarket(context, { challenge: () => ({ resource }) })
  const decision = paymentDecisionOf(await pay()(`${merchant.url}/data`))
  assert(decision?.outcome === 'skipped')
  assert.ok(decision.detail.endsWith(` (${resource}, not ${merchant.url}/data)`), decision.detail)
})

test('maxAmount compares money, not text: 4.0 pays 4.00 [decision.91]', async (context) => {
  const { merchant, decisions, pay } = await prepareMarket(context)
  assert.equal((await pay({ maxAmount: '3.999999' })(merchant.url)).status, 402)
  assert.equal((await pay({ maxAmount: '4.0' })(merchant.url)).status, 200)
  assert.deepEqual(
    decisions.map(({ outcome }) => outcome),
    ['skipped', 'approved'],
  )
  assert.throws(() => pay({ maxAmount: 'much' }), /"much" is no amount/)
})

test('A body that cannot be sent twice is not paid for; one that can is [decision.91]', async (context) => {
  const { merchant, decisions, pay } = await prepareMarket(context)
  const stream = new Blob(['rain']).stream()
  const streamed = await pay()(merchant.url, { method: 'POST', body: stream, duplex: 'half' } as RequestInit)
  const asRequest = await pay()(new Request(merchant.url, { method: 'POST', body: 'rain' }))
  assert.deepEqual([streamed.status, asRequest.status], [402, 402])
  assert.deepEqual(
    decisions.map((one) => one.outcome === 'skipped' && one.why),
    ['body_cannot_be_repeated', 'body_cannot_be_repeated'],
  )
  const bodiless = await pay()(new Request(merchant.url, { headers: { 'x-trace': '7' } }))
  const bytes = await pay()(new URL(merchant.url), { method: 'POST', body: new TextEncoder().encode('rain') })
  assert.deepEqual([bodiless.status, bytes.status], [200, 200])
  assert.deepEqual(
    merchant.visits.map(({ body }) => body),
    ['rain', 'rain', '', '', 'rain', 'rain'],
  )
})

test('A request that shows a proof of its own is left alone [decision.91]', async (context) => {
  const { service, merchant, decisions, pay } = await prepareMarket(context)
  const proof = await issueProof(service, await preparePurchase(service), '1.00')
  const headers = { 'X-Payment-Proof': Buffer.from(JSON.stringify(proof)).toString('base64url') }
  const answer = await pay()(merchant.url, { headers })
  assert.deepEqual([answer.status, (await answer.json()).reason], [402, 'amount_mismatch'])
  assert.equal(merchant.visits.length, 1)
  assert.deepEqual(
    decisions.map((one) => one.outcome === 'skipped' && one.why),
    ['already_paying'],
  )
})

test('HEAD brings no goods, so nothing is paid for it [decision.91]', async (context) => {
  const { merchant, decisions, pay, budget } = await prepareMarket(context)
  for (const [input, init] of [
    [merchant.url, { method: 'head' }],
    [new Request(merchant.url, { method: 'HEAD' }), undefined],
    [new Request(merchant.url), { method: 'HEAD' }],
  ] as const) {
    assert.equal((await pay()(input, init)).status, 402)
  }
  assert.deepEqual(
    decisions.map((one) => one.outcome === 'skipped' && one.why),
    ['head_request', 'head_request', 'head_request'],
  )
  assert.equal(merchant.visits.length, 3)
  assert.deepEqual(await budget(), { spent: '0.00', held: '0.00' })
})

test('A 402 that came by a redirect is not paid [decision.91]', async (context) => {
  const { merchant, decisions, pay } = await prepareMarket(context)
  const server = createServer((_request, response) =>
    response.writeHead(302, { location: merchant.url }).end(),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  context.after(() => void server.close())
  const answer = await pay()(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  assert.equal(answer.status, 402)
  await answer.body?.cancel()
  assert.deepEqual(
    decisions.map((one) => one.outcome === 'skipped' && one.why),
    ['redirected'],
  )
})

test('A connection that breaks is tried again with the same proof, and charged once [decision.91]', async (context) => {
  let cuts = 2
  const { merchant, pauses, pay, budget } = await prepareMarket(context, {
    beforeVerify: (request) => cuts-- > 0 && Boolean(request.socket.destroy()),
  })
  const answer = await pay()(merchant.url)
  assert.equal(answer.status, 200)
  const nonces = merchant.visits.map(({ nonce }) => nonce).slice(1)
  assert.deepEqual([nonces.length, new Set(nonces).size], [3, 1])
  assert.deepEqual(pauses, [100, 200])
  assert.deepEqual(await budget(), { spent: '4.00', held: '0.00' })
})

test('503 payment_could_not_be_verified is tried again with the same proof after Retry-After; another 503 is not [decision.91]', async (context) => {
  const errors = ['payment_could_not_be_verified', 'closed_for_lunch']
  const { merchant, pauses, pay, budget } = await prepareMarket(context, {
    beforeVerify: (_request, response) => {
      response.writeHead(503, { 'content-type': 'application/json', 'retry-after': '2' })
      response.end(JSON.stringify({ error: errors.shift() }))
      return true
    },
  })
  const answer = await pay()(merchant.url)
  assert.deepEqual([answer.status, await answer.json()], [503, { error: 'closed_for_lunch' }])
  assert.deepEqual(pauses, [2100])
  const nonces = merchant.visits.map(({ nonce }) => nonce).slice(1)
  assert.deepEqual([nonces.length, new Set(nonces).size], [2, 1])
  assert.deepEqual(await budget(), { spent: '0.00', held: '4.00' })
})

test('When no answer comes at all, the error carries the nonce by which the payment is found [decision.91]', async (context) => {
  const { merchant, client, decisions, pay } = await prepareMarket(context, {
    deliver: (request) => void request.socket.destroy(),
  })
  const error = await pay({ maxRetries: 0 })(merchant.url).catch((error: unknown) => error)
  assert(error instanceof PaymentUncertainError)
  assert.deepEqual(
    decisions.map((one) => one.outcome === 'approved' && one.nonce),
    [error.nonce],
  )
  assert.ok(error.cause instanceof Error)
  const { status, amount } = await client.payments.getProof(error.nonce)
  assert.deepEqual([status, amount], ['captured', '4.00'])
})

test('A merchant that refuses the proof is not shown a second one [decision.91]', async (context) => {
  const { merchant, decisions, pay, budget, service } = await prepareMarket(context, {
    beforeVerify: () => {
      service.clock.nowMs += 6 * 60_000
      return false
    },
  })
  const answer = await pay()(merchant.url)
  assert.deepEqual([answer.status, (await answer.json()).reason], [402, 'proof_expired'])
  assert.equal(merchant.visits.length, 2)
  assert.deepEqual(
    decisions.map(({ outcome }) => outcome),
    ['approved'],
  )
  assert.equal((await budget()).spent, '0.00')
})

test('When Purser cannot decide, the error is that of the client, and nothing is sent again [decision.91]', async (context) => {
  const { merchant, decisions, pay } = await prepareMarket(context)
  const client = new Purser({ apiKey: 'svc_sand_unknown', baseUrl: 'http://127.0.0.1:1' })
  await assert.rejects(pay({ client })(merchant.url), ConnectionError)
  assert.equal(merchant.visits.length, 1)
  assert.deepEqual(decisions, [])
})

test('When onDecision throws, nothing is bought [decision.91]', async (context) => {
  const { merchant, pay, budget } = await prepareMarket(context)
  const buying = pay({ onDecision: () => Promise.reject(new Error('the person said no')) })(merchant.url)
  await assert.rejects(buying, /the person said no/)
  assert.equal(merchant.visits.length, 1)
  assert.equal((await budget()).spent, '0.00')
})

test('The signal of the request ends the wait between attempts [decision.91]', async (context) => {
  const controller = new AbortController()
  const { merchant, pay } = await prepareMarket(context, {
    beforeVerify: (request) => Boolean(request.socket.destroy()),
  })
  const sleep = (_milliseconds: number, signal?: AbortSignal) => {
    controller.abort(new Error('enough'))
    return signal?.aborted ? Promise.reject(signal.reason as Error) : Promise.resolve()
  }
  await assert.rejects(pay({ sleep })(merchant.url, { signal: controller.signal }), /enough/)
  assert.equal(merchant.visits.length, 2)
})

test('The goods are handed over as they come, before the last of them is sent [decision.91]', async (context) => {
  let open: ServerResponse | undefined
  const { merchant, pay } = await prepareMarket(context, {
    deliver: (_request, response) => {
      response.writeHead(200).write('first')
      open = response
    },
  })
  const answer = await pay()(merchant.url)
  const reader = answer.body?.getReader()
  const first = await reader?.read()
  assert.equal(Buffer.from(first?.value ?? []).toString(), 'first')
  open?.end('last')
  const last = await reader?.read()
  assert.equal(Buffer.from(last?.value ?? []).toString(), 'last')
})

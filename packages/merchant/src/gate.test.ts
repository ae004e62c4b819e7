import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import { Purser } from '@purser/client'
import { createPaymentGate, type Decision, type PaymentOptions } from '@purser/merchant'

import { createMerchant, registerSeller } from '../../../service/testing/purchases.ts'
import {
  issueKey,
  issueProof,
  merchantDomain,
  preparePurchase,
  startTestService,
} from '../../../service/testing/service.ts'
import { shareTestService } from '../../../service/testing/shared-service.ts'
import { encode } from '../testing/purchase.ts'
import { keepInProcess, type DeliveryStore } from './deliveries/delivery-store.ts'

const service = await startTestService({ after })
const merchantKey = await issueKey(service, { role: 'merchant' })

const day = { calendar: 'day', time_zone: 'UTC' }
const resource = `https://${merchantDomain}/data`

interface Query {
  readonly plan: string
}

/** A gate whose errors can be checked. */
function openGate(options: Partial<PaymentOptions<Query>> = {}, apiKey = merchantKey) {
  const errors: unknown[] = []
  const client = new Purser({ apiKey, baseUrl: service.url })
  const onError = (error: unknown) => errors.push(error)
  const gate = createPaymentGate<Query>({
    client,
    merchantDomain,
    price: '4.00',
    onError,
    ...options,
  } as PaymentOptions<Query>)
  return {
    errors,
    ask: (proof?: unknown, plan = 'small', method = 'GET') =>
      gate({
        method,
        target: '/data',
        proof: proof === undefined ? undefined : encode(proof),
        request: { plan },
      }),
  }
}

const prices = ({ plan }: Query) => (plan === 'small' ? '1.00' : '4.00')

test('A price can be computed from the request, synchronously or asynchronously', async () => {
  const proof = await issueProof(service, await preparePurchase(service), '1.00')
  for (const price of [prices, (query: Query) => Promise.resolve(prices(query))]) {
    const { ask } = openGate({ price })
    assert.equal(amountIn(await ask()), '1.00')
    assert.equal(amountIn(await ask(undefined, 'large')), '4.00')
    assert.equal(reasonIn(await ask(proof, 'large')), 'amount_mismatch')
  }
  assert.equal((await openGate({ price: prices }).ask(proof)).outcome, 'paid')
})

test("The time to settle is the mandate's, whatever the merchant's clock says", async (context) => {
  context.after(() => (service.clock.nowMs = startedAtMs))
  const startedAtMs = service.clock.nowMs
  for (const aheadMs of [-3_600_000, -30_000, 0, 30_000, 3_600_000]) {
    service.clock.nowMs = Date.now() + aheadMs
    const proof = await issueProof(
      service,
      await preparePurchase(service, { max_capture_seconds: 60 }),
      '4.00',
    )
    const decision = await openGate({ capture: 'metered' }).ask(proof)
    assert(decision.outcome === 'authorized')
    assert.equal(decision.settleWithinMs, 54_000, `${aheadMs} ms ahead`)
    await decision.void()
  }
})

test('HEAD returns no goods, so it is never charged', async () => {
  const proof = await issueProof(service, await preparePurchase(service), '4.00')
  const { ask } = openGate()
  assert.equal((await ask(proof, 'small', 'HEAD')).outcome, 'challenge')
  assert.equal((await ask(proof)).outcome, 'paid', 'the proof is as good as before')
})

const wrongPrices: Readonly<Record<string, () => unknown>> = {
  nothing: () => undefined,
  false: () => false,
  'a number': () => 4,
  'a sign': () => '-4.00',
  'too many digits': () => '4.0000001',
  spaces: () => ' 4.00',
  'an object': () => ({ toString: () => '4.00' }),
}

for (const [what, price] of Object.entries(wrongPrices)) {
  test(`A price that is ${what} delivers nothing`, async () => {
    const { ask, errors } = openGate({ price: price as () => string })
    assert.deepEqual(unavailableIn(await ask()), { error: 'price_could_not_be_determined' })
    assert.match(String(errors), /^TypeError: A price must be a string such as/)
  })
}

test('A price of null or zero is free for this request, and charges nothing even with a proof', async () => {
  const purchase = await preparePurchase(service)
  const proof = await issueProof(service, purchase, '4.00')
  for (const free of [null, '0', '0.00', '000.000000']) {
    for (const price of [free, () => free, () => Promise.resolve(free)]) {
      assert.deepEqual(await openGate({ price }).ask(proof), { outcome: 'free' })
    }
  }
  const happyHour = openGate({ price: ({ plan }) => (plan === 'small' ? null : '4.00') })
  assert.equal((await happyHour.ask()).outcome, 'free')
  assert.equal(amountIn(await happyHour.ask(undefined, 'large')), '4.00')
  const { body } = await service.call('GET', `/mandates/${purchase.mandateId}`)
  assert.equal(body.spent_total, '0.00')
})

test('A free entry of a table may precede a paid one', async () => {
  const client = new Purser({ apiKey: merchantKey, baseUrl: service.url })
  const routes = { 'GET /reports/sample': { price: null }, 'GET /reports/:id': { price: '4.00' } }
  const gate = createPaymentGate({ client, merchantDomain, routes })
  const outcomeOf = async (target: string) =>
    (await gate({ method: 'GET', target, proof: undefined, request: undefined })).outcome
  assert.deepEqual(
    [await outcomeOf('/reports/sample'), await outcomeOf('/reports/7'), await outcomeOf('/reports/Sample')],
    ['free', 'challenge', 'refused'],
  )
})

test('A price function that fails or times out delivers nothing', async () => {
  const failing = openGate({ price: () => Promise.reject(new Error('no price list')) })
  const throwing = openGate({
    price: () => {
      throw new Error('no price list')
    },
  })
  const slow = openGate({ price: () => new Promise<string>(() => undefined), priceTimeout: 20 })
  for (const { ask, errors } of [failing, throwing, slow]) {
    assert.deepEqual(unavailableIn(await ask()), { error: 'price_could_not_be_determined' })
    assert.match(String(errors), /no price list|not available after 20 ms/)
  }
})

test('The header of a challenge equals its body, in every script', async () => {
  const category = 'données 数据 📈'
  const decision = await openGate({ category }).ask()
  const header = 'answer' in decision ? (decision.answer.headers['x-payment-challenge'] ?? '') : ''
  assert.match(header, /^[\w-]+$/)
  assert.deepEqual(JSON.parse(Buffer.from(header, 'base64url').toString()), answerIn(decision))
  assert.equal(answerIn(decision)['category'], category)
})

test('A URL that is too long for a proof is never charged', async () => {
  const client = new Purser({ apiKey: merchantKey, baseUrl: service.url })
  const gate = createPaymentGate({ client, merchantDomain, price: '4.00' })
  const target = `/data?${'x'.repeat(2_100)}`
  const decision = await gate({ method: 'GET', target, proof: undefined, request: undefined })
  assert(decision.outcome === 'refused')
  assert.deepEqual([decision.answer.status, decision.reason], [414, 'resource_too_long'])
})

test('With a key that cannot collect, nothing is delivered, and the merchant is told why', async () => {
  const purchase = await preparePurchase(service)
  const agentKey = await issueKey(service, { role: 'agent', agent_id: purchase.agentId })
  const proof = await issueProof(service, purchase, '4.00')
  for (const [key, told] of [
    ['svc_sand_unknown', /invalid_api_key/],
    [agentKey, /insufficient_scope/],
  ] as const) {
    const { ask, errors } = openGate({}, key)
    assert.deepEqual(unavailableIn(await ask(proof)), { error: 'payment_could_not_be_verified' })
    assert.match(String(errors), told)
  }
  assert.equal((await openGate().ask(proof)).outcome, 'paid')
})

test('A merchant that may not collect reports it and charges nothing', async (context) => {
  const service = await startTestService(context)
  const stranger = await createMerchant(service, 'example.com')
  const client = new Purser({ apiKey: stranger.merchantKey, baseUrl: service.url })
  const proof = await issueProof(service, await preparePurchase(service), '4.00')
  for (const [domain, reason, isTold] of [
    ['api.example.com', 'seller_not_yours', true],
    ['example.com', 'merchant_not_allowed', false],
  ] as const) {
    const { ask, errors } = openGate({ client, merchantDomain: domain, publicUrl: 'https://api.example.com' })
    assert.equal(reasonIn(await ask(proof)), reason)
    assert.equal(errors.length, isTold ? 1 : 0)
  }
  await registerSeller(service)
  const own = new Purser({ apiKey: await issueKey(service, { role: 'merchant' }), baseUrl: service.url })
  assert.equal((await openGate({ client: own }).ask(proof)).outcome, 'paid')
})

test('A charge for an interrupted delivery is not lost when the price rises', async () => {
  const proof = await issueProof(service, await preparePurchase(service), '1.00')
  const { ask } = openGate({ price: prices })
  const first = await ask(proof)
  assert(first.outcome === 'paid')
  await first.notDelivered()
  await first.notDelivered()
  const refused = answerIn(await ask(proof, 'large'))
  assert.equal(refused.reason, 'amount_mismatch', 'the large one was not paid')
  assert.match(refused.how_to_pay ?? '', /may have been charged .* a new proof is charged again/)
  const second = await ask(proof)
  assert(second.outcome === 'paid')
  assert.equal(second.receipt.transaction_id, first.receipt.transaction_id)
  assert.equal(reasonIn(await ask(proof)), 'nonce_reused', 'saying it twice gave one more delivery, not two')
})

test('An interrupted delivery continues after the proof window has closed', async () => {
  const service = await shareTestService()
  const purchase = await preparePurchase(service, { max_spend_total: '4.00' })
  const client = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  // The budget is spent, so a pre-flight check would deny the payment.
  const { ask } = openGate({ client, preflight: true })
  const proof = await issueProof(service, purchase, '4.00')
  const first = await ask(proof)
  assert(first.outcome === 'paid')
  await first.notDelivered()
  service.clock.nowMs += 6 * 60_000
  assert.equal((await ask(proof)).outcome, 'paid')
  assert.equal(reasonIn(await openGate({ client }).ask(proof)), 'proof_expired')
})

for (const [title, terms] of Object.entries({
  'a payment that a person has approved': { approval: { above: '1.00' } },
  'the last payment within a limit of amounts': { limits: [{ window: day, max_amount: '4.00' }] },
  'the last payment within a limit of payments': { limits: [{ window: day, max_count: 1 }] },
})) {
  test(`A pre-flight check lets through ${title}`, async () => {
    const { agentId, mandateId } = await preparePurchase(service, terms)
    const payment = { agent_id: agentId, mandate_id: mandateId, amount: '4.00', resource_url: resource }
    const apiKey = await issueKey(service, { role: 'agent', agent_id: agentId })
    const { payments } = new Purser({ apiKey, baseUrl: service.url })
    const { approvals } = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
    let decision = await payments.requestProof(payment)
    if (decision.decision === 'denied' && decision.approval) {
      const { id: approval_id } = await approvals.approve(decision.approval.id)
      decision = await payments.requestProof({ ...payment, approval_id })
    }
    assert(decision.decision === 'approved')
    assert.equal((await openGate({ preflight: true }).ask(decision.proof)).outcome, 'paid')
  })
}

test("Processes that share a store serve each other's customers once", async () => {
  const deliveries = keepInProcess()
  const proof = await issueProof(service, await preparePurchase(service), '4.00')
  const first = await openGate({ deliveries }).ask(proof)
  assert(first.outcome === 'paid')
  await first.notDelivered()
  const others = [openGate({ deliveries }), openGate({ deliveries })]
  const outcomes = (await Promise.all(others.map(({ ask }) => ask(proof)))).map(({ outcome }) => outcome)
  assert.deepEqual(outcomes.sort(), ['paid', 'refused'])
})

test('A failing store delivers nothing and charges nothing', async () => {
  const deliveries: DeliveryStore = {
    read: () => Promise.reject(new Error('the memory is away')),
    replace: () => Promise.reject(new Error('the memory is away')),
  }
  const proof = await issueProof(service, await preparePurchase(service), '4.00')
  const { ask, errors } = openGate({ deliveries })
  assert.deepEqual(unavailableIn(await ask(proof)), { error: 'payment_could_not_be_verified' })
  assert.match(String(errors), /the memory is away/)
  assert.equal((await openGate().ask(proof)).outcome, 'paid')
})

function answerIn(decision: Decision) {
  assert('answer' in decision, decision.outcome)
  return JSON.parse(decision.answer.body) as Record<string, string>
}

function amountIn(decision: Decision): string | undefined {
  return answerIn(decision)['amount']
}

function reasonIn(decision: Decision): string | undefined {
  return answerIn(decision)['reason']
}

function unavailableIn(decision: Decision): object {
  assert.equal(decision.outcome, 'unavailable')
  return answerIn(decision)
}

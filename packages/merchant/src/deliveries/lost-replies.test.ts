import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { Purser, wrapFetchWithPayment } from '@purser/client'
import { createPaymentGate } from '@purser/merchant'

import { issueKey, issueProof, merchantDomain, preparePurchase } from '../../../../service/testing/service.ts'
import { shareTestService } from '../../../../service/testing/shared-service.ts'
import { adapters } from '../../testing/adapters.ts'
import { encode, openShop, price, type Purchase } from '../../testing/purchase.ts'
import { keepInProcess, type DeliveryStore } from './delivery-store.ts'

const service = await shareTestService()
const purchases = 20
const total = `${purchases * 4}.00`
const atOnce = 10

const [adapter] = adapters
assert(adapter)

test(`After each of ${purchases} lost verify replies, a retry gets the goods and the payment is charged once`, async (context) => {
  const purchase = await openShop(context, service, adapter, {}, { max_spend_total: total })
  const { proofFor, pay, proxy, shop, spent } = purchase
  proxy.set('cut first answers')
  const receipts = await inParallel(async (number) => {
    const path = `/data?${number}`
    const proof = await proofFor(path)
    const answer = await pay(path, proof)
    assert.equal(answer.status, 200, answer.text)
    assert.equal((await pay(path, proof)).status, 402, 'and never twice')
    return answer.receipt?.transaction_id
  })
  // The merchant answers the second request itself.
  assert.equal(proxy.cuts(), purchases)
  assert.equal(new Set(receipts).size, purchases)
  assert.equal(shop.runs, purchases)
  await chargedOnceEach(purchase)
  assert.equal(await spent(), total)
})

test(`Each of ${purchases} unconfirmed payments gets its goods later and is charged once`, async (context) => {
  const purchase = await openShop(context, service, adapter, {}, { max_spend_total: total })
  const { proofFor, pay, proxy, shop, spent } = purchase
  const proofs = await inParallel(async (number) => {
    const path = `/data?${number}`
    return { path, proof: await proofFor(path) }
  })
  proxy.set('cut answers')
  const answers = await inParallel(async (number) => {
    const { path, proof } = proofs[number] ?? assert.fail()
    return (await pay(path, proof)).status
  })
  assert.deepEqual(new Set(answers), new Set([503]))
  assert.equal(shop.runs, 0)
  assert.equal(await spent(), total, 'all charges stand')
  proxy.set('pass')
  await inParallel(async (number) => {
    const { path, proof } = proofs[number] ?? assert.fail()
    assert.deepEqual([(await pay(path, proof)).status, (await pay(path, proof)).status], [200, 402])
  })
  assert.equal(shop.runs, purchases)
  await chargedOnceEach(purchase)
  assert.equal(await spent(), total)
})

test('A payment whose reply is lost, and whose retry a proxy turns away, gets its goods later', async (context) => {
  const { proofFor, pay, proxy, shop, spent } = await openShop(context, service, adapter)
  const proof = await proofFor('/data')
  proxy.set('cut one answer, then forbid')
  assert.equal((await pay('/data', proof)).status, 503)
  assert.deepEqual([shop.runs, await spent()], [0, '4.00'])
  proxy.set('pass')
  assert.deepEqual([(await pay('/data', proof)).status, (await pay('/data', proof)).status], [200, 402])
  assert.equal(await spent(), '4.00')
})

test('A paying fetch gets the goods of a payment that could not be confirmed at first', async (context) => {
  const { agentId, mandateId, urlOf, proxy, shop, spent } = await openShop(context, service, adapter)
  proxy.set('cut answers')
  const fetchPaid = wrapFetchWithPayment(
    (input, init) => fetch(urlOf(new URL(new Request(input).url).pathname), init),
    {
      client: new Purser({ apiKey: service.sandboxKey, baseUrl: service.url }),
      agentId,
      mandateId,
      // It got a 503 and waits; meanwhile the network recovers.
      sleep: async () => proxy.set('pass'),
    },
  )
  const answer = await fetchPaid('https://api.example.com/data')
  assert.deepEqual([answer.status, (await answer.json()).goods], [200, 'rows'])
  assert.deepEqual([shop.runs, await spent()], [1, '4.00'])
})

const leaseTimeout = 600

for (const loss of ['rejects', 'says that nothing was changed'] as const) {
  for (const [change, what] of [
    [2, 'a renewal'],
    [4, 'the end'],
  ] as const) {
    test(`A proof is delivered once if the delivery store makes ${what} but ${loss}`, async () => {
      const apiKey = await issueKey(service, { role: 'merchant' })
      const gate = createPaymentGate({
        client: new Purser({ apiKey, baseUrl: service.url }),
        merchantDomain,
        price,
        leaseTimeout,
        deliveries: losing({ change, loss }),
        onError: () => undefined,
      })
      const proof = await issueProof(service, await preparePurchase(service), price)
      const ask = () =>
        gate({ method: 'GET', target: '/data', proof: encode(proof), request: {}, reportsDelivery: true })
      const first = await ask()
      assert(first.outcome === 'paid')
      // It is renewed twice.
      await sleep(leaseTimeout * 0.85)
      await first.delivered()
      await sleep(leaseTimeout * 1.2)
      assert.equal((await ask()).outcome, 'refused')
    })
  }
}

/** A store over a network that loses the answer to one change. */
function losing({ change, loss }: { readonly change: number; readonly loss: string }): DeliveryStore {
  const store = keepInProcess()
  let changes = 0
  return {
    read: (id) => store.read(id),
    replace: async (id, from, to) => {
      const isMade = await store.replace(id, from, to)
      if (!isMade || ++changes !== change) return isMade
      if (loss === 'rejects') throw new Error('the connection to the store broke')
      return false
    },
  }
}

/** The service's own record: one payment per resource. */
async function chargedOnceEach({ mandateId }: Purchase): Promise<void> {
  const query = `status=paid&mandate_id=${mandateId}&limit=200`
  const { body, headers } = await service.call('GET', `/v1/transactions?${query}`)
  const resources = (body as { resource_url: string }[]).map((transaction) => transaction.resource_url)
  assert.equal(new Set(resources).size, purchases)
  assert.equal(resources.length, purchases)
  assert.equal(headers.get('link'), null, 'there are no more')
}

async function inParallel<Value>(act: (number: number) => Promise<Value>): Promise<Value[]> {
  const outcomes: Value[] = []
  let next = 0
  const worker = async () => {
    while (next < purchases) {
      const number = next++
      outcomes[number] = await act(number)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  return outcomes
}

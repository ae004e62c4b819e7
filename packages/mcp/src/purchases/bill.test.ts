import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Purser, type Mandate } from '@purser/client'

import { createPaymentGate } from '../../../merchant/src/gate.ts'
import { order } from '../../testing/order.ts'
import { openShop } from '../../testing/shop.ts'
import { openWallet } from '../wallet.ts'
import type { WebAnswer } from '../web/exchange.ts'
import { billOf } from './bill.ts'
import type { Order } from './order.ts'

/** The challenge of a real merchant of this domain at this URL. */
async function billFor(merchantDomain: string, address: string) {
  const client = new Purser({ apiKey: 'svc_sand_x' })
  const gate = createPaymentGate({ client, merchantDomain, price: '1.00' })
  const url = new URL(address)
  const decision = await gate({ method: 'GET', target: url.pathname, proof: undefined, request: undefined })
  assert(decision.outcome === 'challenge')
  const { headers, body, status } = decision.answer
  const answer = {
    url,
    status,
    header: (name: string) => headers[name],
    bytes: Buffer.from(body),
    isTruncated: false,
  } as unknown as WebAnswer
  const bought = { url, method: 'GET', price: { atMost: '5.00' } } as Order
  return billOf(bought, answer, { id: 'm', currency: 'USDC', allowed_sellers: ['*'] } as Mandate)
}

for (const [domain, address, merchant] of [
  ['bücher.example', 'https://bücher.example/data', 'xn--bcher-kva.example'],
  ['BÜCHER.example.', 'https://xn--bcher-kva.example/data', 'xn--bcher-kva.example'],
  ['shop.example.', 'https://shop.example/data', 'shop.example'],
  ['Shop.Example', 'https://shop.example/data', 'shop.example'],
] as const) {
  test(`The challenge of a merchant named ${domain} is for the host of ${address}`, async () => {
    const bill = await billFor(domain, address)
    assert(!('reason_code' in bill), JSON.stringify(bill))
    assert.deepEqual([bill.merchant_domain, bill.amount], [merchant, '1.00'])
  })
}

test('A merchant whose domain ends in a dot is paid, even under a mandate with that spelling', async (context) => {
  const shop = await openShop(context, { allowed_sellers: ['LOCALHOST.'] })
  const { purchases } = openWallet(shop.wallet)
  const result = await purchases.buy(order(shop, '/dotted'))
  assert.equal(result.outcome, 'paid', result.reason_detail ?? '')
  assert.deepEqual(await shop.spent(), { spent: '1.00', held: '0.00' })
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'

import { shareTestService } from '../../../../service/testing/shared-service.ts'
import { goods } from '../../testing/merchant.ts'
import { order } from '../../testing/order.ts'
import { openShop } from '../../testing/shop.ts'
import { purchaseText } from '../tools/purchase-text.ts'
import { openWallet } from '../wallet.ts'
import { createRecordsInMemory } from './purchase-records.ts'

const service = await shareTestService()

for (const path of ['/failing', '/drop', '/busy'] as const) {
  test(`One call gets the goods of ${path} by retrying with the same proof`, async (context) => {
    const shop = await openShop(context, {}, service)
    const { purchases } = openWallet(shop.wallet)
    const result = await purchases.buy(order(shop, path))
    assert.equal(result.outcome, 'paid')
    assert.deepEqual(JSON.parse(result.response?.body ?? ''), goods)
    assert.equal(new Set(shop.merchant.shown.map(({ proof }) => proof.nonce)).size, 1)
    assert.deepEqual(await shop.spent(), { spent: '1.00', held: '0.00' })
  })
}

test('Paid but not delivered is a separate outcome, and the next call sends the same proof again', async (context) => {
  const shop = await openShop(context, {}, service)
  const { purchases } = openWallet(shop.wallet)
  const first = await purchases.buy(order(shop, '/broken'))
  assert.deepEqual([first.outcome, first.reason_code], ['paid_not_delivered', 'paid_not_delivered'])
  assert.match(purchaseText(first), /^Paid, but not delivered.*txn_/)
  assert.match(first.remedy ?? '', /^Do not buy it again/)
  const shown = shop.merchant.shown.length
  assert.ok(shown > 1)
  const second = await purchases.buy(order(shop, '/broken'))
  assert.equal(second.outcome, 'paid_not_delivered')
  assert.ok(shop.merchant.shown.length > shown)
  assert.equal(new Set(shop.merchant.shown.map(({ proof }) => proof.nonce)).size, 1)
  assert.deepEqual(await shop.spent(), { spent: '1.00', held: '0.00' })
})

for (const status of [301, 302, 303, 307, 308]) {
  test(`A ${status} to another origin does not get the proof; one within the origin is followed`, async (context) => {
    const shop = await openShop(context, {}, service)
    const seen: unknown[] = []
    const thief = createServer((request, response) => {
      seen.push(request.headers['x-payment-proof'])
      response.end('thanks')
    })
    thief.listen(0, '127.0.0.1')
    await once(thief, 'listening')
    context.after(() => void thief.close())
    const { port } = thief.address() as AddressInfo
    const { purchases } = openWallet({
      ...shop.wallet,
      privateHosts: [...(shop.wallet.privateHosts ?? []), `localhost:${port}`],
    })
    shop.merchant.redirectPaid = { status, location: `http://localhost:${port}/goods` }
    const away = await purchases.buy(order(shop, '/redirects', { purchaseId: 'away' }))
    assert.deepEqual(seen, [])
    assert.equal(away.response?.location, `http://localhost:${port}/goods`)
    assert.deepEqual([away.outcome, away.reason_code], ['not_paid', 'merchant_refused_payment'])
    assert.deepEqual(await shop.spent(), { spent: '0.00', held: '0.00' })

    shop.merchant.redirectPaid = { status, location: '/generous' }
    const within = await purchases.buy(order(shop, '/redirects', { purchaseId: 'within' }))
    assert.deepEqual(JSON.parse(within.response?.body ?? ''), goods)
  })
}

test('An unsent proof is voided when its purchase is abandoned', async (context) => {
  const shop = await openShop(context, {}, service)
  const records = createRecordsInMemory()
  const broken = { ...records, claim: () => Promise.reject(new Error('the disk is full')) }
  const { purchases } = openWallet({ ...shop.wallet, openRecords: async () => broken })
  await assert.rejects(purchases.buy(order(shop, '/report')), /the disk is full/)
  assert.deepEqual(await shop.spent(), { spent: '0.00', held: '0.00' })
  assert.equal(shop.merchant.shown.length, 0)
})

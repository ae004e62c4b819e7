import assert from 'node:assert/strict'
import { test } from 'node:test'

import { shareTestService } from '../../../../service/testing/shared-service.ts'
import { order } from '../../testing/order.ts'
import { openShop, type Shop } from '../../testing/shop.ts'
import { fetchPaidResource } from '../tools/fetch-paid-resource.ts'
import { pay } from '../tools/pay.ts'
import { purchaseText } from '../tools/purchase-text.ts'
import { openWallet } from '../wallet.ts'
import type { Purchases } from './purchases.ts'

const service = await shareTestService()

/** The whole response, read in parts of one purchase. */
async function readAll(shop: Shop, purchases: Purchases, path: string, maxBytes: number) {
  const parts = []
  for (let offset: number | null = 0; offset !== null;) {
    const { outcome, response } = await purchases.buy(order(shop, path, { maxBytes, offset }))
    assert.equal(outcome, 'paid')
    assert.ok(response && response.bytes <= maxBytes)
    parts.push(response.body)
    offset = response.next_offset
  }
  return parts
}

test('A truncated response can be read further with the same purchase id, and is paid once', async (context) => {
  const shop = await openShop(context, {}, service)
  const { purchases } = openWallet(shop.wallet)
  const first = await purchases.buy(order(shop, '/long', { maxBytes: 1_024 }))
  assert.deepEqual([first.response?.truncated, first.response?.next_offset], [true, 1_022])
  assert.match(
    purchaseText(first),
    /truncated after 1022 bytes.*same purchase_id.*offset 1022.*not paid again/,
  )
  const parts = await readAll(shop, purchases, '/long', 1_024)
  assert.equal(parts.join(''), 'ä€\n'.repeat(1_000))
  assert.equal(parts.length, 6)
  assert.deepEqual(await shop.spent(), { spent: '1.00', held: '0.00' })
  assert.equal(shop.merchant.shown.length, 1)
})

test('Parts of a response never add up to a secret', async (context) => {
  const shop = await openShop(context, {}, service)
  const { purchases } = openWallet(shop.wallet)
  const parts = await readAll(shop, purchases, '/echo', 10)
  assert.ok(parts.length > 10)
  const [shown] = shop.merchant.shown
  assert.ok(shown)
  for (const secret of [shown.header, shown.proof.signature]) assert.ok(!parts.join('').includes(secret))
  assert.match(parts.join(''), /\[withheld\]/)
})

test('By default, a model gets 16 KiB of a response', () => {
  const purchase = { purchase_id: 'a', max_amount: '1.00', amount: '1.00' }
  const address = 'https://shop.example/'
  assert.equal(fetchPaidResource.input.parse({ ...purchase, url: address }).max_bytes, 16_384)
  assert.equal(pay.input.parse({ ...purchase, resource_url: address }).max_bytes, 16_384)
})

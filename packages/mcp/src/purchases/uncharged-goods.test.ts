import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

import { Purser } from '@purser/client'
import { paymentOf, requirePayment } from '../../../merchant/src/node.ts'

import { issueKey } from '../../../../service/testing/service.ts'
import { shareTestService } from '../../../../service/testing/shared-service.ts'
import { listen } from '../../../merchant/testing/shop.ts'
import { order } from '../../testing/order.ts'
import { openShop } from '../../testing/shop.ts'
import { purchaseText } from '../tools/purchase-text.ts'
import { openWallet } from '../wallet.ts'
import { createRecordsInMemory } from './purchase-records.ts'
import { openRecordFiles } from './record-files.ts'

const service = await shareTestService()

/** A shop with the middleware, whose handler meters an amount. */
async function openMetered(context: Parameters<typeof openShop>[0], amount: string) {
  const shop = await openShop(context, {}, service)
  const client = new Purser({ apiKey: await issueKey(service, { role: 'merchant' }), baseUrl: service.url })
  let runs = 0
  const server = await listen(createServer((...exchange) => sell(...exchange)))
  context.after(server.close)
  const publicUrl = server.url.replace('127.0.0.1', 'localhost')
  const sell = requirePayment(
    { client, merchantDomain: 'localhost', publicUrl, price: '4.00', capture: 'after' },
    (request, response) => {
      runs++
      paymentOf(request)?.meter(amount)
      response.setHeader('content-type', 'text/plain').end('the goods')
    },
  )
  const records = createRecordsInMemory()
  const wallet = { ...shop.wallet, privateHosts: [new URL(publicUrl).host], openRecords: async () => records }
  const asked = { ...order(shop, '/report'), url: new URL(`${publicUrl}/report`) }
  return { shop, wallet, asked, runs: () => runs }
}

test('Goods for which nothing is charged are reported so, and the same purchase id pays nothing', async (context) => {
  const { shop, wallet, asked, runs } = await openMetered(context, '0')
  const { purchases } = openWallet(wallet)
  const first = await purchases.buy(asked)
  assert.deepEqual(
    [first.outcome, first.payment?.transaction_id, first.payment?.charged_amount, first.response?.body],
    ['delivered_not_charged', null, '0.00', 'the goods'],
  )
  const text = purchaseText(first)
  assert.match(text, /^Delivered, nothing charged/)
  assert.doesNotMatch(text, /Paid/)
  const second = await purchases.buy(asked)
  assert.deepEqual(
    [second.outcome, second.replayed, second.response?.body],
    ['delivered_not_charged', true, 'the goods'],
  )
  const later = await openWallet(wallet).purchases.buy(asked)
  assert.deepEqual(
    [later.outcome, later.reason_code, later.response],
    ['delivered_not_charged', 'response_not_kept', null],
  )
  assert.match(later.remedy ?? '', /charged nothing/)
  assert.equal(runs(), 1)
  assert.deepEqual(await shop.spent(), { spent: '0.00', held: '0.00' })
})

test('A metered purchase is reported with what was charged', async (context) => {
  const { shop, wallet, asked } = await openMetered(context, '1.25')
  const bought = await openWallet(wallet).purchases.buy(asked)
  assert.deepEqual(
    [bought.outcome, bought.payment?.amount, bought.payment?.charged_amount],
    ['paid', '4.00', '1.25'],
  )
  assert.match(purchaseText(bought), /^Paid 1\.25 USDC/)
  assert.deepEqual(await shop.spent(), { spent: '1.25', held: '0.00' })
})

test('A restarted server does not buy goods again that were delivered before their proof expired', async (context) => {
  const shop = await openShop(context, {}, service)
  const folder = mkdtempSync(join(tmpdir(), 'purser-mcp-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  const start = () => openWallet({ ...shop.wallet, openRecords: () => openRecordFiles(folder) }).purchases
  const first = await start().buy(order(shop, '/generous'))
  assert.deepEqual([first.outcome, first.response?.status], ['uncertain', 200])
  const open = await start().buy(order(shop, '/generous'))
  assert.deepEqual([open.outcome, open.reason_code], ['uncertain', 'payment_under_way'])
  const shown = shop.merchant.shown.length

  service.clock.nowMs += 7 * 60_000
  for (const process of [start(), start()]) {
    const later = await process.buy(order(shop, '/generous'))
    assert.deepEqual(
      [later.outcome, later.reason_code, later.payment?.charged_amount, later.replayed],
      ['delivered_not_charged', 'response_not_kept', '0.00', true],
    )
  }
  assert.equal(shop.merchant.shown.length, shown, 'no other proof was sent')
  const [name = '', ...others] = readdirSync(folder)
  assert.deepEqual(others, [])
  assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600)
  assert.equal((await shop.spent()).spent, '0.00')
})

test('Goods that were delivered stay so if the merchant refuses the same proof later', async (context) => {
  const shop = await openShop(context, {}, service)
  const { purchases } = openWallet(shop.wallet)
  assert.equal((await purchases.buy(order(shop, '/fickle'))).outcome, 'uncertain')
  shop.merchant.onCharge = () => void (service.clock.nowMs += 7 * 60_000)
  const again = await purchases.buy(order(shop, '/fickle'))
  assert.deepEqual([again.outcome, again.payment?.charged_amount], ['delivered_not_charged', '0.00'])
  assert.doesNotMatch(purchaseText(again), /was charged|is paid/)
  assert.equal((await shop.spent()).spent, '0.00')
})

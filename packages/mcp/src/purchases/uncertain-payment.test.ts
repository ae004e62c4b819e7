import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

import { shareTestService } from '../../../../service/testing/shared-service.ts'
import { passOn } from '../../../cli/testing/pass-on.ts'
import { startServer } from '../../../client/testing/scripted-server.ts'
import { openBreakableProxy } from '../../testing/breakable-proxy.ts'
import { order } from '../../testing/order.ts'
import { openShop } from '../../testing/shop.ts'
import { purchaseText } from '../tools/purchase-text.ts'
import { openWallet } from '../wallet.ts'
import type { PurchaseResult } from './purchase-result.ts'
import { openRecordFiles } from './record-files.ts'

const service = await shareTestService()

/** The advice that a model reads. It may mention a new purchase id only as a warning. */
function assertNoAdviceToBuyAgain(result: PurchaseResult): void {
  const text = `${result.reason_detail}\n${result.remedy}\n${purchaseText({ ...result, response: null })}`
  assert.doesNotMatch(text, /nothing (has been|was) charged(?![^.]* by this call)/i, text)
  assert.doesNotMatch(text, /(choose|with those and|use) a new purchase_id|once more|buy elsewhere/i, text)
  assert.match(text, /Do not [^.]*(another|new) purchase_id/, text)
}

/** The payment may still be charged, and the result says how much and until when. */
function assertOutstanding(result: PurchaseResult, amount = '1.00'): void {
  assert.equal(result.outcome, 'uncertain')
  assert.deepEqual(
    [result.outstanding?.amount, result.outstanding?.currency, result.payment?.transaction_id],
    [amount, 'USDC', null],
  )
  const until = result.outstanding?.until ?? ''
  assert.ok(Date.parse(until) > service.clock.nowMs, until)
  assert.ok(purchaseText(result).includes(`${amount} USDC may still be charged until ${until}`))
  assertNoAdviceToBuyAgain(result)
}

test('A payment that the merchant refuses ends at once: it is never charged, and its purchase id buys at the new price', async (context) => {
  const shop = await openShop(context, {}, service)
  const { purchases } = openWallet(shop.wallet)
  const refused = await purchases.buy(order(shop, '/reprices'))
  assert.deepEqual(
    [refused.outcome, refused.reason_code, refused.outstanding],
    ['not_paid', 'merchant_refused_payment', null],
  )
  assert.equal(refused.merchant_challenge?.amount, '2.00')
  assert.equal(refused.merchant_challenge?.reason, 'price_changed')
  assert.deepEqual(await shop.spent(), { spent: '0.00', held: '0.00' })
  assert.deepEqual(await shop.merchant.chargeLate(), [false])

  const dearer = await purchases.buy(order(shop, '/reprices', { price: { exactly: '3.00' } }))
  assert.deepEqual([dearer.outcome, dearer.reason_code], ['denied', 'price_differs'])
  assert.deepEqual(await shop.spent(), { spent: '0.00', held: '0.00' })
})

test('A payment is uncertain and outstanding while a merchant that refuses it can still charge it', async (context) => {
  const shop = await openShop(context, {}, service)
  const { purchases } = openWallet(shop.wallet)
  const refused = await purchases.buy(order(shop, '/reserves'))
  assert.equal(refused.reason_code, 'merchant_refused_payment')
  assertOutstanding(refused)

  const dearer = await purchases.buy(order(shop, '/reserves', { price: { exactly: '2.00' } }))
  assert.equal(dearer.reason_code, 'purchase_id_in_use')
  assertOutstanding(dearer)

  assert.deepEqual(await shop.merchant.chargeLate(), [true])
  const found = await purchases.buy(order(shop, '/reserves'))
  assert.match(found.outcome, /^paid/)
  assert.deepEqual(found.outstanding, null)
  assert.match(found.payment?.transaction_id ?? '', /^txn_/)
  assert.deepEqual(await shop.spent(), { spent: '1.00', held: '0.00' })
})

for (const path of ['/gone', '/generous'] as const) {
  test(`After ${path} the payment is uncertain and outstanding`, async (context) => {
    const shop = await openShop(context, {}, service)
    const { purchases } = openWallet(shop.wallet)
    assertOutstanding(await purchases.buy(order(shop, path)))
  })
}

test('A payment that ended while the merchant had it is not paid, and its purchase id is free', async (context) => {
  const shop = await openShop(context, {}, service)
  const { purchases } = openWallet(shop.wallet)
  shop.merchant.onCharge = async () => {
    await service.call('PATCH', `/mandates/${shop.mandateId}/pause`)
  }
  const ended = await purchases.buy(order(shop, '/stopped'))
  assert.deepEqual(
    [ended.outcome, ended.reason_code, ended.outstanding],
    ['not_paid', 'merchant_refused_payment', null],
  )
  assert.deepEqual(await shop.spent(), { spent: '0.00', held: '0.00' })
})

test('While the service cannot be asked about a sent payment, it is uncertain and outstanding', async (context) => {
  const shop = await openShop(context, {}, service)
  const proxy = await openBreakableProxy(context, service.url)
  const { purchases } = openWallet({ ...shop.wallet, url: proxy.url })
  shop.merchant.onCharge = proxy.break
  const begunMs = Date.now()
  assertOutstanding(await purchases.buy(order(shop, '/held')))
  const asked = await purchases.buy(order(shop, '/held'))
  assert.equal(asked.reason_code, 'service_unavailable')
  assertOutstanding(asked)
  const until = Date.parse(asked.outstanding?.until ?? '')
  assert.ok(until > begunMs + 24 * 60 * 60_000, 'the merchant may have authorized it for a day')
  const changed = await purchases.buy(order(shop, '/held', { price: { atMost: '2.00' } }))
  assertOutstanding(changed)
})

test('An answer that is not the state of the payment does not end it', async (context) => {
  const shop = await openShop(context, {}, service)
  let isDown = false
  const url = await startServer(context, (request, response) => {
    const isLookUp = request.method === 'GET' && request.url?.startsWith('/v1/payments/proofs/')
    if (isDown && isLookUp) response.end('{"status":"maintenance"}')
    else void passOn(service, request, response)
  })
  const { purchases } = openWallet({ ...shop.wallet, url })
  assertOutstanding(await purchases.buy(order(shop, '/gone')))
  isDown = true
  const asked = await purchases.buy(order(shop, '/gone'))
  assert.equal(asked.reason_code, 'service_unavailable')
  assertOutstanding(asked)
  isDown = false
  assert.equal((await purchases.buy(order(shop, '/gone'))).outcome, 'paid')
  assert.equal(new Set(shop.merchant.shown.map(({ proof }) => proof.nonce)).size, 1)
  assert.deepEqual(await shop.spent(), { spent: '1.00', held: '0.00' })
})

test('After a restart, no advice suggests buying again what is paid or may still be charged', async (context) => {
  const shop = await openShop(context, {}, service)
  const folder = mkdtempSync(join(tmpdir(), 'purser-mcp-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  const start = () =>
    openWallet({ ...shop.wallet, openRecords: (id) => openRecordFiles(join(folder, id)) }).purchases
  await start().buy(order(shop, '/report'))
  const paid = await start().buy(order(shop, '/report'))
  assert.equal(paid.reason_code, 'response_not_kept')
  assert.match(paid.remedy ?? '', /txn_\w+/)
  assertNoAdviceToBuyAgain(paid)
  const changed = await start().buy(order(shop, '/report', { price: { exactly: '4.00' } }))
  assert.deepEqual([changed.outcome, changed.reason_code], ['denied', 'purchase_id_in_use'])
  assertNoAdviceToBuyAgain(changed)

  await start().buy(order(shop, '/gone'))
  const open = await start().buy(order(shop, '/gone'))
  assert.equal(open.reason_code, 'payment_under_way')
  assertOutstanding(open)
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs'
import { createServer, request as ask } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'

import { change } from '../../../../service/testing/purchases.ts'
import { shareTestService } from '../../../../service/testing/shared-service.ts'
import { openBreakableProxy } from '../../testing/breakable-proxy.ts'
import { goods } from '../../testing/merchant.ts'
import { order } from '../../testing/order.ts'
import { openShop, type Shop } from '../../testing/shop.ts'
import { openWallet, type Wallet } from '../wallet.ts'
import type { Order } from './order.ts'
import { createRecordsInMemory, type PurchaseRecord } from './purchase-records.ts'
import { openRecordFiles } from './record-files.ts'

const service = await shareTestService()

const proofsShown = (shop: Shop) => shop.merchant.shown.map(({ proof }) => proof.nonce)

test('A purchase is charged once, and a retry returns the same result without contacting the merchant', async (context) => {
  const shop = await openShop(context, {}, service)
  const { purchases } = openWallet(shop.wallet)
  const first = await purchases.buy(order(shop, '/report'))
  assert.equal(first.outcome, 'paid')
  assert.deepEqual(JSON.parse(first.response?.body ?? ''), goods)
  const { body } = await shop.service.call('GET', `/v1/transactions/${first.payment?.transaction_id}`)
  assert.deepEqual([body.status, body.amount, body.merchant_domain], ['paid', '4.00', 'localhost'])

  const asked = shop.merchant.requests.length
  assert.deepEqual(await purchases.buy(order(shop, '/report')), { ...first, replayed: true })
  assert.equal(shop.merchant.requests.length, asked)
  assert.deepEqual(await shop.spent(), { spent: '4.00', held: '0.00' })
})

test('A purchase id of another purchase is refused, and nothing is bought', async (context) => {
  const shop = await openShop(context, {}, service)
  const { purchases } = openWallet(shop.wallet)
  await purchases.buy(order(shop, '/report'))
  const asked = shop.merchant.requests.length
  const changes: Partial<Order>[] = [
    { price: { atMost: '4.50' } },
    { price: { exactly: '4.00' } },
    { url: new URL('/tagged', shop.merchant.url) },
    { method: 'POST', body: '{}' },
    { mandateId: shop.mandateId },
  ]
  for (const fields of changes) {
    const other = await purchases.buy(order(shop, '/report', fields))
    assert.deepEqual([other.outcome, other.reason_code], ['denied', 'purchase_id_in_use'])
    assert.match(other.reason_detail ?? '', /4\.00 USDC to localhost, transaction txn_\w+/)
  }
  assert.equal(shop.merchant.requests.length, asked)
  assert.deepEqual(await shop.spent(), { spent: '4.00', held: '0.00' })
})

test('Twenty concurrent calls with one purchase id make one purchase', async (context) => {
  const shop = await openShop(context, {}, service)
  const { purchases } = openWallet(shop.wallet)
  const results = await Promise.all(Array.from({ length: 20 }, () => purchases.buy(order(shop, '/report'))))
  assert.equal(new Set(results.map(({ payment }) => payment?.transaction_id)).size, 1)
  assert.equal(results.filter(({ replayed }) => !replayed).length, 1)
  assert.equal(shop.merchant.shown.length, 1)
  assert.deepEqual(await shop.spent(), { spent: '4.00', held: '0.00' })
})

test('Cancelling a call does not end another one with the same purchase id', async (context) => {
  const shop = await openShop(context, {}, service)
  const { purchases } = openWallet(shop.wallet)
  const arrived = Promise.withResolvers<void>()
  const broken = Promise.withResolvers<void>()
  shop.merchant.onCharge = () => {
    arrived.resolve()
    return shop.merchant.shown.length === 1 ? broken.promise : undefined
  }
  const cancelled = new AbortController()
  const first = purchases.buy(order(shop, '/stopped'), cancelled.signal)
  const second = purchases.buy(order(shop, '/stopped'))
  await arrived.promise
  cancelled.abort()
  broken.reject(new Error('the customer has left'))
  assert.notEqual((await first).outcome, 'paid')
  const { outcome, response } = await second
  assert.equal(outcome, 'paid')
  assert.deepEqual(JSON.parse(response?.body ?? ''), goods)
  assert.deepEqual(await shop.spent(), { spent: '1.00', held: '0.00' })
})

test('A response that is lost after the charge is reported as paid and never paid again', async (context) => {
  const shop = await openShop(context, {}, service)
  const { purchases } = openWallet(shop.wallet)
  const lost = await purchases.buy(order(shop, '/cut'))
  assert.deepEqual(
    [lost.outcome, lost.reason_code, lost.response],
    ['paid_not_delivered', 'answer_lost', null],
  )
  assert.match(lost.payment?.transaction_id ?? '', /^txn_/)
  assert.deepEqual(await purchases.buy(order(shop, '/cut')), lost)
  assert.deepEqual(await shop.spent(), { spent: '1.00', held: '0.00' })
})

test('Only the service decides whether a payment was charged: goods without a charge are uncertain', async (context) => {
  const shop = await openShop(context, {}, service)
  const { purchases } = openWallet(shop.wallet)
  const generous = await purchases.buy(order(shop, '/generous'))
  assert.deepEqual([generous.outcome, generous.reason_code], ['uncertain', 'not_charged_yet'])
  assert.deepEqual(JSON.parse(generous.response?.body ?? ''), goods)
  assert.equal(generous.payment?.transaction_id, null)
})

test('After the proof has expired unused, the same purchase id buys again', async (context) => {
  const shop = await openShop(context, {}, service)
  const { purchases } = openWallet(shop.wallet)
  assert.equal((await purchases.buy(order(shop, '/gone'))).outcome, 'uncertain')
  shop.service.clock.nowMs += 7 * 60_000
  const second = await purchases.buy(order(shop, '/gone'))
  assert.deepEqual([second.outcome, second.replayed], ['paid', false])
  assert.equal(new Set(proofsShown(shop)).size, 2)
  assert.equal((await shop.spent()).spent, '1.00')
})

test('A denied purchase may be retried with the same purchase id', async (context) => {
  const shop = await openShop(context, {}, service)
  const { purchases } = openWallet(shop.wallet)
  await change(shop.service, `/mandates/${shop.mandateId}/pause`)
  const denied = await purchases.buy(order(shop, '/report'))
  assert.deepEqual([denied.outcome, denied.reason_code], ['denied', 'mandate_expired'])
  await change(shop.service, `/mandates/${shop.mandateId}/resume`)
  const again = await purchases.buy(order(shop, '/report', { price: { exactly: '4.00' } }))
  assert.deepEqual([again.outcome, again.replayed], ['paid', false])
})

test('Pausing the mandate while the merchant has the proof ends the payment: not paid, and free to buy again', async (context) => {
  const shop = await openShop(context, {}, service)
  const { purchases } = openWallet(shop.wallet)
  await purchases.buy(order(shop, '/gone'))
  await change(shop.service, `/mandates/${shop.mandateId}/pause`)
  const denied = await purchases.buy(order(shop, '/gone'))
  assert.deepEqual([denied.outcome, denied.reason_code], ['denied', 'mandate_expired'])
  assert.deepEqual(await shop.spent(), { spent: '0.00', held: '0.00' })
})

/** Wallets of several processes: they share only the files. */
function processes(
  context: TestContext,
  shop: Shop,
): { readonly folder: string; readonly start: () => Wallet } {
  const folder = mkdtempSync(join(tmpdir(), 'purser-mcp-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  return {
    folder,
    start: () => openWallet({ ...shop.wallet, openRecords: (id) => openRecordFiles(join(folder, id)) }),
  }
}

test('A restarted server knows what was bought and charges nothing', async (context) => {
  const shop = await openShop(context, {}, service)
  const { start } = processes(context, shop)
  const first = await start().purchases.buy(order(shop, '/report'))
  const later = await start().purchases.buy(order(shop, '/report'))
  assert.deepEqual([later.outcome, later.replayed, later.reason_code], ['paid', true, 'response_not_kept'])
  assert.deepEqual(later.payment, first.payment)
  await start().purchases.buy(order(shop, '/broken'))
  const broken = await start().purchases.buy(order(shop, '/broken'))
  assert.deepEqual(
    [broken.outcome, broken.replayed, broken.reason_code],
    ['paid_not_delivered', true, 'delivery_unknown'],
  )
  assert.match(broken.remedy ?? '', /^Do not buy it again.*txn_/)
  const other = await start().purchases.buy(order(shop, '/tagged', { purchaseId: 'buy /report' }))
  assert.equal(other.reason_code, 'purchase_id_in_use')
  assert.deepEqual(await shop.spent(), { spent: '5.00', held: '0.00' })
})

test('While the service is unreachable after the proof was sent, the purchase is uncertain', async (context) => {
  const shop = await openShop(context, {}, service)
  const { folder } = processes(context, shop)
  const proxy = await openBreakableProxy(context, service.url)
  const open = (url: string) =>
    openWallet({ ...shop.wallet, url, openRecords: (id) => openRecordFiles(join(folder, id)) })
  const wallet = open(proxy.url)
  shop.merchant.onCharge = proxy.break
  const uncertain = await wallet.purchases.buy(order(shop, '/held'))
  assert.deepEqual([uncertain.outcome, uncertain.reason_code], ['uncertain', 'service_unavailable'])
  assert.equal(uncertain.payment?.transaction_id, null)
  assert.equal((await wallet.purchases.buy(order(shop, '/held'))).reason_code, 'service_unavailable')

  // A restarted server finds out what the first one could not.
  const found = await open(service.url).purchases.buy(order(shop, '/held'))
  assert.deepEqual([found.outcome, found.replayed], ['paid', true])
  proxy.mend()
  const again = await wallet.purchases.buy(order(shop, '/held'))
  assert.deepEqual([again.outcome, again.replayed, again.payment], ['paid', true, found.payment])
  assert.equal(shop.merchant.shown.length, 1)
  assert.deepEqual(await shop.spent(), { spent: '1.00', held: '0.00' })
})

test('A proxy that finds no service does not make a payment unknown, and nothing is bought twice', async (context) => {
  const shop = await openShop(context, {}, service)
  const { folder } = processes(context, shop)
  const proxy = await openBreakableProxy(context, service.url)
  // An ingress that does not find its service when a proof is looked up.
  const ingress = createServer((request, response) => {
    if (request.url?.startsWith('/v1/payments/proofs/')) {
      return void response.writeHead(404).end('404 page not found')
    }
    const { url = '', method, headers } = request
    const passed = ask(service.url + url, { method, headers }, (answer) => {
      answer.pipe(response.writeHead(answer.statusCode ?? 0, answer.headers))
    })
    return void request.pipe(passed)
  })
  await once(ingress.listen(0, '127.0.0.1'), 'listening')
  context.after(() => ingress.close())
  const ingressUrl = `http://127.0.0.1:${(ingress.address() as AddressInfo).port}`
  const openRecords = (id: string) => openRecordFiles(join(folder, id))
  const buyThrough = (url: string) =>
    openWallet({ ...shop.wallet, url, openRecords }).purchases.buy(order(shop, '/held'))
  shop.merchant.onCharge = proxy.break
  assert.equal((await buyThrough(proxy.url)).outcome, 'uncertain')
  const unfound = await buyThrough(ingressUrl)
  assert.deepEqual([unfound.outcome, unfound.reason_code], ['uncertain', 'service_unavailable'])
  const found = await buyThrough(service.url)
  assert.deepEqual([found.outcome, found.replayed], ['paid', true])
  assert.deepEqual(await shop.spent(), { spent: '1.00', held: '0.00' })
})

test('A restarted server waits for an open proof to end before it buys again', async (context) => {
  const shop = await openShop(context, {}, service)
  const { start } = processes(context, shop)
  assert.equal((await start().purchases.buy(order(shop, '/gone'))).outcome, 'uncertain')
  const early = await start().purchases.buy(order(shop, '/gone'))
  assert.deepEqual([early.outcome, early.reason_code], ['uncertain', 'payment_under_way'])
  assert.equal(new Set(proofsShown(shop)).size, 1)
  shop.service.clock.nowMs += 7 * 60_000
  assert.equal((await start().purchases.buy(order(shop, '/gone'))).outcome, 'paid')
  assert.equal((await shop.spent()).spent, '1.00')
})

test('If several servers buy with one purchase id at once, only one sends a proof', async (context) => {
  const shop = await openShop(context, {}, service)
  const { start } = processes(context, shop)
  const results = await Promise.all(
    Array.from({ length: 8 }, () => start().purchases.buy(order(shop, '/tagged'))),
  )
  assert.equal(shop.merchant.shown.length, 1)
  assert.equal(results.filter(({ outcome, replayed }) => outcome === 'paid' && !replayed).length, 1)
  assert.equal((await shop.spent()).spent, '1.00')
})

test('If several servers retry after an unused proof, only one sends a new one', async (context) => {
  const shop = await openShop(context, {}, service)
  const { start } = processes(context, shop)
  await start().purchases.buy(order(shop, '/gone'))
  service.clock.nowMs += 7 * 60_000
  const wallets = Array.from({ length: 8 }, start)
  await Promise.all(wallets.map(({ purchases }) => purchases.buy(order(shop, '/gone'))))
  assert.equal(new Set(proofsShown(shop)).size, 2)
  const last = await start().purchases.buy(order(shop, '/gone'))
  assert.deepEqual([last.outcome, last.replayed], ['paid', true])
  assert.equal((await shop.spent()).spent, '1.00')
})

test('Files are readable by their owner only and contain no key, proof or goods', async (context) => {
  const shop = await openShop(context, {}, service)
  const { folder, start } = processes(context, shop)
  await start().purchases.buy(order(shop, '/report'))
  await start().purchases.buy(order(shop, '/gone'))
  const own = join(folder, shop.agentId)
  const names = readdirSync(own)
  assert.equal(names.length, 2)
  assert.equal(statSync(own).mode & 0o077, 0)
  for (const name of names) {
    assert.match(name, /^[0-9a-f]{64}-0\.json$/)
    assert.equal(statSync(join(own, name)).mode & 0o077, 0)
    const text = readFileSync(join(own, name), 'utf8')
    for (const { header, proof } of shop.merchant.shown) {
      assert.ok(!text.includes(proof.signature) && !text.includes(header))
    }
    assert.ok(!text.includes(shop.agentKey) && !text.includes(goods.report))
  }
})

function recordOf(purchaseId: string, settled: { transactionId: string } | null): PurchaseRecord {
  return {
    purchaseId,
    attempt: 0,
    fingerprint: 'same',
    nonce: 'n',
    bill: null,
    begunAt: '2026-11-20T12:00:00Z',
    settled,
  }
}

test('In memory, the purchase that was settled last is forgotten last', async () => {
  const records = createRecordsInMemory(2)
  const settled = { transactionId: 'txn_1' }
  for (const id of ['first', 'second']) await records.claim(recordOf(id, null))
  for (const id of ['second', 'first']) await records.update(recordOf(id, settled))
  assert.equal(await records.claim(recordOf('third', null)), true)
  assert.equal(await records.find('second'), undefined)
  assert.deepEqual((await records.find('first'))?.settled, settled)
})

test('The records are bounded, and a purchase that may still be charged is never dropped', async (context) => {
  let nowMs = Date.parse('2026-11-20T12:05:00Z')
  const records = createRecordsInMemory(3, () => nowMs)
  await records.claim(recordOf('open', null))
  await records.claim(recordOf('done', { transactionId: 't' }))
  await records.claim(recordOf('open too', null))
  assert.equal(await records.claim(recordOf('open', null)), false)
  assert.equal(await records.claim(recordOf('new', null)), true)
  assert.equal(await records.find('done'), undefined)
  assert.ok(await records.find('open'))
  await assert.rejects(records.claim(recordOf('one more', null)), /may still be charged/)
  nowMs += 24 * 60 * 60_000
  await assert.rejects(records.claim(recordOf('one more', null)), /may still be charged/)
  nowMs += 2 * 60_000
  assert.equal(await records.claim(recordOf('one more', null)), true, 'no payment is open as long as that')
  assert.equal(await records.find('open'), undefined)
  assert.ok(await records.find('open too'))

  const folder = mkdtempSync(join(tmpdir(), 'purser-mcp-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  const files = await openRecordFiles(folder, 100)
  for (let count = 0; count < 110; count++) await files.claim(recordOf(`p${count}`, { transactionId: 't' }))
  await openRecordFiles(folder, 100)
  assert.equal(readdirSync(folder).length, 110, 'those of the last hour may still be charged')
  const twoHoursAgo = Date.now() / 1000 - 7200
  await files.claim(recordOf('open', null))
  for (const name of readdirSync(folder)) utimesSync(join(folder, name), twoHoursAgo, twoHoursAgo)
  await files.claim(recordOf('newest', null))
  const again = await openRecordFiles(folder, 1)
  assert.equal(readdirSync(folder).length, 2)
  assert.ok((await again.find('newest')) && (await again.find('open')))
})

test('A redirect within the host is followed and paid there; another one is reported', async (context) => {
  const shop = await openShop(context, {}, service)
  const { purchases } = openWallet(shop.wallet)
  const moved = await purchases.buy(order(shop, '/moved'))
  assert.deepEqual([moved.outcome, moved.payment?.resource_url], ['paid', `${shop.merchant.url}/report`])
  const away = await purchases.buy(order(shop, '/away'))
  assert.deepEqual(
    [away.outcome, away.response?.status, away.response?.location],
    ['free', 302, 'https://elsewhere.example/report'],
  )
})

test('A private host is not contacted unless a setting names it, whatever the mandate allows', async (context) => {
  const shop = await openShop(context, { allowed_sellers: ['*'] }, service)
  const { purchases } = openWallet({ ...shop.wallet, privateHosts: [] })
  for (const url of [shop.merchant.url, shop.merchant.url.replace('http:', 'https:'), 'https://127.0.0.1/']) {
    const refused = await purchases.buy(order(shop, '/report', { url: new URL('/report', url) }))
    assert.deepEqual([refused.outcome, refused.reason_code], ['denied', 'address_not_allowed'], url)
    assert.match(refused.remedy ?? '', /add this host to PURSER_MCP_PRIVATE_HOSTS\.$/)
  }
  const url = new URL('/report', shop.merchant.url.replace('http://', 'https://user:secret@'))
  const { reason_code: code, remedy } = await purchases.buy(order(shop, '/report', { url }))
  assert.deepEqual(
    [code, remedy],
    ['address_not_allowed', 'Use an https address without a user name and password.'],
  )
  assert.deepEqual(shop.merchant.requests, [])
})

test('A category that the mandate does not allow is denied', async (context) => {
  const shop = await openShop(context, { allowed_categories: ['data'] }, service)
  const { purchases } = openWallet(shop.wallet)
  const denied = await purchases.buy(order(shop, '/tagged'))
  assert.deepEqual([denied.outcome, denied.reason_code], ['denied', 'merchant_not_allowed'])
  assert.match(denied.remedy ?? '', /categories: data/)
})

test('Binary content is returned as base64, and a free POST is not sent twice', async (context) => {
  const shop = await openShop(context, {}, service)
  const { purchases } = openWallet(shop.wallet)
  const picture = await purchases.buy(order(shop, '/picture'))
  assert.deepEqual([picture.response?.encoding, picture.response?.body], ['base64', 'iVBORw=='])

  const free = order(shop, '/free', { method: 'POST', body: '{}' })
  assert.equal((await purchases.buy(free)).outcome, 'free')
  const again = await purchases.buy(free)
  assert.deepEqual([again.outcome, again.replayed], ['free', true])
  assert.equal(shop.merchant.requests.filter((line) => line === 'POST /free').length, 1)
})

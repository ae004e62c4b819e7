import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'

import { issueKey } from '../../../../service/testing/service.ts'
import { shareTestService } from '../../../../service/testing/shared-service.ts'
import { openMarket } from '../../testing/market.ts'
import { merchantDomain } from '../../testing/merchant.ts'
import {
  createPurchaseMemory,
  PaidNotDeliveredError,
  paymentDecisionOf,
  PaymentNotChargedError,
  paymentResultOf,
  PurchaseConflictError,
  type Proof,
  type PurchaseRecord,
} from '../client.ts'
import { openPurchaseFiles } from '../purchase-files.ts'

const service = await shareTestService()
const goods = '{"data":[1,2,3]}'

function newFolder(context: { readonly after: (clean: () => void) => void }): string {
  const folder = mkdtempSync(join(tmpdir(), 'purser-purchases-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

test('The same purchase id pays once, and gets the goods again without asking the merchant', async (context) => {
  const { merchant, pay, budget } = await openMarket(context, service)
  const buy = pay({ purchases: createPurchaseMemory() })
  const order = { method: 'POST', body: 'rain', purchaseId: 'order-1' }
  const first = await buy(`${merchant.url}/data`, order)
  const again = await buy(`${merchant.url}/data`, order)
  assert.deepEqual([await first.text(), await again.text()], [goods, goods])
  assert.deepEqual(
    [again.status, again.url, again.headers.get('content-type')],
    [200, first.url, 'application/json'],
  )
  const [before, after] = [paymentResultOf(first), paymentResultOf(again)]
  assert.deepEqual([before?.replayed, after?.replayed], [false, true])
  assert.deepEqual([after?.transaction_id, after?.nonce], [before?.transaction_id, before?.nonce])
  assert.equal(merchant.visits.length, 2)
  assert.deepEqual(await budget(), { spent: '4.00', held: '0.00' })
})

test('A purchase id belongs to one request: another address, method or body is refused, and nothing is bought', async (context) => {
  const { merchant, pay, budget } = await openMarket(context, service)
  const buy = pay({ purchases: createPurchaseMemory() })
  await buy(`${merchant.url}/data`, { method: 'POST', body: 'rain', purchaseId: 'order-1' })
  const others: [string, object][] = [
    ['/other', { method: 'POST', body: 'rain' }],
    ['/data', { method: 'PUT', body: 'rain' }],
    ['/data', { method: 'POST', body: 'snow' }],
    ['/data', {}],
  ]
  for (const [path, order] of others) {
    await assert.rejects(buy(merchant.url + path, { ...order, purchaseId: 'order-1' }), PurchaseConflictError)
  }
  const onPage: typeof fetch = (input, init) => fetch(new URL(input as string, merchant.url), init)
  const buyOnPage = pay({ purchases: createPurchaseMemory() }, onPage)
  await buyOnPage('/data', { purchaseId: 'order-2' })
  await assert.rejects(buyOnPage('/other', { purchaseId: 'order-2' }), PurchaseConflictError)
  assert.equal(merchant.visits.length, 4)
  assert.deepEqual(await budget(), { spent: '8.00', held: '0.00' })
})

test('A purchase id without a store, empty or too long is refused before anything is sent', async (context) => {
  const { merchant, pay } = await openMarket(context, service)
  await assert.rejects(pay()(merchant.url, { purchaseId: 'order-1' }), /needs the option purchases/)
  const buy = pay({ purchases: createPurchaseMemory() })
  for (const purchaseId of ['', 'x'.repeat(256)]) {
    await assert.rejects(buy(merchant.url, { purchaseId }), /must have 1 to 255 characters/)
  }
  assert.equal(merchant.visits.length, 0)
})

test('Ten concurrent calls with one purchase id, in two processes with one folder, are charged once', async (context) => {
  const folder = newFolder(context)
  const { merchant, pay, budget } = await openMarket(context, service)
  const buyers = [
    pay({ purchases: await openPurchaseFiles(folder) }),
    pay({ purchases: await openPurchaseFiles(folder) }),
  ]
  const bought = Array.from({ length: 10 }, async (_, number) => {
    const answer = await buyers[number % 2]?.(merchant.url, { purchaseId: 'order-1' })
    return answer?.text()
  })
  assert.deepEqual(new Set(await Promise.all(bought)), new Set([goods]))
  assert.equal(new Set(merchant.visits.flatMap(({ nonce }) => nonce ?? [])).size, 1)
  assert.equal((await budget()).spent, '4.00')
})

test('Losing the store does not cause a second payment: the same id gets the same proof', async (context) => {
  const { merchant, pay, budget } = await openMarket(context, service)
  for (let run = 0; run < 2; run++) {
    const answer = await pay({ purchases: createPurchaseMemory() })(merchant.url, {
      purchaseId: 'order-lost',
    })
    assert.equal(await answer.text(), goods)
  }
  assert.equal(new Set(merchant.visits.flatMap(({ nonce }) => nonce ?? [])).size, 1)
  assert.deepEqual(await budget(), { spent: '4.00', held: '0.00' })
})

test('A purchase that ended between its proof and its record continues, although its proof fills a limit', async (context) => {
  const limits = [{ window: { calendar: 'day', time_zone: 'UTC' }, max_amount: '4.00' }]
  const { merchant, pay, budget } = await openMarket(context, service, {}, { limits })
  const store = createPurchaseMemory()
  const stopped = {
    ...store,
    save: (record: PurchaseRecord) =>
      record.step.kind === 'paying' ? Promise.reject(new Error('stopped')) : store.save(record),
  }
  await assert.rejects(pay({ purchases: stopped })(merchant.url, { purchaseId: 'order-1' }), /stopped/)
  assert.deepEqual(await budget(), { spent: '0.00', held: '4.00' })
  const denied = await pay({ purchases: store })(merchant.url, { purchaseId: 'order-2' })
  const decision = paymentDecisionOf(denied)
  assert(decision?.outcome === 'denied')
  assert.equal(decision.reason_code, 'velocity_limit_exceeded')
  const answer = await pay({ purchases: store })(merchant.url, { purchaseId: 'order-1' })
  assert.equal(await answer.text(), goods)
  assert.deepEqual(await budget(), { spent: '4.00', held: '0.00' })
})

test('A purchase whose proof was refused starts over with the same id', async (context) => {
  let refusals = 1
  const { merchant, pay, budget } = await openMarket(context, service, {
    beforeVerify: (_request, response) => refusals-- > 0 && Boolean(response.writeHead(402).end()),
  })
  const buy = pay({ purchases: createPurchaseMemory() })
  assert.equal((await buy(merchant.url, { purchaseId: 'order-1' })).status, 402)
  assert.equal(await (await buy(merchant.url, { purchaseId: 'order-1' })).text(), goods)
  assert.deepEqual(await budget(), { spent: '4.00', held: '0.00' })
})

test('A purchase that was paid but not delivered continues with the same proof', async (context) => {
  let isOpen = false
  const { merchant, pay, budget } = await openMarket(context, service, {
    deliver: (_, response) => void response.writeHead(isOpen ? 200 : 500).end(goods),
  })
  const buy = pay({ purchases: createPurchaseMemory(), maxRetries: 0 })
  await assert.rejects(buy(merchant.url, { purchaseId: 'order-1' }), PaidNotDeliveredError)
  isOpen = true
  const answer = await buy(merchant.url, { purchaseId: 'order-1' })
  assert.equal(await answer.text(), goods)
  assert.equal(paymentDecisionOf(answer)?.outcome, 'approved')
  assert.deepEqual(await budget(), { spent: '4.00', held: '0.00' })
})

test('With a purchase id, interrupted goods are requested again', async (context) => {
  let breaks = 1
  const { merchant, pay } = await openMarket(context, service, {
    deliver: (_, response) => (breaks-- > 0 ? cut(response) : void response.writeHead(200).end(goods)),
  })
  const answer = await pay({ purchases: createPurchaseMemory() })(merchant.url, { purchaseId: 'order-1' })
  assert.equal(await answer.text(), goods)
})

test('With a purchase id, goods may take longer than the timeout, as long as they do not stall', async (context) => {
  let pieces = 6
  const { merchant, pay, budget } = await openMarket(context, service, {
    deliver: async (_, response) => {
      for (let piece = 0; piece < pieces; piece++) {
        response.write('x')
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
      // A stalled response never ends.
      if (pieces === 6) response.end()
    },
  })
  const buy = pay({ purchases: createPurchaseMemory(), timeout: 400, maxRetries: 0 })
  const answer = await buy(merchant.url, { purchaseId: 'slow' })
  assert.equal(await answer.text(), 'xxxxxx')
  pieces = 1
  await assert.rejects(buy(merchant.url, { purchaseId: 'stalled' }), (error) => {
    assert(error instanceof PaidNotDeliveredError)
    assert.match(String(error.cause), /The body of the response stalled for 400 ms/)
    return true
  })
  assert.equal((await budget()).spent, '8.00')
})

/** A fetch that ignores its signal. */
const deaf: typeof fetch = (input, init) => fetch(input, { ...init, signal: null })

test('With a purchase id, a download ends when the caller aborts, even if fetch ignores its signal', async (context) => {
  const begun = Promise.withResolvers<void>()
  const { merchant, pay } = await openMarket(context, service, {
    deliver: (_, response) => {
      response.write('x')
      begun.resolve()
    },
  })
  const giveUp = new AbortController()
  const buying = pay({ purchases: createPurchaseMemory() }, deaf)(merchant.url, {
    purchaseId: 'dripping',
    signal: giveUp.signal,
  })
  await begun.promise
  giveUp.abort(new Error('no longer needed'))
  await assert.rejects(buying, { name: 'PaymentUncertainError', reason: 'aborted' })
})

test('A call that waits for another one with its purchase id ends with its own signal', async (context) => {
  const arrived = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const { merchant, pay, budget } = await openMarket(context, service, {
    deliver: async (_, response) => {
      arrived.resolve()
      await goOn.promise
      response.end('goods')
    },
  })
  const buy = pay({ purchases: createPurchaseMemory() })
  const first = buy(merchant.url, { purchaseId: 'order-1' })
  await arrived.promise
  const giveUp = new AbortController()
  const second = buy(merchant.url, { purchaseId: 'order-1', signal: giveUp.signal })
  giveUp.abort(new Error('no longer needed'))
  await assert.rejects(second, /no longer needed/)
  const third = buy(merchant.url, { purchaseId: 'order-1' })
  goOn.resolve()
  assert.deepEqual([await (await first).text(), await (await third).text()], ['goods', 'goods'])
  assert.equal(merchant.visits.length, 2)
  assert.equal((await budget()).spent, '4.00')
})

test('Goods of more than 8 MiB are returned in full, but not stored', async (context) => {
  const large = Buffer.alloc(9 * 1024 * 1024, 'x')
  const { merchant, pay, budget } = await openMarket(context, service, {
    deliver: (_, response) => void response.writeHead(200).end(large),
  })
  const buy = pay({ purchases: createPurchaseMemory() })
  for (let run = 0; run < 2; run++) {
    const answer = await buy(merchant.url, { purchaseId: 'order-1' })
    assert.equal((await answer.arrayBuffer()).byteLength, large.length)
    assert.equal(paymentResultOf(answer)?.replayed, false)
  }
  assert.deepEqual(await budget(), { spent: '4.00', held: '0.00' })
})

function cut(response: ServerResponse): void {
  response.writeHead(200, { 'content-length': '1000' })
  response.write('half', () => response.destroy())
}

const record: PurchaseRecord = {
  purchaseId: 'a',
  revision: 1,
  attempt: 1,
  fingerprint: 'f',
  changedAtMs: 0,
  step: { kind: 'over' },
}

test('Purchase files are private and complete, and each revision is written by one process', async (context) => {
  const folder = join(newFolder(context), 'purchases')
  const stores = [await openPurchaseFiles(folder), await openPurchaseFiles(folder)]
  const saved = await Promise.all(
    Array.from({ length: 10 }, async (_, at) => stores[at % 2]?.save({ ...record, attempt: at })),
  )
  assert.equal(saved.filter(Boolean).length, 1)
  assert.equal(await stores[0]?.save({ ...record, revision: 2 }), true)
  assert.equal(await stores[1]?.save({ ...record, revision: 1 }), false, 'an older revision')
  assert.equal((await stores[1]?.find('a'))?.revision, 2)
  assert.equal(await stores[1]?.find('b'), undefined)
  const names = readdirSync(folder).toSorted()
  assert.match(names.join(), /^\w+\.2\.json,removal$/, 'no other files are left')
  assert.equal(statSync(folder).mode & 0o777, 0o700)
  for (const name of names) assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600)
})

test('The in-memory store removes the oldest settled purchase, and none that may be charged', async () => {
  let nowMs = 0
  const store = createPurchaseMemory({ maxPurchases: 2, now: () => nowMs })
  const asking = { kind: 'asking', challenge: {} } as unknown as PurchaseRecord['step']
  await store.save({ ...record, step: asking })
  await store.save({ ...record, purchaseId: 'b' })
  await store.save({ ...record, purchaseId: 'c', step: asking })
  assert.equal(await store.find('b'), undefined)
  await assert.rejects(
    store.save({ ...record, purchaseId: 'd', step: asking }),
    /Too many purchases are in progress/,
  )
  nowMs = 11 * 60_000
  assert.equal(await store.save({ ...record, purchaseId: 'd', step: asking }), true)
})

const hourMs = 60 * 60_000
const paying = { kind: 'paying', challenge: {}, proof: {}, senders: [] } as unknown as PurchaseRecord['step']

test('The in-memory store keeps a payment for longer than the day that a merchant may have to charge it', async () => {
  let nowMs = 0
  const store = createPurchaseMemory({ maxPurchases: 1, now: () => nowMs })
  await store.save({ ...record, step: paying })
  nowMs = 24 * hourMs
  await assert.rejects(store.save({ ...record, purchaseId: 'b' }), /Too many purchases are in progress/)
  assert.ok(await store.find('a'))
  nowMs = 26 * hourMs
  assert.equal(await store.save({ ...record, purchaseId: 'b' }), true)
  assert.equal(await store.find('a'), undefined)
})

test('A full folder of purchases keeps those of the last hour, and payments for longer than a day', async (context) => {
  const folder = newFolder(context)
  const store = await openPurchaseFiles(folder)
  await store.save({ ...record, step: paying })
  for (const purchaseId of ['b', 'c']) await store.save({ ...record, purchaseId })
  const foundAfter = async (hours: number) => {
    const changed = (Date.now() - hours * hourMs) / 1000
    for (const name of readdirSync(folder)) utimesSync(join(folder, name), changed, changed)
    const full = await openPurchaseFiles(folder, { maxPurchases: 1 })
    const found = await Promise.all(['a', 'b', 'c'].map((purchaseId) => full.find(purchaseId)))
    return found.flatMap((one) => one?.purchaseId ?? [])
  }
  assert.deepEqual(await foundAfter(0.5), ['a', 'b', 'c'])
  assert.deepEqual(await foundAfter(24), ['a'])
  assert.deepEqual(await foundAfter(26), [])
})

test('A buyer that is killed at any step buys once, and the same id gets the goods', async (context) => {
  const folder = newFolder(context)
  const { merchant, pay, budget, apiKey } = await openMarket(context, service, { price: '0.01' })
  const purchases = await openPurchaseFiles(folder)
  let bought = 0

  async function killedAt(
    purchaseId: string,
    killAt: number | undefined,
    killAfterMs?: number,
  ): Promise<boolean> {
    const child = spawn(process.execPath, [join(import.meta.dirname, '../../testing/buyer.ts')], {
      env: {
        ...process.env,
        ADDRESS: merchant.url,
        PURSER_URL: service.url,
        PURSER_AGENT_KEY: apiKey,
        FOLDER: folder,
        PURCHASE_ID: purchaseId,
        KILL_AT: String(killAt ?? 0),
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    if (killAfterMs !== undefined) {
      child.stdout.once('data', () => setTimeout(() => child.kill('SIGKILL'), killAfterMs))
    }
    const output = text(child.stdout)
    const [code, signal] = await once(child, 'exit')
    if (signal === null) assert.deepEqual([code, await output], [0, `ready\n${goods}`])
    return signal === 'SIGKILL'
  }

  async function resume(purchaseId: string): Promise<void> {
    const answer = await pay({ purchases })(merchant.url, { purchaseId })
    assert.equal(await answer.text(), goods, purchaseId)
    bought++
    const { spent } = await budget()
    assert.equal(Number(spent).toFixed(2), (bought / 100).toFixed(2), purchaseId)
  }

  let steps = 1
  while (await killedAt(`step-${steps}`, steps)) await resume(`step-${steps++}`)
  await resume(`step-${steps}`)
  assert.ok(steps > 10, `the purchase has ${steps} steps`)
  for (const killAfterMs of [2, 5, 9, 14, 20, 30]) {
    await killedAt(`moment-${killAfterMs}`, undefined, killAfterMs)
    await resume(`moment-${killAfterMs}`)
  }
})

test('A payment that the merchant voided is not charged: no retry, and the same id buys again', async (context) => {
  const key = await issueKey(service, { role: 'merchant' })
  let failures = 1
  const { merchant, pay, pauses, budget } = await openMarket(context, service, {
    beforeVerify: (request, response) => {
      if (failures-- <= 0) return false
      const proof = JSON.parse(
        Buffer.from(String(request.headers['x-payment-proof']), 'base64url').toString(),
      )
      void fail(proof, response)
      return true
    },
  })
  async function fail(proof: Proof, response: ServerResponse): Promise<void> {
    const body = { proof, merchant_domain: merchantDomain, expected_amount: proof.amount }
    const { body: decision } = await service.call('POST', '/v1/payments/authorize', { key, body })
    assert.equal(decision.authorized, true)
    const { status } = await service.call('POST', `/v1/payments/${proof.nonce}/void`, { key })
    assert.equal(status, 200)
    response.writeHead(500, { 'x-payment-voided': proof.nonce }).end('out of paper')
  }

  const buy = pay({ purchases: createPurchaseMemory() })
  const error = await buy(merchant.url, { purchaseId: 'order-1' }).then(
    () => assert.fail('nothing failed'),
    (reason: unknown) => reason,
  )
  assert(error instanceof PaymentNotChargedError)
  assert.deepEqual([error.reason, error.status, error.response?.status], ['merchant_failed', 'voided', 500])
  assert.match(error.message, /answered the paid request with 500; nothing was charged/)
  assert.deepEqual(pauses, [], 'the voided proof is not sent again')
  assert.equal(await (await buy(merchant.url, { purchaseId: 'order-1' })).text(), goods)
  assert.deepEqual(await budget(), { spent: '4.00', held: '0.00' })
})

test('A merchant that only claims to have voided cannot charge later', async (context) => {
  let nonce = ''
  const { merchant, client, pay, budget } = await openMarket(context, service, {
    beforeVerify: (request, response) => {
      nonce = JSON.parse(
        Buffer.from(String(request.headers['x-payment-proof']), 'base64url').toString(),
      ).nonce
      return Boolean(response.writeHead(503, { 'x-payment-voided': nonce }).end())
    },
  })
  await assert.rejects(pay()(merchant.url), PaymentNotChargedError)
  assert.equal((await client.payments.getProof(nonce)).status, 'voided')
  assert.deepEqual(await budget(), { spent: '0.00', held: '0.00' })
})

test('Goods that a merchant delivers without a charge are reported so, and the same purchase pays nothing', async (context) => {
  const key = await issueKey(service, { role: 'merchant' })
  const { merchant, pay, budget } = await openMarket(context, service, {
    beforeVerify: (request, response) => {
      const proof = JSON.parse(
        Buffer.from(String(request.headers['x-payment-proof']), 'base64url').toString(),
      )
      void giveAway(proof, response)
      return true
    },
  })
  async function giveAway(proof: Proof, response: ServerResponse): Promise<void> {
    const body = { proof, merchant_domain: merchantDomain, expected_amount: proof.amount }
    await service.call('POST', '/v1/payments/authorize', { key, body })
    assert.equal((await service.call('POST', `/v1/payments/${proof.nonce}/void`, { key })).status, 200)
    response.writeHead(200, { 'x-payment-voided': proof.nonce }).end(goods)
  }
  const buy = pay({ purchases: createPurchaseMemory() })
  const bought = await buy(merchant.url, { purchaseId: 'order-1' })
  assert.equal(await bought.text(), goods)
  const { delivered, charged_amount, transaction_id, status } = paymentResultOf(bought) ?? assert.fail()
  assert.deepEqual([delivered, charged_amount, transaction_id, status], [true, '0.00', null, 'voided'])
  const count = merchant.visits.length
  const again = await buy(merchant.url, { purchaseId: 'order-1' })
  assert.equal(await again.text(), goods)
  assert.deepEqual([paymentResultOf(again)?.replayed, paymentResultOf(again)?.charged_amount], [true, '0.00'])
  assert.equal(merchant.visits.length, count, 'nothing was requested again')
  assert.deepEqual(await budget(), { spent: '0.00', held: '0.00' })
})

test('A merchant that charges a part is reported with that part', async (context) => {
  const key = await issueKey(service, { role: 'merchant' })
  const { merchant, pay, budget } = await openMarket(context, service, {
    beforeVerify: (request, response) => {
      const proof = JSON.parse(
        Buffer.from(String(request.headers['x-payment-proof']), 'base64url').toString(),
      )
      void meter(proof, response)
      return true
    },
  })
  async function meter(proof: Proof, response: ServerResponse): Promise<void> {
    const body = { proof, merchant_domain: merchantDomain, expected_amount: proof.amount }
    await service.call('POST', '/v1/payments/authorize', { key, body })
    const part = { key, body: { amount: '1.25' } }
    assert.equal((await service.call('POST', `/v1/payments/${proof.nonce}/capture`, part)).status, 200)
    response.end(goods)
  }
  const result = paymentResultOf(await pay()(merchant.url)) ?? assert.fail()
  assert.deepEqual([result.amount, result.charged_amount, result.status], ['4.00', '1.25', 'captured'])
  assert.deepEqual(await budget(), { spent: '1.25', held: '0.00' })
})

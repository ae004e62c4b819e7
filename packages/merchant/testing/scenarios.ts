import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

import type { PaymentOptions } from '@purser/merchant'

import type { TestService } from '../../../service/testing/service.ts'
import { encode, price, type Purchase, type ShopAnswer } from './purchase.ts'
import { largeBytes } from './shop.ts'

/** The behavior that all adapters share. `spent` is the total that a scenario charges. */
export interface Scenario {
  readonly title: string
  readonly options?: Partial<PaymentOptions>
  readonly mandate?: Record<string, unknown>
  readonly spent: string
  readonly play: (purchase: Purchase, service: TestService) => Promise<void>
}

export const scenarios: readonly Scenario[] = [
  {
    title: 'A request without a proof gets a challenge and no goods',
    spent: '0.00',
    play: async ({ get, shop }) => {
      const answer = await get('/data?of=today')
      assert.equal(answer.status, 402)
      assert.deepEqual(JSON.parse(answer.text), answer.challenge)
      const { how_to_pay: howToPay, ...challenge } = answer.challenge
      assert.match(howToPay, /^[^.]+\.$/)
      assert.deepEqual(challenge, {
        error: 'payment_required',
        scheme: 'svc-sandbox',
        network: 'sandbox',
        amount: price,
        currency: 'USDC',
        resource: challenge.resource,
        merchant_domain: 'api.example.com',
        category: 'data',
      })
      assert.match(challenge.resource, /^https:\/\/api\.example\.com\/.*data\?of=today$/)
      assert.equal(answer.headers.get('cache-control'), 'no-store')
      assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
      assert.equal(shop.runs, 0)
    },
  },
  {
    title: 'A proof is charged and gets the goods with a receipt',
    spent: '4.00',
    play: async ({ proofFor, pay, shop }, service) => {
      const proof = await proofFor('/data')
      const answer = await pay('/data', proof)
      assert.equal(answer.status, 200, answer.text)
      assert.equal(JSON.parse(answer.text).goods, 'rows')
      assert(answer.receipt)
      const { transaction_id: id, ...receipt } = answer.receipt
      const { amount, currency, resource, nonce } = proof
      assert.deepEqual(receipt, { amount, currency, resource, merchant_domain: 'api.example.com', nonce })
      const { body } = await service.call('GET', `/v1/transactions/${id}`)
      assert.deepEqual([body.status, body.amount, body.resource_url], ['paid', price, resource])
      assert.equal(answer.headers.get('cache-control'), 'private')
      assert.equal(answer.headers.get('x-payment-challenge'), null)
      assert.equal(shop.runs, 1)
    },
  },
  {
    title: 'A proof as plain JSON is accepted',
    spent: '4.00',
    play: async ({ proofFor, get }) => {
      const proof = await proofFor('/data')
      const answer = await get('/data', { 'x-payment-proof': JSON.stringify(proof) })
      assert.equal(answer.status, 200, answer.text)
    },
  },
  {
    title: 'An invalid proof header is refused with an explanation',
    spent: '0.00',
    play: async ({ proofFor, get, shop }) => {
      const proof = await proofFor('/data')
      const malformed: Record<string, string> = {
        empty: '',
        'not base64url': '%%%',
        'base64url of something else than JSON': Buffer.from('rows, please').toString('base64url'),
        'base64url of invalid UTF-8': Buffer.from([0x7b, 0xff, 0x7d]).toString('base64url'),
        'half a JSON': '{"scheme":',
        null: encode(null),
        'an array': encode([proof]),
        'a text': encode('proof'),
        'a missing field': encode({ ...proof, signature: undefined }),
        'a field of the wrong type': encode({ ...proof, amount: 4 }),
        'two proofs, joined by a comma': `${encode(proof)}, ${encode(proof)}`,
        'two proofs of plain JSON': `${JSON.stringify(proof)}, ${JSON.stringify(proof)}`,
        'a timestamp that the service cannot read': encode({ ...proof, timestamp: 'yesterday' }),
        'an overlong nonce': encode({ ...proof, nonce: 'a'.repeat(500) }),
      }
      for (const [what, header] of Object.entries(malformed)) {
        const { status, challenge } = await get('/data', { 'x-payment-proof': header })
        assert.deepEqual([status, challenge?.reason], [402, 'malformed_proof'], what)
      }
      const huge = await get('/data', { 'x-payment-proof': encode({ ...proof, padding: 'x'.repeat(7_000) }) })
      assert.deepEqual([huge.status, huge.challenge.reason], [402, 'proof_too_large'])
      assert.equal(shop.runs, 0)
    },
  },
  {
    title: 'A used proof buys nothing',
    spent: '4.00',
    play: async ({ proofFor, pay, shop }) => {
      const proof = await proofFor('/data')
      assert.equal((await pay('/data', proof)).status, 200)
      const { status, challenge, receipt } = await pay('/data', proof)
      assert.deepEqual([status, challenge.reason, receipt], [402, 'nonce_reused', undefined])
      assert.equal(shop.runs, 1)
    },
  },
  {
    title: 'Ten concurrent requests with one proof buy once',
    spent: '4.00',
    play: async ({ proofFor, pay, shop }) => {
      const proof = await proofFor('/data')
      const answers = await Promise.all(Array.from({ length: 10 }, () => pay('/data', proof)))
      assert.deepEqual(statusesOf(answers), [200, ...Array<number>(9).fill(402)])
      assert.equal(shop.runs, 1)
    },
  },
  {
    title: 'A proof for another amount is refused, and so is the same amount in another spelling',
    spent: '0.00',
    play: async ({ proofFor, pay, shop }) => {
      for (const amount of ['3.99', '4.0', '4']) {
        const { status, challenge } = await pay('/data', await proofFor('/data', { amount }))
        assert.deepEqual(
          [status, challenge.reason, challenge.amount],
          [402, 'amount_mismatch', price],
          amount,
        )
      }
      assert.equal(shop.runs, 0)
    },
  },
  {
    title: 'A proof for another resource is refused, and stays valid for its own',
    spent: '4.00',
    play: async ({ proofFor, pay, shop }) => {
      const proof = await proofFor('/data?a=1&b=2')
      const others = ['/data', '/data/?a=1&b=2', '/data?b=2&a=1', '/d%61ta?a=1&b=2', '/DATA?a=1&b=2']
      for (const path of others) {
        const { status, challenge } = await pay(path, proof)
        // Next itself redirects a path with a trailing slash to the path without it.
        if (status === 308) continue
        assert.deepEqual([status, challenge?.reason], [402, 'proof_for_another_resource'], path)
      }
      assert.equal(shop.runs, 0)
      assert.equal((await pay('/data?a=1&b=2', proof)).status, 200)
    },
  },
  {
    title: 'A modified proof is refused',
    spent: '0.00',
    play: async ({ proofFor, pay, shop }) => {
      const proof = await proofFor('/data', { amount: '1.00' })
      for (const change of [
        { amount: price },
        { amount: price, note: 'gift' },
        { amount: price, mandateId: 'mdt_x' },
      ]) {
        const { status, challenge } = await pay('/data', { ...proof, ...change })
        assert.deepEqual([status, challenge.reason], [402, 'invalid_signature'], JSON.stringify(change))
      }
      assert.equal(shop.runs, 0)
    },
  },
  {
    title: 'While the service is down, no goods are delivered, and the proof stays valid',
    spent: '4.00',
    play: async ({ proofFor, pay, proxy, shop, errors }) => {
      const proof = await proofFor('/data')
      proxy.set('down')
      const answer = await pay('/data', proof)
      assert.equal(answer.status, 503)
      assert.deepEqual(JSON.parse(answer.text), { error: 'payment_could_not_be_verified' })
      assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
      assert.equal(shop.runs, 0)
      assert.equal(errors.length, 1, 'the merchant is told')
      proxy.set('pass')
      assert.equal((await pay('/data', proof)).status, 200)
    },
  },
  {
    title: 'If the service does not answer in time, no goods are delivered',
    options: { timeout: 300 },
    spent: '0.00',
    play: async ({ proofFor, pay, proxy, shop }) => {
      const proof = await proofFor('/data')
      proxy.set('silent')
      assert.equal((await pay('/data', proof)).status, 503)
      assert.equal(shop.runs, 0)
    },
  },
  {
    title: 'If the reply is lost after the charge, a retry gets the goods',
    spent: '4.00',
    play: async ({ proofFor, pay, proxy, shop }) => {
      const proof = await proofFor('/data')
      proxy.set('cut first answers')
      const { status, receipt } = await pay('/data', proof)
      assert.deepEqual([status, receipt?.nonce], [200, proof.nonce])
      assert.equal(proxy.cuts(), 1)
      assert.equal((await pay('/data', proof)).status, 402)
      assert.equal(shop.runs, 1)
    },
  },
  {
    title: 'If every reply is lost, the same proof gets its goods later, once',
    spent: '4.00',
    play: async ({ proofFor, pay, proxy, shop, spent }) => {
      const proof = await proofFor('/data')
      proxy.set('cut answers')
      assert.equal((await pay('/data', proof)).status, 503)
      assert.equal(await spent(), price, 'the charge stands')
      assert.equal((await pay('/data', proof)).status, 503)
      proxy.set('pass')
      const answers = await Promise.all([pay('/data', proof), pay('/data', proof), pay('/data', proof)])
      assert.deepEqual(statusesOf(answers), [200, 402, 402])
      assert.equal(shop.runs, 1)
    },
  },
  {
    title:
      'A customer who disconnects during verification, even three times, gets the goods with the same proof',
    spent: '4.00',
    play: async (purchase) => {
      const { pay, proxy, shop, spent } = purchase
      const proof = await purchase.proofFor('/data')
      await leaveDuringPayment(purchase, proof)
      assert.equal(await spent(), price, 'the charge stands')
      for (let time = 2; time <= 3; time++) {
        proxy.set('pass')
        await leaveDuringPayment(purchase, proof)
      }
      // The customer retries at once, while the last request still waits.
      const answers = [pay('/data', proof), pay('/data', proof)]
      proxy.set('pass')
      assert.deepEqual(statusesOf(await Promise.all(answers)), [200, 402])
      assert.equal(shop.runs, 1, 'the handler did not run for the closed connections')
    },
  },
  {
    title: 'A customer who disconnects before the response starts gets the goods with the same proof',
    spent: '4.00',
    play: async ({ proofFor, pay, shop, urlOf, deserted }) => {
      const proof = await proofFor('/waiting')
      const customer = new AbortController()
      const headers = { 'x-payment-proof': encode(proof) }
      const gone = fetch(urlOf('/waiting'), { headers, signal: customer.signal })
      await shop.entered.promise
      customer.abort()
      await assert.rejects(gone)
      await deserted()
      shop.open.resolve()
      assert.equal((await pay('/waiting', proof)).status, 200)
      assert.equal((await pay('/waiting', proof)).status, 402)
      assert.equal(shop.runs, 2)
    },
  },
  {
    title: 'A customer whose connection breaks during the response gets it again with the same proof',
    spent: '4.00',
    play: async ({ proofFor, pay, shop, urlOf, deserted }) => {
      const proof = await proofFor('/large')
      await killInTheMiddle(urlOf('/large'), proof)
      await deserted()
      const { status, text } = await pay('/large', proof)
      assert.deepEqual([status, text.length], [200, largeBytes])
      const again = await pay('/large', proof)
      assert.deepEqual([again.status, again.challenge.reason], [402, 'nonce_reused'])
      assert.match(again.challenge.how_to_pay, /has bought its goods already/)
      assert.equal(shop.runs, 2)
    },
  },
  {
    title:
      'A response that is interrupted three times is not produced a fourth time, and each handler notices',
    spent: '4.00',
    play: async ({ proofFor, pay, shop, urlOf, deserted }) => {
      const proof = await proofFor('/stream')
      for (const run of [1, 2, 3]) {
        await killInTheMiddle(urlOf('/stream'), proof)
        await deserted()
        await until(() => shop.streamsEnded === run)
      }
      const { challenge } = await pay('/stream', proof)
      assert.equal(challenge.reason, 'nonce_reused')
      assert.match(challenge.how_to_pay, /three attempts to deliver its goods completely have failed/)
      assert.equal(shop.runs, 3)
    },
  },
  {
    title: 'With redeliverUnfinished off, an interrupted response counts as delivered',
    options: { redeliverUnfinished: false },
    spent: '4.00',
    play: async ({ proofFor, pay, shop, urlOf, deserted }) => {
      const proof = await proofFor('/stream')
      await killInTheMiddle(urlOf('/stream'), proof)
      await deserted()
      await until(() => shop.streamsEnded === 1)
      assert.equal((await pay('/stream', proof)).challenge.reason, 'nonce_reused')
      assert.equal(shop.runs, 1)
    },
  },
  {
    title: 'A response without a body counts as delivered once sent',
    spent: '4.00',
    play: async ({ proofFor, pay, shop }) => {
      const proof = await proofFor('/empty')
      const { status, text } = await pay('/empty', proof)
      assert.deepEqual([status, text], [200, ''])
      assert.equal((await pay('/empty', proof)).status, 402)
      assert.equal(shop.runs, 1)
    },
  },
  {
    title: 'A failing handler has delivered nothing, and gets three attempts per payment',
    spent: '4.00',
    play: async ({ proofFor, pay, shop }) => {
      const proof = await proofFor('/broken')
      for (const run of [1, 2, 3]) {
        assert.equal((await pay('/broken', proof)).status, 500)
        assert.equal(shop.runs, run)
      }
      assert.equal((await pay('/broken', proof)).challenge.reason, 'nonce_reused')
      assert.equal(shop.runs, 3)
    },
  },
  {
    title: 'With preflight, a disallowed category is refused before the charge',
    options: { preflight: true, category: 'games' },
    mandate: { allowed_categories: ['data'] },
    spent: '0.00',
    play: async ({ proofFor, pay, shop }) => {
      const { status, challenge } = await pay('/data', await proofFor('/data'))
      assert.deepEqual([status, challenge.reason], [402, 'merchant_not_allowed'])
      assert.equal(shop.runs, 0)
    },
  },
]

/** Polls until the condition holds; the test's timeout ends it. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 20))
}

export function statusesOf(answers: readonly ShopAnswer[]): number[] {
  return answers.map(({ status }) => status).sort((one, other) => one - other)
}

/** Requests goods with a proof, and disconnects while the answer to the payment is held back. */
export async function leaveDuringPayment(
  { proxy, urlOf, deserted }: Pick<Purchase, 'proxy' | 'urlOf' | 'deserted'>,
  proof: unknown,
): Promise<void> {
  proxy.set('hold answers')
  const customer = new AbortController()
  const headers = { 'x-payment-proof': encode(proof) }
  const gone = fetch(urlOf('/data'), { headers, signal: customer.signal })
  await proxy.holding()
  customer.abort()
  await assert.rejects(gone)
  await deserted()
}

/** Requests goods with a proof, reads the start of the response, and resets the connection, or breaks it otherwise. */
export async function killInTheMiddle(
  address: string,
  proof: unknown,
  kill = (socket: Socket) => void socket.pause().resetAndDestroy(),
): Promise<void> {
  const { hostname, port, host, pathname } = new URL(address)
  const socket = connect(Number(port), hostname)
  const header = `X-Payment-Proof: ${encode(proof)}`
  socket.write(`GET ${pathname} HTTP/1.1\r\nHost: ${host}\r\n${header}\r\n\r\n`)
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  assert.match(bytes.toString('latin1'), /^HTTP\/1.1 200 /)
  const closed = new Promise((resolve) => socket.on('close', resolve).on('error', () => undefined))
  kill(socket)
  await closed
}

// Longer than 400 lines: it is a list, read from top to bottom.
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'

import type { Proof } from '@purser/client'

import type { TestService } from '../../../service/testing/service.ts'
import { encode, price, type Purchase, type ShopAnswer } from './purchase.ts'
import { killInTheMiddle, leaveDuringPayment, statusesOf, until, type Scenario } from './scenarios.ts'

const after = { capture: 'after' } as const
const metered = { capture: 'metered' } as const

/** What all adapters do with payments that are captured after the handler. */
export const captureScenarios: readonly Scenario[] = [
  ...[after, metered].flatMap((options): Scenario[] => [
    {
      title: `A handler that throws is never charged, its proof is voided, and the answer says so (capture ${options.capture})`,
      options,
      spent: '0.00',
      play: async ({ proofFor, pay, shop, hidesErrors }, service) => {
        const proof = await proofFor('/broken')
        const failed = await pay('/broken', proof)
        assert.equal(failed.status, 500)
        assert.equal(failed.headers.get('x-payment-voided'), hidesErrors ? null : proof.nonce)
        assert.equal(await fateOf(service, proof), 'voided')
        const again = await pay('/broken', proof)
        assert.deepEqual([again.status, again.challenge.reason], [402, 'authorization_voided'])
        assert.match(again.challenge.how_to_pay, /nothing was charged/)
        assert.equal(shop.runs, 1)
      },
    },
    {
      title: `A 4xx or 5xx answer voids the payment and says so (capture ${options.capture})`,
      options,
      spent: '0.00',
      play: async ({ proofFor, pay }, service) => {
        for (const status of [404, 503]) {
          const proof = await proofFor(`/status-${status}`)
          const failed = await pay(`/status-${status}`, proof)
          assert.deepEqual(
            [failed.status, failed.text, failed.receipt],
            [status, `status ${status}`, undefined],
          )
          assert.equal(failed.headers.get('x-payment-voided'), proof.nonce)
          assert.equal(await fateOf(service, proof), 'voided')
        }
      },
    },
  ]),
  {
    title: 'A successful answer is charged once, with a receipt, and the proof is used up',
    options: after,
    spent: price,
    play: async ({ proofFor, pay, shop }, service) => {
      const proof = await proofFor('/data')
      const bought = await pay('/data', proof)
      assert.equal(bought.status, 200, bought.text)
      assert.equal(JSON.parse(bought.text).goods, 'rows')
      const { body } = await service.call('GET', `/v1/transactions/${bought.receipt?.transaction_id}`)
      assert.deepEqual([body.status, body.amount], ['paid', price])
      assert.deepEqual(
        [shop.payment?.transaction_id, shop.payment?.amount],
        [bought.receipt?.transaction_id, price],
      )
      assert.equal(shop.payment?.meter('1.00'), false, 'it is too late')
      assert.equal(bought.headers.get('cache-control'), 'private')
      const again = await pay('/data', proof)
      assert.deepEqual([again.status, again.challenge.reason], [402, 'nonce_reused'])
      assert.match(again.challenge.how_to_pay, /bought its goods already/)
      assert.equal(shop.runs, 1)
    },
  },
  {
    title: 'Ten concurrent requests with one proof run the handler once and charge once',
    options: after,
    spent: price,
    play: async ({ proofFor, pay, shop }) => {
      const proof = await proofFor('/data')
      const answers = await Promise.all(Array.from({ length: 10 }, () => pay('/data', proof)))
      assert.deepEqual(statusesOf(answers), [200, ...Array<number>(9).fill(402)])
      assert.equal(shop.runs, 1)
    },
  },
  {
    title: 'With shouldCapture, the response decides',
    options: {
      ...after,
      shouldCapture: async ({ status, header }) => {
        if (status === 409) throw new Error('undecided')
        return status < 400 && header('content-type') !== 'none'
      },
    },
    spent: price,
    play: async ({ proofFor, pay, errors }, service) => {
      const missing = await proofFor('/status-404')
      const answer = await pay('/status-404', missing)
      assert.deepEqual([answer.status, answer.text], [404, 'status 404'])
      assert.equal(answer.headers.get('x-payment-voided'), missing.nonce)
      const undecided = await proofFor('/status-409')
      const withheld = await pay('/status-409', undecided)
      assert.deepEqual([withheld.status, withheld.text], [500, '{"error":"capture_could_not_be_decided"}'])
      assert.equal(await fateOf(service, undecided), 'voided')
      assert.equal(errors.length, 1)
      assert.equal((await pay('/data', await proofFor('/data'))).status, 200)
    },
  },
  {
    title: 'Nothing of the response leaves before its capture is answered',
    options: after,
    spent: price,
    play: async ({ proofFor, pay, proxy, shop }, service) => {
      const proof = await proofFor('/chapters')
      let hasAnswered = false
      proxy.set('hold answers')
      const buying = pay('/chapters', proof).finally(() => (hasAnswered = true))
      await proxy.holding() // authorize
      assert.equal(shop.runs, 0)
      proxy.set('pass')
      proxy.set('hold answers')
      await proxy.holding() // capture
      assert.equal(await fateOf(service, proof), 'captured')
      assert.equal(hasAnswered, false)
      proxy.set('pass')
      shop.open.resolve()
      const bought = await buying
      assert.deepEqual([bought.status, bought.text], [200, 'first page,second page'])
      assert.equal(bought.receipt?.amount, price)
      assert.equal(shop.payment?.transaction_id, bought.receipt?.transaction_id)
    },
  },
  {
    title: 'An amount that is metered before the response is charged, and the rest is released',
    options: after,
    spent: '5.25',
    play: async ({ proofFor, pay }, service) => {
      const partly = await pay('/metered-1.25', await proofFor('/metered-1.25'))
      assert.deepEqual([partly.status, partly.receipt?.amount], [200, '1.25'])
      const above = await pay('/metered-9.99', await proofFor('/metered-9.99'))
      assert.equal(above.receipt?.amount, price, 'at most the price is charged')
      const proof = await proofFor('/metered-0')
      const nothing = await pay('/metered-0', proof)
      assert.deepEqual([nothing.status, nothing.receipt], [200, undefined])
      assert.equal(await fateOf(service, proof), 'voided')
    },
  },
  {
    title: 'A metered stream leaves while it is produced, as private, and ends once its amount is charged',
    options: metered,
    spent: '1.50',
    play: async ({ proofFor, urlOf, shop, proxy }, service) => {
      const proof = await proofFor('/pages')
      const answer = await fetch(urlOf('/pages'), { headers: headersOf(proof) })
      assert.deepEqual([answer.status, answer.headers.get('cache-control')], [200, 'private'])
      const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
      assert.equal((await reader.read()).value, 'first page,')
      assert.equal(await fateOf(service, proof), 'authorized')
      proxy.set('hold answers')
      shop.open.resolve()
      assert.equal((await reader.read()).value, 'second page')
      let isOver = false
      const end = reader.read().then(({ done }) => (isOver = done))
      await proxy.holding()
      assert.equal(isOver, false, 'the end waits for the capture')
      proxy.set('pass')
      assert.equal(await end, true)
      assert.equal(await fateOf(service, proof), 'captured')
      assert.match(shop.payment?.transaction_id ?? '', /^txn_/)
    },
  },
  {
    title:
      'A stream that fails after its first byte was charged is cut off, and comes again for the same proof',
    options: after,
    spent: price,
    play: async ({ proofFor, urlOf, shop, pay }, service) => {
      const proof = await proofFor('/torn-chapters')
      const answer = await fetch(urlOf('/torn-chapters'), { headers: headersOf(proof) })
      shop.open.resolve()
      await assert.rejects(answer.text())
      assert.equal(await fateOf(service, proof), 'captured')
      // Its second page is torn at once; some servers can then still answer 500.
      const again = await pay('/torn-chapters', proof).catch(() => undefined)
      assert.notEqual(again?.status, 200)
      assert.equal(shop.runs, 2)
    },
  },
  {
    title: 'A metered stream that fails is cut off and not charged, also if its source resets a connection',
    options: metered,
    spent: '0.00',
    play: async ({ proofFor, urlOf, shop }, service) => {
      for (const path of ['/torn-pages', '/relayed-pages']) {
        shop.wait()
        const proof = await proofFor(path)
        const answer = await fetch(urlOf(path), { headers: headersOf(proof) })
        shop.open.resolve()
        await assert.rejects(answer.text())
        await until(async () => (await fateOf(service, proof)) !== 'authorized')
        assert.equal(await fateOf(service, proof), 'voided', path)
      }
    },
  },
  {
    title: 'A customer who leaves a metered stream, or breaks the protocol, pays for what was metered, once',
    options: metered,
    spent: '1.50',
    play: async ({ proofFor, pay, urlOf, shop, deserted }, service) => {
      for (const [path, kill] of [
        ['/pages', undefined],
        ['/broken-off/pages', (socket: Socket) => void socket.write('\0\r\n\r\n')],
      ] as const) {
        shop.wait()
        const proof = await proofFor(path)
        await killInTheMiddle(urlOf(path), proof, kill)
        await deserted()
        await until(async () => (await fateOf(service, proof)) !== 'authorized')
        assert.equal(await fateOf(service, proof), 'captured', path)
        shop.open.resolve()
        await until(async () => (await pay(path, proof)).challenge?.reason === 'nonce_reused')
      }
      assert.equal(shop.runs, 2)
    },
  },
  {
    title: 'A metered stream whose capture fails for good never ends',
    options: metered,
    spent: '0.00',
    play: async ({ proofFor, urlOf, shop, merchantKey }, service) => {
      const proof = await proofFor('/pages')
      const answer = await fetch(urlOf('/pages'), { headers: headersOf(proof) })
      await voidBy(merchantKey, service, proof)
      shop.open.resolve()
      await assert.rejects(answer.text())
    },
  },
  {
    title: 'A lost capture reply is retried with the same key and charges once',
    options: after,
    spent: price,
    play: async ({ proofFor, pay, proxy, shop }) => {
      const proof = await proofFor('/waiting')
      const buying = pay('/waiting', proof)
      await shop.entered.promise
      proxy.set('cut first answers')
      shop.open.resolve()
      const bought = await buying
      assert.deepEqual([bought.status, bought.receipt?.nonce], [200, proof.nonce])
      assert.equal(proxy.cuts(), 1)
      assert.equal(shop.runs, 1)
    },
  },
  {
    title: 'If every capture reply is lost, nothing is delivered, and the same proof gets the goods later',
    options: after,
    spent: '1.25',
    play: async ({ proofFor, pay, proxy, shop, spent }) => {
      const path = '/waiting/metered-1.25'
      const proof = await proofFor(path)
      const buying = pay(path, proof)
      await shop.entered.promise
      proxy.set('cut answers')
      shop.open.resolve()
      const answer = await buying
      assert.deepEqual([answer.status, answer.text], [503, '{"error":"payment_could_not_be_verified"}'])
      assert.equal(await spent(), '1.25', 'the charge stands')
      proxy.set('pass')
      const again = await pay(path, proof)
      assert.deepEqual([again.status, again.receipt?.amount], [200, '1.25'])
      assert.equal((await pay(path, proof)).status, 402)
      assert.equal(shop.runs, 2)
    },
  },
  {
    title: 'After a lost capture reply, a request that costs more gets nothing for the same proof',
    options: after,
    spent: '0.01',
    play: async (purchase) => {
      const { proofFor, pay, shop } = purchase
      const path = '/waiting/measured'
      const proof = await proofFor(path)
      shop.amount = '0.01'
      assert.equal((await payWithoutCaptureReply(purchase, path, proof)).status, 503)
      shop.amount = '3.00'
      const dearer = await pay(path, proof)
      assert.deepEqual([dearer.status, dearer.challenge.reason], [402, 'amount_mismatch'])
      assert.match(dearer.challenge.how_to_pay, /repeat the earlier request/)
      shop.amount = '0.01'
      const again = await pay(path, proof)
      assert.deepEqual([again.status, again.receipt?.amount], [200, '0.01'])
      assert.equal((await pay(path, proof)).status, 402)
      assert.equal(shop.runs, 3)
    },
  },
  {
    title: 'After a lost capture reply for the whole price, a request that meters less gets the goods for it',
    options: after,
    spent: price,
    play: async (purchase) => {
      const { proofFor, pay, shop } = purchase
      const path = '/waiting/measured'
      const proof = await proofFor(path)
      shop.amount = null
      assert.equal((await payWithoutCaptureReply(purchase, path, proof)).status, 503)
      shop.amount = '0.01'
      const again = await pay(path, proof)
      assert.deepEqual([again.status, again.receipt?.amount], [200, price])
      assert.equal((await pay(path, proof)).status, 402)
      assert.equal(shop.runs, 2)
    },
  },
  {
    title: 'If the service is down at the capture, nothing is delivered, and the same proof is charged later',
    options: after,
    spent: price,
    play: async ({ proofFor, pay, proxy, shop, spent }) => {
      const proof = await proofFor('/waiting')
      const buying = pay('/waiting', proof)
      await shop.entered.promise
      proxy.set('down')
      shop.open.resolve()
      const answer = await buying
      assert.equal(answer.status, 503, answer.text)
      assert.equal(answer.text.includes('rows'), false)
      assert.equal(await spent(), '0.00')
      proxy.set('pass')
      assert.equal((await pay('/waiting', proof)).status, 200)
      assert.equal(shop.runs, 2)
    },
  },
  {
    title: 'A payment that is voided or overdue when it should be captured delivers nothing',
    options: after,
    spent: '0.00',
    play: async (purchase, service) => {
      const { merchantKey } = purchase
      const endings: readonly [string, (proof: Proof) => unknown][] = [
        ['authorization_voided', (proof) => voidBy(merchantKey, service, proof)],
        ['authorization_expired', () => (service.clock.nowMs += 600_001)],
      ]
      for (const [reason, end] of endings) {
        const { proof, answer } = await buyWhile(purchase, `/waiting?${reason}`, end)
        assert.deepEqual([answer.status, answer.challenge.reason], [402, reason])
        assert.match(answer.challenge.how_to_pay, /new proof/)
        assert.equal(answer.text.includes('rows'), false)
        const again = await purchase.pay(`/waiting?${reason}`, proof)
        assert.deepEqual([again.status, again.challenge.reason], [402, 'authorization_voided'])
      }
      assert.equal(purchase.shop.runs, 2)
    },
  },
  {
    title: 'A customer who disconnects before the answer is not charged until the same proof comes again',
    options: after,
    spent: price,
    play: async ({ proofFor, pay, shop, urlOf, deserted, spent }, service) => {
      const proof = await proofFor('/waiting')
      const customer = new AbortController()
      const gone = fetch(urlOf('/waiting'), { headers: headersOf(proof), signal: customer.signal })
      await shop.entered.promise
      customer.abort()
      await assert.rejects(gone)
      await deserted()
      shop.open.resolve()
      assert.deepEqual([await fateOf(service, proof), await spent()], ['authorized', '0.00'])
      assert.equal((await pay('/waiting', proof)).status, 200)
      assert.equal((await pay('/waiting', proof)).status, 402)
      assert.equal(shop.runs, 2)
    },
  },
  {
    title:
      'A customer who disconnects three times during the authorization gets the goods with the same proof',
    options: after,
    spent: price,
    play: async (purchase) => {
      const { pay, proxy, shop } = purchase
      const proof = await purchase.proofFor('/data')
      for (let time = 1; time <= 3; time++) {
        await leaveDuringPayment(purchase, proof)
        proxy.set('pass')
      }
      assert.equal((await pay('/data', proof)).status, 200)
      assert.equal(shop.runs, 1)
    },
  },
  {
    title: 'A customer whose connection breaks after the capture gets the goods again, charged once',
    options: after,
    spent: price,
    play: async ({ proofFor, pay, shop, urlOf, deserted }) => {
      const proof = await proofFor('/chapters')
      await killInTheMiddle(urlOf('/chapters'), proof)
      await deserted()
      shop.open.resolve()
      const { status, text } = await pay('/chapters', proof)
      assert.deepEqual([status, text], [200, 'first page,second page'])
      assert.equal((await pay('/chapters', proof)).challenge.reason, 'nonce_reused')
      assert.equal(shop.runs, 2)
    },
  },
]

/** Buys a path whose handler waits, and does something in the meantime. */
async function buyWhile(
  { proofFor, pay, shop }: Purchase,
  path: string,
  happen: (proof: Proof) => unknown,
): Promise<{ proof: Proof; answer: ShopAnswer }> {
  const proof = await proofFor(path)
  shop.wait()
  const buying = pay(path, proof)
  await shop.entered.promise
  await happen(proof)
  shop.open.resolve()
  return { proof, answer: await buying }
}

function headersOf(proof: Proof): Record<string, string> {
  return { 'x-payment-proof': encode(proof), connection: 'close' }
}

async function fateOf(service: TestService, { nonce }: Proof): Promise<string> {
  const { body } = await service.call('GET', `/v1/payments/proofs/${nonce}`)
  return body.status as string
}

async function voidBy(key: string, service: TestService, { nonce }: Proof): Promise<void> {
  const { status } = await service.call('POST', `/v1/payments/${nonce}/void`, { key })
  assert.equal(status, 200)
}

/** Pays for a waiting handler; the reply of the capture is lost. */
async function payWithoutCaptureReply(
  { pay, proxy, shop }: Pick<Purchase, 'pay' | 'proxy' | 'shop'>,
  path: string,
  proof: Proof,
): Promise<ShopAnswer> {
  const buying = pay(path, proof)
  await shop.entered.promise
  proxy.set('cut answers')
  shop.open.resolve()
  const answer = await buying
  proxy.set('pass')
  return answer
}

import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { test } from 'node:test'
import { inspect } from 'node:util'

import { shareTestService } from '../../../../service/testing/shared-service.ts'
import { openMarket } from '../../testing/market.ts'
import { startServer } from '../../testing/scripted-server.ts'
import {
  PaidNotDeliveredError,
  paymentResultOf,
  PaymentNotChargedError,
  PaymentUncertainError,
  Purser,
  resumePayment,
  sendPaidRequest,
  type Proof,
} from '../client.ts'

const service = await shareTestService()

/** The rejection of the promise, which must be an uncertain payment. */
async function uncertain(paying: Promise<Response>): Promise<PaymentUncertainError> {
  const error: unknown = await paying.then(
    async (answer) => assert.fail(`answered ${answer.status}: ${await answer.text()}`),
    (error: unknown) => error,
  )
  assert(error instanceof PaymentUncertainError, inspect(error))
  return error
}

function noncesOf(visits: { readonly nonce: string | undefined }[]): string[] {
  return visits.flatMap(({ nonce }) => nonce ?? [])
}

function runningTimers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
}

const goods = '{"data":[1,2,3]}'
const give = (response: ServerResponse) => void response.writeHead(200).end(goods)

for (const status of [301, 302, 303, 307, 308]) {
  test(`A paid request does not follow a ${status} to another origin, and reports its target`, async (context) => {
    const proofs: unknown[] = []
    const thief = await startServer(context, ({ headers }, response) => {
      proofs.push(headers['x-payment-proof'])
      response.end('mine')
    })
    const { merchant, pay, client } = await openMarket(context, service, {
      beforeVerify: (_request, response) =>
        Boolean(response.writeHead(status, { location: `${thief}/x` }).end()),
    })
    const error = await uncertain(pay()(`${merchant.url}/data`, { method: 'POST', body: 'rain' }))
    assert.deepEqual(proofs, [], 'the other origin got no request')
    assert.deepEqual([error.reason, error.location], ['redirected', `${thief}/x`])
    assert.ok(error.message.includes(`redirects the paid request to ${thief}/x`), error.message)
    const { transaction_id } = await client.payments.getProof(error.nonce)
    assert.equal(transaction_id, null)
  })

  test(`A paid request follows a ${status} within the origin, with the method that fetch would use`, async (context) => {
    const { merchant, pay, budget } = await openMarket(context, service, {
      beforeVerify: ({ url }, response) =>
        url === '/data' && Boolean(response.writeHead(status, { location: '/moved' }).end()),
    })
    const headers = { 'content-type': 'text/plain' }
    const answer = await pay()(`${merchant.url}/data`, { method: 'POST', body: 'rain', headers })
    assert.deepEqual([answer.status, await answer.text()], [200, goods])
    const isKept = status > 303
    const [, , moved] = merchant.visits
    assert.deepEqual([moved?.method, moved?.body], isKept ? ['POST', 'rain'] : ['GET', ''])
    assert.equal(merchant.visits.length, 3)
    assert.deepEqual(await budget(), { spent: '4.00', held: '0.00' })
  })
}

test('A charged redirect to another origin names the address as the place of the goods', async (context) => {
  const { merchant, pay } = await openMarket(context, service, {
    deliver: (_request, response) =>
      void response.writeHead(303, { location: 'https://cdn.example/x' }).end(),
  })
  const error = await uncertain(pay()(merchant.url))
  assert(error instanceof PaidNotDeliveredError)
  assert.match(error.message, /to https:\/\/cdn\.example\/x; .+ was charged .+ there, without the proof/)
})

test('At most five redirects within the origin are followed', async (context) => {
  const { merchant, pay } = await openMarket(context, service, {
    beforeVerify: (_request, response) => Boolean(response.writeHead(302, { location: '/round' }).end()),
  })
  const error = await uncertain(pay()(`${merchant.url}/data`))
  assert.deepEqual([error.reason, error.location], ['redirected', `${merchant.url}/round`])
  assert.equal(noncesOf(merchant.visits).length, 6)
})

test('A redirect to the same host over another scheme, port or with a password is another origin', async (context) => {
  let location = ''
  const { merchant, pay } = await openMarket(context, service, {
    price: '1.00',
    beforeVerify: (_request, response) => Boolean(response.writeHead(307, { location }).end()),
  })
  const { host } = new URL(merchant.url)
  for (const elsewhere of [`https://${host}/`, 'http://127.0.0.1:1/', `http://a:b@${host}/`, 'data:,x']) {
    location = elsewhere
    const error = await uncertain(pay()(merchant.url))
    assert.deepEqual([error.reason, error.location], ['redirected', elsewhere])
  }
  assert.equal(noncesOf(merchant.visits).length, 4)
})

test('With redirect: manual, a redirect of the paid request is returned unchanged', async (context) => {
  const { merchant, pay } = await openMarket(context, service, {
    deliver: (_request, response) =>
      void response.writeHead(303, { location: 'https://cdn.example/x' }).end(),
  })
  const answer = await pay()(merchant.url, { redirect: 'manual' })
  assert.deepEqual([answer.status, answer.headers.get('location')], [303, 'https://cdn.example/x'])
  assert.equal(paymentResultOf(answer)?.status, 'captured')
})

test('A merchant that hangs after the charge causes an error with the proof, and resumePayment gets the goods', async (context) => {
  const controller = new AbortController()
  let runs = 0
  const { merchant, client, pay, budget } = await openMarket(context, service, {
    deliver: (_request, response) => {
      if (++runs > 1) give(response)
      else controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'))
    },
  })
  const order = { method: 'POST', body: 'rain', headers: { 'x-trace': '7' }, signal: controller.signal }
  const error = await uncertain(pay()(`${merchant.url}/data`, order))
  assert.deepEqual([error.name, error.reason, error.status], ['PaymentUncertainError', 'aborted', 'unknown'])
  assert.deepEqual([error.amount, error.currency, error.resource], ['4.00', 'USDC', `${merchant.url}/data`])
  assert.equal(error.proof.nonce, error.nonce)
  assert.equal((error.cause as Error).name, 'TimeoutError')
  assert.equal((await client.payments.getProof(error.nonce)).status, 'captured')

  const answer = await resumePayment(error, { client })
  assert.deepEqual([answer.status, await answer.text()], [200, goods])
  assert.deepEqual(
    merchant.visits.map(({ method, body, nonce }) => [method, body, nonce]),
    [
      ['POST', 'rain', undefined],
      ['POST', 'rain', error.nonce],
      ['POST', 'rain', error.nonce],
    ],
  )
  assert.deepEqual(await budget(), { spent: '4.00', held: '0.00' })
})

test('A proof alone is enough to resume a payment, and is never logged', async (context) => {
  const controller = new AbortController()
  const { merchant, client, pay, budget } = await openMarket(context, service, {
    beforeVerify: () => {
      if (controller.signal.aborted) return false
      controller.abort()
      return true
    },
  })
  const error = await uncertain(pay()(`${merchant.url}/data`, { signal: controller.signal }))
  assert.ok(![inspect(error, { depth: 9 }), JSON.stringify(error)].join().includes(error.proof.signature))
  const proof = JSON.parse(JSON.stringify(error.proof))
  assert.equal(await (await resumePayment(proof, { client })).text(), goods)
  assert.deepEqual(await budget(), { spent: '4.00', held: '0.00' })
})

const passing: [what: string, fail: (request: IncomingMessage, response: ServerResponse) => void][] = [
  ['answers 500', (_, response) => void response.writeHead(500).end('broken')],
  ['answers 503', (_, response) => void response.writeHead(503).end('closed for lunch')],
  ['answers 429', (_, response) => void response.writeHead(429).end()],
  ['drops the connection', (request) => void request.socket.destroy()],
  ['does not answer', () => {}],
]
for (const [what, fail] of passing) {
  for (const when of ['before', 'after'] as const) {
    test(`The same proof is sent again to a merchant that ${what} ${when} the charge, and gets the goods`, async (context) => {
      let failures = 2
      const { merchant, pay, budget } = await openMarket(context, service, {
        beforeVerify: (request, response) => {
          if (when === 'after' || failures-- <= 0) return false
          fail(request, response)
          return true
        },
        deliver: (request, response) => {
          if (when === 'before' || failures-- <= 0) give(response)
          else fail(request, response)
        },
      })
      const answer = await pay({ timeout: what === 'does not answer' ? 300 : 60_000 })(merchant.url)
      assert.deepEqual([answer.status, await answer.text()], [200, goods])
      const nonces = noncesOf(merchant.visits)
      assert.deepEqual([nonces.length, new Set(nonces).size], [3, 1])
      assert.deepEqual(await budget(), { spent: '4.00', held: '0.00' })
    })
  }
}

test('Paid but not delivered is a separate error, with the transaction and the response of the merchant', async (context) => {
  const { merchant, client, pauses, pay, budget } = await openMarket(context, service, {
    deliver: (_, response) => void response.writeHead(500).end('out of paper'),
  })
  const error = await uncertain(pay()(merchant.url))
  assert(error instanceof PaidNotDeliveredError)
  assert.deepEqual([error.reason, error.status, error.response?.status], ['merchant_failed', 'captured', 500])
  assert.equal(await error.response?.text(), 'out of paper')
  assert.equal(error.transactionId, (await client.payments.getProof(error.nonce)).transaction_id)
  assert.match(error.message, /4\.00 USDC was charged \(transaction txn_\w+\)/)
  assert.equal(new Set(noncesOf(merchant.visits)).size, 1)
  assert.deepEqual(pauses, [1_100, 3_200, 5_400, 5_800], 'time to recover')
  assert.deepEqual(await budget(), { spent: '4.00', held: '0.00' })
})

test('Any response without goods after the charge is also paid but not delivered', async (context) => {
  const { merchant, pay } = await openMarket(context, service, {
    deliver: (_, response) => void response.writeHead(404).end('no such report'),
  })
  const error = await uncertain(pay()(merchant.url))
  assert(error instanceof PaidNotDeliveredError)
  assert.deepEqual([error.reason, await error.response?.text()], ['refused', 'no such report'])
  assert.equal(noncesOf(merchant.visits).length, 1)
})

test('A temporary failure whose body breaks during the pause is retried like any other', async (context) => {
  let failures = 2
  const broken = Promise.withResolvers<void>()
  const { merchant, pay, budget } = await openMarket(context, service, {
    deliver: (_, response) => {
      if (failures-- === 0) {
        response.end('goods')
        return
      }
      response.writeHead(503, { 'content-length': '1000' }).write('x')
      setTimeout(() => response.destroy(), 10)
      response.once('close', () => setTimeout(broken.resolve, 20))
    },
  })
  const answer = await pay({ sleep: () => broken.promise })(merchant.url)
  assert.deepEqual([answer.status, await answer.text()], [200, 'goods'])
  assert.equal(new Set(noncesOf(merchant.visits)).size, 1)
  assert.deepEqual(await budget(), { spent: '4.00', held: '0.00' })
})

test('A 402 whose body breaks while the proof is requested is paid', async (context) => {
  const broken = Promise.withResolvers<void>()
  const { merchant, pay, budget } = await openMarket(context, service)
  const breakBody: typeof fetch = async (input, init) => {
    const answer = await fetch(input, init)
    if (answer.status !== 402) return answer
    const body = new ReadableStream({
      start: (controller) => {
        setTimeout(() => {
          controller.error(new TypeError('terminated'))
          broken.resolve()
        }, 10)
      },
    })
    return new Response(body, answer)
  }
  const answer = await pay({ onDecision: () => broken.promise }, breakBody)(merchant.url)
  assert.equal(answer.status, 200)
  assert.deepEqual(await budget(), { spent: '4.00', held: '0.00' })
})

test('Retry-After is honored within the window of the proof, but not beyond', async (context) => {
  const asked = ['7', '290', '301']
  const { merchant, pauses, pay } = await openMarket(context, service, {
    beforeVerify: (_, response) =>
      Boolean(response.writeHead(503, { 'retry-after': asked.shift() ?? '0' }).end()),
  })
  const error = await uncertain(pay()(merchant.url))
  assert.deepEqual(pauses, [7_100, 290_200])
  assert.equal(noncesOf(merchant.visits).length, 3)
  assert.deepEqual([error.name, error.status], ['PaymentUncertainError', 'open'])
})

test('The signal of the request ends the wait between attempts', async (context) => {
  const controller = new AbortController()
  const { merchant, pay } = await openMarket(context, service, {
    beforeVerify: (request) => Boolean(request.socket.destroy()),
  })
  const sleep = (_milliseconds: number, signal?: AbortSignal) => {
    controller.abort(new Error('enough'))
    return signal?.aborted ? Promise.reject(signal.reason as Error) : Promise.resolve()
  }
  const error = await uncertain(pay({ sleep })(merchant.url, { signal: controller.signal }))
  assert.deepEqual([error.reason, (error.cause as Error).message], ['aborted', 'enough'])
  assert.equal(merchant.visits.length, 2)
})

test('Without any response, the error has the nonce for looking up the payment', async (context) => {
  const { merchant, client, decisions, pay } = await openMarket(context, service, {
    deliver: (request) => void request.socket.destroy(),
  })
  const error = await uncertain(pay({ maxRetries: 0 })(merchant.url))
  assert.deepEqual(
    decisions.map((one) => one.outcome === 'approved' && one.nonce),
    [error.nonce],
  )
  assert.ok(error.cause instanceof Error)
  const { status, amount } = await client.payments.getProof(error.nonce)
  assert.deepEqual([status, amount], ['captured', '4.00'])
})

test('A proof that expired before the merchant answered causes an error that says nothing was charged', async (context) => {
  const { merchant, pay, budget } = await openMarket(context, service, {
    beforeVerify: (request) => {
      service.clock.nowMs += 2 * 60_000
      return Boolean(request.socket.destroy())
    },
  })
  const error = await uncertain(pay()(merchant.url))
  assert(error instanceof PaymentNotChargedError)
  assert.match(error.message, /; nothing was charged \(/)
  assert.equal((await budget()).spent, '0.00')
})

test('If the state of the proof is unknown, the error says that it may be charged', async (context) => {
  const { merchant, client, pay } = await openMarket(context, service, {
    deliver: (_, response) => void response.writeHead(500).end(),
  })
  const payments = { ...client.payments, getProof: () => Promise.reject(new Error('down')) }
  const error = await uncertain(pay({ client: { policy: client.policy, payments } })(merchant.url))
  assert.deepEqual([error.name, error.status], ['PaymentUncertainError', 'unknown'])
  assert.match(error.message, /may have been charged/)
})

/** A proxy that answers in place of the service when it is asked about a proof. */
const fetchBehindProxy: typeof fetch = async (input, init) =>
  typeof input === 'string' && input.includes('/proofs/')
    ? Response.json({ status: 'expired' })
    : fetch(input, init)

test('An answer that is not about the proof leaves its state unknown', async (context) => {
  const { merchant, pay, apiKey } = await openMarket(context, service, {
    beforeVerify: (request, response) =>
      request.url === '/refuses' && Boolean(response.writeHead(404).end('gone')),
  })
  const buy = pay({ client: new Purser({ apiKey, baseUrl: service.url, fetch: fetchBehindProxy }) })
  const error = await uncertain(buy(`${merchant.url}/refuses`))
  assert.deepEqual([error.name, error.status], ['PaymentUncertainError', 'unknown'])
  const result = paymentResultOf(await buy(`${merchant.url}/data`))
  assert.deepEqual([result?.delivered, result?.status, result?.charged_amount], [true, 'unknown', null])
})

test('Interrupted goods reject with an error that has the payment', async (context) => {
  const { merchant, pay } = await openMarket(context, service, {
    deliver: (_, response) => {
      response.writeHead(200, { 'content-length': '1000' })
      response.write('half', () => response.destroy())
    },
  })
  const answer = await pay()(merchant.url)
  assert.equal(answer.url, `${merchant.url}/`)
  const error = await uncertain(answer.text().then(() => answer))
  assert(error instanceof PaidNotDeliveredError)
  assert.equal(error.reason, 'incomplete')
})

test('A send that throws, instead of rejecting, is a failed attempt, and leaves no timer that keeps the process alive', async () => {
  const before = runningTimers()
  const shown = await sendPaidRequest<Response>({
    proof: { resource: 'https://api.example.com/' } as Proof,
    method: 'GET',
    maxRetries: 0,
    send: () => {
      throw new TypeError('no such proxy')
    },
    read: ({ status, headers }) => ({ status, header: (name) => headers.get(name) }),
  })
  assert.equal(shown.outcome === 'failed' && String(shown.error), 'TypeError: no such proxy')
  assert.equal(runningTimers(), before)
})

test('The result of a response has the transaction, from the receipt or from the service', async (context) => {
  const { merchant, client, pay } = await openMarket(context, service)
  const answer = await pay()(merchant.url)
  const result = paymentResultOf(answer)
  assert(result)
  const { status, transaction_id } = await client.payments.getProof(result.nonce)
  assert.deepEqual([result.status, result.transaction_id], [status, transaction_id])
  assert.deepEqual([result.amount, result.resource], ['4.00', `${merchant.url}/`])
  assert.equal(paymentResultOf(await fetch(`${service.url}/healthz`)), undefined)
})

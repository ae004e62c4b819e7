import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'

import type { Proof } from '@purser/client'

import { shareTestService } from '../../../service/testing/shared-service.ts'
import { adapters } from '../testing/adapters.ts'
import { encode, openShop, price } from '../testing/purchase.ts'

const service = await shareTestService()

/** Sends a request as text, and returns everything that comes back until the connection closes. */
function sendRaw(url: string, text: string): Promise<string> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname)
    let received = ''
    socket.setEncoding('latin1').setTimeout(5_000, () => socket.destroy())
    socket.on('data', (piece: string) => (received += piece))
    socket.on('error', () => undefined).on('close', () => resolve(received))
    socket.write(text)
  })
}

/** How many times goods are in what was received. */
function goodsIn(received: string): number {
  return received.split('"goods"').length - 1
}

// Whatever a customer sends, goods that are delivered are charged, once.
for (const adapter of adapters) {
  for (const capture of ['after', 'metered'] as const) {
    test(`Unusual requests get no free goods (${adapter.name}, ${capture})`, async (context) => {
      const { proofFor, urlOf, shop, spent } = await openShop(context, service, adapter, { capture })
      const proof = await proofFor('/data')
      const header = encode(proof)
      const request = (method: string, more = '', path = '/data') =>
        `${method} ${path} HTTP/1.1\r\nHost: api.example.com\r\nX-Payment-Proof: ${header}\r\nConnection: close\r\n${more}\r\n`
      const probes: Readonly<Record<string, string>> = {
        HEAD: request('HEAD'),
        OPTIONS: request('OPTIONS'),
        'a method override': request('POST', 'X-HTTP-Method-Override: GET\r\nContent-Length: 0\r\n'),
        'HTTP/1.0': request('HEAD').replace('HTTP/1.1', 'HTTP/1.0'),
        'a trace': request('TRACE'),
        'two proofs': request('GET', `X-Payment-Proof: ${header}\r\n`, '/data?two'),
        'another query': request('GET', '', '/data?other'),
      }
      let deliveries = 0
      const paidFor = async () => Number(await spent()) / Number(price)
      for (const [name, probe] of Object.entries(probes)) {
        const answer = await sendRaw(urlOf('/'), probe)
        deliveries += goodsIn(answer)
        assert.equal(await paidFor(), deliveries, `${name}: ${answer}`)
      }
      // Conditional and partial requests, many at once, with one proof.
      const kinds = [
        'Range: bytes=0-3\r\n',
        'If-None-Match: *\r\n',
        'Expect: 100-continue\r\n',
        'TE: trailers\r\n',
      ]
      const answers = await Promise.all(
        kinds.flatMap((more) => [
          sendRaw(urlOf('/'), request('GET', more)),
          sendRaw(urlOf('/'), request('GET', more)),
        ]),
      )
      const raced = answers.reduce((sum, answer) => sum + goodsIn(answer), 0)
      assert.deepEqual([deliveries + raced, await paidFor()], [1, 1], answers.join('\n'))
      assert.equal(shop.runs, 1)
    })
  }

  test(`A pipelined pair of requests with one proof is charged and delivered once (${adapter.name})`, async (context) => {
    const { proofFor, urlOf, spent } = await openShop(context, service, adapter, { capture: 'after' })
    const proof = await proofFor('/data')
    const one = `GET /data HTTP/1.1\r\nHost: api.example.com\r\nX-Payment-Proof: ${encode(proof)}\r\n`
    const answer = await sendRaw(urlOf('/'), `${one}\r\n${one}Connection: close\r\n\r\n`)
    assert.equal(goodsIn(answer), 1, answer)
    assert.equal(await spent(), '4.00')
  })

  test(`A customer who half-closes the connection is charged for what arrives (${adapter.name})`, async (context) => {
    const { proofFor, urlOf, spent, pay } = await openShop(context, service, adapter, { capture: 'after' })
    const proof = await proofFor('/data')
    const { hostname, port } = new URL(urlOf('/'))
    const received = await new Promise<string>((resolve) => {
      const socket = connect(Number(port), hostname)
      let text = ''
      socket.setEncoding('latin1').on('data', (piece: string) => (text += piece))
      socket.on('error', () => undefined).on('close', () => resolve(text))
      socket.setTimeout(5_000, () => socket.destroy())
      socket.end(
        `GET /data HTTP/1.1\r\nHost: api.example.com\r\nX-Payment-Proof: ${encode(proof)}\r\nConnection: close\r\n\r\n`,
      )
    })
    if (goodsIn(received) > 0) assert.equal(await spent(), '4.00')
    const again = await pay('/data', proof)
    assert.equal(goodsIn(received) + goodsIn(again.text), 1)
    assert.equal(await spent(), '4.00')
  })
}

// A Fetch-style handler does not see that its response waits behind another one.
for (const adapter of adapters.filter(({ name }) => !/Hono|Fetch/.test(name))) {
  test(`A customer who leaves before a pipelined request has its turn is not charged for it (${adapter.name})`, async (context) => {
    const { proofFor, urlOf, shop, deserted, pay } = await openShop(context, service, adapter, {
      capture: 'metered',
    })
    const [first, second] = [await proofFor('/waiting'), await proofFor('/pages')]
    const { hostname, port } = new URL(urlOf('/'))
    const socket = connect(Number(port), hostname)
    for (const proof of [first, second]) {
      const { pathname } = new URL(proof.resource)
      socket.write(
        `GET ${pathname} HTTP/1.1\r\nHost: api.example.com\r\nX-Payment-Proof: ${encode(proof)}\r\n\r\n`,
      )
    }
    await shop.entered.promise
    const fateOf = async ({ nonce }: Proof) =>
      (await service.call('GET', `/v1/payments/proofs/${nonce}`)).body.status
    for (let look = 0; look < 20 && shop.runs < 2; look++) await fateOf(second)
    socket.destroy()
    await deserted()
    shop.open.resolve()
    const { status, text } = await pay('/pages', second)
    assert.deepEqual([status, text], [200, 'first page,second page'])
  })
}

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

import type { TestService } from '../../../service/testing/service.ts'
import { Purser, type Proof } from '../src/client.ts'

export const merchantDomain = '127.0.0.1'

export interface MerchantOptions {
  readonly price?: string
  /** Fields that override those of the next challenge. */
  readonly challenge?: () => Record<string, unknown>
  /** Omits the challenge header, so that the body must be read. */
  readonly isBodyOnly?: boolean
  /** Called with each request that has a proof, before verification; true if it has answered. */
  readonly beforeVerify?: (request: IncomingMessage, response: ServerResponse) => boolean
  /** Writes the goods. */
  readonly deliver?: (request: IncomingMessage, response: ServerResponse) => Promise<void> | void
}

/** A merchant on a real port that sells everything at one price, and delivers again for the same proof. */
export interface TestMerchant {
  readonly url: string
  /** The received requests, with the nonce of each proof, and the body. */
  readonly visits: { method: string; nonce: string | undefined; body: string }[]
}

/** Starts a merchant for one test that collects with the service's own key. */
export async function startMerchant(
  context: { readonly after: (stop: () => Promise<void>) => void },
  service: TestService,
  {
    price = '4.00',
    challenge = () => ({}),
    isBodyOnly = false,
    beforeVerify,
    deliver = giveData,
  }: MerchantOptions = {},
): Promise<TestMerchant> {
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const visits: TestMerchant['visits'] = []

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const shown = request.headers['x-payment-proof']
    const proof = shown === undefined ? undefined : decode(String(shown))
    visits.push({ method: request.method ?? '', nonce: proof?.nonce, body: await text(request) })
    const asked = challengeFor(url + (request.url ?? ''))
    if (!proof) return demand(response, asked)
    if (beforeVerify?.(request, response)) return
    const charge = { proof, merchant_domain: merchantDomain, expected_amount: price }
    const verdict = await purser.payments.verify(charge, { idempotencyKey: proof.nonce })
    if (!verdict.verified) return demand(response, { ...asked, reason: verdict.reason })
    await deliver(request, response)
  }

  function challengeFor(resource: string): Record<string, unknown> {
    const offer = { amount: price, currency: 'USDC', resource, merchant_domain: merchantDomain }
    return { error: 'payment_required', scheme: 'svc-sandbox', network: 'sandbox', ...offer, ...challenge() }
  }

  function demand(response: ServerResponse, asked: Record<string, unknown>): void {
    const json = JSON.stringify(asked)
    if (!isBodyOnly) response.setHeader('x-payment-challenge', Buffer.from(json).toString('base64url'))
    response.writeHead(402, { 'content-type': 'application/json' }).end(json)
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  context.after(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return { url, visits }
}

function giveData(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":[1,2,3]}')
}

function decode(header: string): Proof {
  return JSON.parse(Buffer.from(header, 'base64url').toString()) as Proof
}

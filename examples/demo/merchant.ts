import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A merchant: an ordinary HTTP server that delivers only for a proof that Purser has verified. */
interface MerchantOptions {
  /** The domain that customers know, registered as a seller. */
  readonly domain: string
  readonly goods: Readonly<Record<string, { readonly price: string; readonly content: object }>>
  readonly serviceUrl: string
  /** A key with the role `merchant`. */
  readonly key: string
  readonly fetch?: typeof fetch
}

type Verdict = { paid: true } | { paid: false; status: 402 | 503; error: string }

const timeoutMs = 2_000
const attempts = 2

export type Merchant = Awaited<ReturnType<typeof openMerchant>>

/** Starts the merchant's server on a free local port. */
export async function openMerchant(options: MerchantOptions) {
  const { domain, goods, serviceUrl, key, fetch = globalThis.fetch } = options

  const server = createServer((request, response) => {
    void answer(request.url ?? '/', request.headers['x-payment-proof'])
      .catch(() => ({ status: 500, body: { error: 'internal_error' } })) // If in doubt, nothing is delivered.
      .then(({ status, body }) =>
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
      )
  })

  async function answer(path: string, header: string | string[] | undefined) {
    const item = Object.hasOwn(goods, path) ? goods[path] : undefined
    if (!item) return { status: 404, body: { error: 'not_found' } }
    const challenge = {
      amount: item.price,
      currency: 'USDC',
      resource: `https://${domain}${path}`,
      merchant_domain: domain,
      how_to_pay: 'Repeat the request with X-Payment-Proof: base64url of the JSON of a Purser proof.',
    }
    if (header === undefined) return { status: 402, body: challenge }
    const proof = decode(String(header))
    if (proof?.resource !== challenge.resource) {
      return { status: 402, body: { error: 'proof_for_something_else', ...challenge } }
    }
    const verdict = await verify(proof, item.price)
    if (verdict.paid) return { status: 200, body: item.content }
    return { status: verdict.status, body: { error: verdict.error, ...challenge } }
  }

  /** Collects the payment. Anything but a clear "verified" means not paid. */
  async function verify(proof: object, price: string): Promise<Verdict> {
    // One key per customer request: a retry gets the first response again, a replayed proof does not.
    const idempotencyKey = randomUUID()
    for (let attempt = 1; attempt <= attempts; attempt++) {
      try {
        const response = await fetch(`${serviceUrl}/v1/payments/verify`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${key}`,
            'content-type': 'application/json',
            'idempotency-key': idempotencyKey,
          },
          body: JSON.stringify({ proof, merchant_domain: domain, expected_amount: price }),
          signal: AbortSignal.timeout(timeoutMs),
        })
        const body = (await response.json()) as { verified?: boolean; reason?: string; detail?: unknown }
        if (response.status === 200 && body.verified === true) return { paid: true }
        if (response.status < 500) {
          return { paid: false, status: 402, error: String(body.reason ?? body.detail) }
        }
      } catch {
        // A lost response does not reveal the outcome, so the same request is sent again.
      }
    }
    return { paid: false, status: 503, error: 'payment_could_not_be_verified' }
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve)
  })
  return {
    domain,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function decode(header: string): { resource?: unknown } | undefined {
  try {
    return JSON.parse(Buffer.from(header, 'base64url').toString()) as { resource?: unknown }
  } catch {
    return undefined
  }
}

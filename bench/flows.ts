/** The repeated operations of the clients. */
export const flows = ['verify', 'proof', 'lifecycle', 'evaluate', 'verify-agent'] as const
export type Flow = (typeof flows)[number]

/** The mandates used: all of them in turn, or only the first one. */
export const spreads = ['uniform', 'hot'] as const
export type Spread = (typeof spreads)[number]

/** The buyer: one agent under its mandate. */
export interface Purchase {
  readonly agentId: string
  readonly mandateId: string
}

/** The target of requests, and their key. */
export interface Target {
  readonly port: number
  readonly key: string
  readonly purchases: readonly Purchase[]
}

export const merchantDomain = 'api.example.com'
const resourceUrl = 'https://api.example.com/v1/reports/2026-11'

/** The amount of every payment: one unit of the currency, so that sums are easy to count. */
export const amount = '1.00'

/** A request and its expected result. */
export interface Exchange {
  readonly request: Buffer
  readonly status: number
  /** What the response's body leads to before the operation is complete. */
  readonly follow?: (body: string) => Exchange | undefined
}

/** Serializes requests to a service. */
export function requestsTo({ port, key }: Pick<Target, 'port' | 'key'>) {
  return (path: string, body: string): Buffer =>
    Buffer.from(
      `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${key}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    )
}

/** The requests of the flows to one target, serialized in advance. */
export function prepareExchanges(target: Target) {
  const { purchases } = target
  const post = requestsTo(target)

  function payment({ agentId, mandateId }: Purchase) {
    return { agent_id: agentId, mandate_id: mandateId, amount, currency: 'USDC', resource_url: resourceUrl }
  }

  function proposal(purchase: Purchase): string {
    return JSON.stringify({ ...payment(purchase), merchant_domain: merchantDomain, category: 'data' })
  }

  const proofs = purchases.map((purchase) => post('/v1/payments/proof', JSON.stringify(payment(purchase))))
  const verifyHead = '{"proof":'
  const verifyTail = `,"merchant_domain":"${merchantDomain}","expected_amount":"${amount}"}`

  return {
    /** The proof requests of each purchase. */
    proof: proofs.map((request): Exchange => ({ request, status: 201 })),
    evaluate: purchases.map((purchase): Exchange => ({
      request: post('/v1/policy/evaluate', proposal(purchase)),
      status: 200,
    })),
    'verify-agent': purchases.map((purchase): Exchange => ({
      request: post('/v1/verify-agent', proposal(purchase)),
      status: 200,
    })),

    /** Verifies a proof, given the response that contains it: `{"proof":{…}}`. */
    verify(body: string): Exchange {
      const proof = body.slice('{"proof":'.length, -1)
      return { request: post('/v1/payments/verify', verifyHead + proof + verifyTail), status: 200 }
    },
  }
}

export type Exchanges = ReturnType<typeof prepareExchanges>

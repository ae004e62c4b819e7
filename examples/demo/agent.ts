/** An agent: its key can request payments within its mandate and nothing else. */
interface AgentOptions {
  readonly serviceUrl: string
  /** A key with the role `agent`. */
  readonly key: string
  readonly agentId: string
  readonly mandateId: string
  readonly fetch?: typeof fetch
}

/** A merchant's challenge in a 402 response. */
interface Challenge {
  readonly amount: string
  readonly currency: string
  readonly resource: string
  readonly merchant_domain: string
}

/** A signed promise of one payment, passed on unmodified. */
export type Proof = Readonly<Record<string, string>>

export interface Answer<Body = Readonly<Record<string, unknown>>> {
  readonly status: number
  readonly body: Body
}

const timeoutMs = 5_000

export type Agent = ReturnType<typeof createAgent>

/** An agent that buys, and the steps of a purchase. */
export function createAgent(options: AgentOptions) {
  const { serviceUrl, key, agentId, mandateId, fetch = globalThis.fetch } = options

  /** Buys what is at the URL. The last response is the goods (200), or the first refusal. */
  async function buy(address: string): Promise<Answer & { proof?: Proof }> {
    const challenge = await askPrice(address)
    const report = await preflight(challenge)
    if (report.body['authorized'] !== true) return report
    const decision = await evaluate(challenge)
    if (decision.body['decision'] !== 'approved') return decision
    const granted = await requestProof(challenge)
    if (granted.status !== 201) return granted
    const proof = granted.body['proof'] as Proof
    return { ...(await present(address, proof)), proof }
  }

  /** 1. Requests the resource without paying, to learn its price. */
  async function askPrice(address: string): Promise<Challenge> {
    const { status, body } = await get(address)
    if (status !== 402) throw new Error(`${address} answered ${status}, not 402 Payment Required`)
    return body as unknown as Challenge
  }

  /** 2. Would this payment be allowed? Asking changes nothing. */
  const preflight = (challenge: Challenge) => post('/v1/verify-agent', proposed(challenge))

  /** 3. The decision, which is recorded. */
  const evaluate = (challenge: Challenge) => post('/v1/policy/evaluate', proposed(challenge))

  /** 4. A signed proof. Its amount is held until the proof is used or expires. */
  const requestProof = ({ amount, currency, resource }: Omit<Challenge, 'merchant_domain'>) =>
    post('/v1/payments/proof', {
      agent_id: agentId,
      mandate_id: mandateId,
      amount,
      currency,
      resource_url: resource,
    })

  /** 5. The first request again, now with the proof. */
  const present = (address: string, proof: Proof) =>
    get(address, { 'X-Payment-Proof': Buffer.from(JSON.stringify(proof)).toString('base64url') })

  function proposed({ amount, currency, resource, merchant_domain }: Challenge) {
    const payment = { agent_id: agentId, mandate_id: mandateId, merchant_domain, amount, currency }
    return { ...payment, resource_url: resource }
  }

  async function get(address: string, headers: Record<string, string> = {}): Promise<Answer> {
    const response = await fetch(address, { headers, signal: AbortSignal.timeout(timeoutMs) })
    return { status: response.status, body: (await response.json()) as Answer['body'] }
  }

  async function post(path: string, body: object): Promise<Answer> {
    const response = await fetch(serviceUrl + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(timeoutMs),
    })
    return { status: response.status, body: (await response.json()) as Answer['body'] }
  }

  return { buy, askPrice, preflight, evaluate, requestProof, present }
}

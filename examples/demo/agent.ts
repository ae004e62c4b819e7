/** An agent: it holds a key that can ask for payments within its mandate, and do nothing else. */
interface AgentOptions {
  readonly serviceUrl: string
  /** A key of the role `agent`. */
  readonly key: string
  readonly agentId: string
  readonly mandateId: string
  readonly fetch?: typeof fetch
}

/** What a merchant asks for in its 402 answer. */
interface Challenge {
  readonly amount: string
  readonly currency: string
  readonly resource: string
  readonly merchant_domain: string
}

/** A signed promise of one payment. It is passed on exactly as it came. */
export type Proof = Readonly<Record<string, string>>

export interface Answer<Body = Readonly<Record<string, unknown>>> {
  readonly status: number
  readonly body: Body
}

const timeoutMs = 5_000

export type Agent = ReturnType<typeof createAgent>

/** An agent that buys, and the single steps that a purchase is made of. */
export function createAgent(options: AgentOptions) {
  const { serviceUrl, key, agentId, mandateId, fetch = globalThis.fetch } = options

  /** Buys what lies at the address. The last answer is the goods (200), or the first "no" on the way. */
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

  /** 1. Asks for the thing without paying, to learn its price. */
  async function askPrice(address: string): Promise<Challenge> {
    const { status, body } = await get(address)
    if (status !== 402) throw new Error(`${address} answered ${status}, not 402 Payment Required`)
    return body as unknown as Challenge
  }

  /** 2. Would this payment be allowed? Asking changes nothing. */
  const preflight = (challenge: Challenge) => post('/v1/verify-agent', proposed(challenge))

  /** 3. The decision, which goes on record. */
  const evaluate = (challenge: Challenge) => post('/v1/policy/evaluate', proposed(challenge))

  /** 4. A signed proof. Its amount is set aside in the budget until the proof is used or expires. */
  const requestProof = ({ amount, currency, resource }: Omit<Challenge, 'merchant_domain'>) =>
    post('/v1/payments/proof', {
      agent_id: agentId,
      mandate_id: mandateId,
      amount,
      currency,
      resource_url: resource,
    })

  /** 5. The same request as the first, now with the proof. */
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

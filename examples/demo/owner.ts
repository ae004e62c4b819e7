/** An owner: the account holder, who decides what its agents may spend. Owners have the powerful keys. */
interface OwnerOptions {
  readonly serviceUrl: string
  /** A key with the role `owner` or `operator`. */
  readonly key: string
  readonly fetch?: typeof fetch
}

export interface Mandate {
  readonly id: string
  readonly max_spend_total: string
  readonly spent_total: string
  readonly held_total: string
  readonly remaining_budget: string
}

const timeoutMs = 5_000

export type Owner = ReturnType<typeof createOwner>

/** The owner's requests in this demo. */
export function createOwner({ serviceUrl, key, fetch = globalThis.fetch }: OwnerOptions) {
  async function call<Body>(method: string, path: string, body?: object): Promise<Body> {
    const response = await fetch(serviceUrl + path, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: body ? JSON.stringify(body) : null,
      signal: AbortSignal.timeout(timeoutMs),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`)
    return JSON.parse(text) as Body
  }

  return {
    createAgent: (agent: { name: string; capabilities: string[] }) =>
      call<{ id: string }>('POST', '/agents', agent),

    /** The mandate: who may spend how much, at which sellers, until when. */
    createMandate: (mandate: {
      agent_id: string
      purpose: string
      max_spend_total: string
      max_spend_per_transaction: string
      allowed_sellers: string[]
      expires_at: string
    }) => call<Mandate>('POST', '/mandates', mandate),

    /** A restricted key for others: `agent` may only spend, `merchant` may only collect. */
    issueKey: (key: { role: 'agent' | 'merchant'; agent_id?: string }) =>
      call<{ key: string }>('POST', '/accounts/api-keys', { ...key, environment: 'sandbox' }),

    /** A new tenant with its own owner keys (for operators). */
    createAccount: (account: { name: string; email: string; idp_user_id: string }) =>
      call<{ api_keys: { key: string; environment: string }[] }>('POST', '/accounts', account),

    registerSeller: (seller: { name: string; domain: string; price_config: object }) =>
      call<{ id: string }>('POST', '/sellers', seller),

    readMandate: (id: string) => call<Mandate>('GET', `/mandates/${id}`),
    readProof: (nonce: string) => call<{ status: string }>('GET', `/v1/payments/proofs/${nonce}`),
    listPayments: () => call<{ amount: string }[]>('GET', '/v1/transactions?status=paid'),
    listPaymentEvents: () => call<object[]>('GET', '/v1/audit-log?type=payment.verified'),

    /** The emergency stop: permanent, and it voids the agent's open proofs. */
    revokeAgent: (id: string) => call<{ status: string }>('PATCH', `/agents/${id}/revoke`),
  }
}

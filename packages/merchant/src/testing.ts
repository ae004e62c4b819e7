import type { AgentReport, Proof } from '@purser/client'

import type { Challenge } from './challenge.ts'
import type { PaymentClient } from './client.ts'

export interface TestPurserOptions {
  /** Milliseconds since 1970; advance it to let a proof expire. Default `Date.now`. */
  readonly now?: () => number
  /** The secret that signs proofs; default random. Never use one of a real service. */
  readonly secret?: string
}

/** A charge made by the test Purser. */
export interface TestCharge {
  readonly transactionId: string
  readonly nonce: string
  readonly amount: string
  readonly resource: string
  readonly merchantDomain: string
}

export interface TestPurser {
  /** Pass this as the option `client` of `requirePayment`. */
  readonly client: PaymentClient
  /** A signed proof for a challenge; `changes` are applied before it is signed. */
  readonly issueProof: (
    challenge: Pick<Challenge, 'amount' | 'resource'>,
    changes?: Partial<Omit<Proof, 'signature'>>,
  ) => Promise<Proof>
  /** The charges, in order. */
  readonly charges: readonly TestCharge[]
  /** Makes verifications fail with this error before they charge, like a service that is down. */
  readonly failVerifications: (error?: unknown) => void
  /** Ends `failVerifications`. */
  readonly answerAgain: () => void
}

/** Max distance of a proof's timestamp from now. */
const validityWindowMs = 5 * 60_000

/**
 * An in-memory Purser for testing a shop without a service. It signs proofs with its own secret, and verifies
 * them like the service: window, amount, signature, nonce, and retries with the same idempotency key. It has
 * no mandates, budgets or sellers: every agent may pay, and every merchant may collect.
 *
 * @example
 * const purser = createTestPurser()
 * const server = createServer(requirePayment({ client: purser.client, merchantDomain, price: '4.00' }, handler))
 * const proof = await purser.issueProof(await (await fetch(url)).json())
 * const answer = await fetch(url, { headers: { 'x-payment-proof': proofHeader(proof) } })
 */
export function createTestPurser({
  now = Date.now,
  secret = crypto.randomUUID(),
}: TestPurserOptions = {}): TestPurser {
  const charges: TestCharge[] = []
  const keys = new Map<string, string | undefined>()
  let failure: { readonly error: unknown } | undefined

  const verify: PaymentClient['payments']['verify'] = async (request, options) => {
    if (failure) throw failure.error
    const { proof, merchant_domain: merchantDomain } = request
    const { nonce, amount, resource } = proof
    const fault = await contentFault(request)
    const isInTime = Math.abs(now() - Date.parse(proof.timestamp)) <= validityWindowMs
    // No await from here on, so that concurrent requests are charged once.
    const charged = charges.find((charge) => charge.nonce === nonce)
    const idempotencyKey = options?.idempotencyKey
    const isRetry =
      charged !== undefined && idempotencyKey !== undefined && keys.get(nonce) === idempotencyKey
    if (!isInTime && (fault || !isRetry)) return { verified: false, reason: 'proof_expired' } // 1
    if (fault) return { verified: false, reason: fault } // 2, 3
    if (isRetry) return { verified: true, transaction_id: charged.transactionId, replayed: true }
    if (charged) return { verified: false, reason: 'nonce_reused' } // 4
    const transactionId = `txn_test_${charges.length + 1}`
    charges.push({ transactionId, nonce, amount, resource, merchantDomain })
    keys.set(nonce, idempotencyKey)
    return { verified: true, transaction_id: transactionId, replayed: false }
  }

  /** Steps 2 and 3 of a verification. */
  async function contentFault({
    proof,
    expected_amount: amount,
    expected_currency: currency = 'USDC',
  }: Parameters<typeof verify>[0]) {
    if (proof.amount !== amount || proof.currency !== currency) return 'amount_mismatch'
    const { signature, ...unsigned } = proof
    return signature === (await sign(unsigned, secret)) ? undefined : 'invalid_signature'
  }

  return {
    client: { payments: { verify }, verifyAgent: async (request) => reportOf(request) },
    issueProof: async ({ amount, resource }, changes = {}) => {
      const unsigned = {
        scheme: 'svc-sandbox',
        network: 'sandbox',
        agentId: 'agent_test',
        mandateId: 'mandate_test',
        amount,
        currency: 'USDC',
        resource,
        nonce: crypto.randomUUID(),
        timestamp: new Date(now()).toISOString().replace('Z', '+00:00'),
        ...changes,
      } as const
      return { ...unsigned, signature: await sign(unsigned, secret) }
    },
    charges,
    failVerifications: (error = new Error('the service is down')) => (failure = { error }),
    answerAgain: () => (failure = undefined),
  }
}

/**
 * The value of `X-Payment-Proof` for a proof: base64url of its JSON.
 *
 * @example
 * await fetch(url, { headers: { 'x-payment-proof': proofHeader(proof) } })
 */
export function proofHeader(proof: Proof): string {
  const bytes = new TextEncoder().encode(JSON.stringify(proof))
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

/** HMAC-SHA256 over the fields sorted by name, like the service. */
async function sign(unsigned: object, secret: string): Promise<string> {
  const encoder = new TextEncoder()
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('raw', encoder.encode(secret), algorithm, false, ['sign'])
  const fields = Object.entries(unsigned).sort(([left], [right]) => (left < right ? -1 : 1))
  const text = JSON.stringify(Object.fromEntries(fields))
  const signature = await crypto.subtle.sign('HMAC', key, encoder.encode(text))
  return Array.from(new Uint8Array(signature), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** The result of the pre-flight check for every agent. */
function reportOf({ agent_id, mandate_id }: Parameters<PaymentClient['verifyAgent']>[0]): AgentReport {
  return {
    verified: true,
    authorized: true,
    payment_ready: true,
    agent: { id: agent_id, name: 'test agent', capabilities: [], status: 'active' },
    mandate: {
      id: mandate_id,
      purpose: 'tests',
      currency: 'USDC',
      remaining_budget: '1000000.00',
      expires_at: '2099-01-01T00:00:00Z',
    },
    risk: { score: 0, flags: [] },
    recommendation: 'accept',
    reason_code: 'within_policy',
  }
}

import type { AgentReport, Proof } from '@purser/client'

import type { Challenge } from './challenge.ts'
import type { CapturingClient, PaymentClient } from './client.ts'
import {
  createTestRecords,
  type TestAuthorization,
  type TestCharge,
  type TestRefund,
} from './test-records.ts'

export type { TestAuthorization, TestCharge, TestRefund } from './test-records.ts'

export interface TestPurserOptions {
  /** Milliseconds since 1970; advance it to let a proof expire. Default `Date.now`. */
  readonly now?: () => number
  /** The secret that signs proofs; default random. Never use one of a real service. */
  readonly secret?: string
}

export interface TestPurser {
  /** Pass this as the option `client` of `requirePayment`. */
  readonly client: TestClient
  /** A signed proof for a challenge; `changes` are applied before it is signed. */
  readonly issueProof: (
    challenge: Pick<Challenge, 'amount' | 'resource'>,
    changes?: Partial<Omit<Proof, 'signature'>>,
  ) => Promise<Proof>
  /** The charges, in order. */
  readonly charges: readonly TestCharge[]
  /** The authorizations, in order, with their current status. */
  readonly authorizations: readonly TestAuthorization[]
  /** The refunds, in order. */
  readonly refunds: readonly TestRefund[]
  /** Makes verifications and authorizations fail with this error before they act, like a service that is down. */
  readonly failVerifications: (error?: unknown) => void
  /** Makes captures and voids fail with this error before they act. */
  readonly failCaptures: (error?: unknown) => void
  /** Ends `failVerifications` and `failCaptures`. */
  readonly answerAgain: () => void
}

/** A client with everything that a merchant uses. */
export interface TestClient extends CapturingClient {
  readonly transactions: Required<PaymentClient>['transactions']
}

/** Max distance of a proof's timestamp from now. */
const validityWindowMs = 5 * 60_000

const defaultCaptureSeconds = 600

/**
 * An in-memory Purser for testing a shop without a service. It signs proofs with its own secret, and verifies,
 * authorizes, captures, voids and refunds like the service: window, amount, signature, nonce, deadline, and retries
 * with the same idempotency key. It has no mandates, budgets or sellers: every agent may pay, and every merchant may
 * collect.
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
  const records = createTestRecords(now)
  let verifyFailure: { readonly error: unknown } | undefined
  let captureFailure: { readonly error: unknown } | undefined

  const payments: TestClient['payments'] = {
    verify: async (request, options) => {
      if (verifyFailure) throw verifyFailure.error
      const fault = await contentFault(request)
      // No await from here on, so that concurrent requests are charged once.
      const replayed = records.replayOfCharge(request.proof.nonce, options?.idempotencyKey)
      const refusal = refusalOf(request, fault, replayed !== undefined)
      if (refusal) return { verified: false, reason: refusal }
      if (replayed) return { verified: true, transaction_id: replayed.transactionId, replayed: true }
      const { transactionId } = records.charge(request, options?.idempotencyKey)
      return { verified: true, transaction_id: transactionId, replayed: false }
    },
    authorize: async (request, options) => {
      if (verifyFailure) throw verifyFailure.error
      const fault = await contentFault(request)
      const replayed = records.replayOfAuthorization(request.proof.nonce, options?.idempotencyKey)
      const refusal = refusalOf(request, fault, replayed !== undefined)
      if (refusal) return { authorized: false, reason: refusal }
      const seconds = request.capture_seconds ?? defaultCaptureSeconds
      const authorization = replayed ?? records.authorize(request, seconds, options?.idempotencyKey)
      return { authorized: true, authorization, replayed: replayed !== undefined }
    },
    capture: async (nonce, body, options) => {
      if (captureFailure) throw captureFailure.error
      return records.capture(nonce, body?.amount, options?.idempotencyKey)
    },
    void: async (nonce) => {
      if (captureFailure) throw captureFailure.error
      return records.void(nonce)
    },
  }

  /** The first step that fails. */
  function refusalOf(
    { proof: { nonce, timestamp } }: Parameters<typeof payments.verify>[0],
    fault: 'amount_mismatch' | 'invalid_signature' | undefined,
    isRetry: boolean,
  ) {
    const isInTime = Math.abs(now() - Date.parse(timestamp)) <= validityWindowMs
    if (!isInTime && (fault || !isRetry)) return 'proof_expired' // 1
    if (fault) return fault // 2, 3
    return records.isUsed(nonce) && !isRetry ? 'nonce_reused' : undefined // 4
  }

  /** Steps 2 and 3 of a verification. */
  async function contentFault({
    proof,
    expected_amount: amount,
    expected_currency: currency = 'USDC',
  }: Parameters<typeof payments.verify>[0]) {
    if (proof.amount !== amount || proof.currency !== currency) return 'amount_mismatch'
    const { signature, ...unsigned } = proof
    return signature === (await sign(unsigned, secret)) ? undefined : 'invalid_signature'
  }

  return {
    client: {
      payments,
      transactions: {
        refund: async (id, body, options) => records.refund(id, body, options?.idempotencyKey),
      },
      verifyAgent: async (request) => reportOf(request),
    },
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
    charges: records.charges,
    get authorizations() {
      return records.authorizations()
    },
    refunds: records.refunds,
    failVerifications: (error = new Error('the service is down')) => (verifyFailure = { error }),
    failCaptures: (error = new Error('the service is down')) => (captureFailure = { error }),
    answerAgain: () => {
      verifyFailure = undefined
      captureFailure = undefined
    },
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

import assert from 'node:assert/strict'
import { Agent } from 'node:http'

import type { Proof } from '@purser/wire/payments'

import { sendPlain, type PlainAnswer } from './http/plain-http.ts'
import { proposal } from './purchases.ts'
import { merchantDomain, resourceUrl, type Purchase } from './service.ts'

/** A caller with many connections, which stay open between requests. */
export interface LoadClient {
  readonly send: (method: string, path: string, options?: SendOptions) => Promise<PlainAnswer>
  readonly askForProof: (purchase: Purchase, amount?: string) => Promise<PlainAnswer>
  readonly verify: (proof: Proof, options?: VerifyOptions) => Promise<PlainAnswer>
  readonly evaluate: (purchase: Purchase) => Promise<PlainAnswer>
  readonly close: () => void
}

interface SendOptions {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

interface VerifyOptions {
  readonly idempotencyKey?: string
  readonly merchantDomain?: string
}

/** A client of the service at an address, with a key and a max number of connections. */
export function openLoadClient(url: string, key: string, connections: number): LoadClient {
  const agent = new Agent({ keepAlive: true, maxSockets: connections, maxFreeSockets: connections })
  const authorization = `Bearer ${key}`

  function send(method: string, path: string, { body, headers }: SendOptions = {}): Promise<PlainAnswer> {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const type = text === undefined ? {} : { 'content-type': 'application/json' }
    return sendPlain(url, {
      method,
      path,
      headers: { authorization, ...type, ...headers },
      body: text,
      agent,
    })
  }

  return {
    send,
    askForProof: ({ agentId, mandateId, resourceUrl }, amount = '1.00') =>
      send('POST', '/v1/payments/proof', {
        body: { agent_id: agentId, mandate_id: mandateId, amount, resource_url: resourceUrl },
      }),
    verify: (proof, options = {}) =>
      send('POST', '/v1/payments/verify', {
        body: {
          proof,
          merchant_domain: options.merchantDomain ?? merchantDomain,
          expected_amount: proof.amount,
        },
        headers: options.idempotencyKey === undefined ? {} : { 'idempotency-key': options.idempotencyKey },
      }),
    evaluate: (purchase) => send('POST', '/v1/policy/evaluate', { body: proposal(purchase) }),
    close: () => agent.destroy(),
  }
}

/** An agent with a mandate, created by the client; the fields override those of a generous mandate. */
export async function makePurchase(
  client: LoadClient,
  mandate: Readonly<Record<string, unknown>> = {},
): Promise<Purchase> {
  const agent = await client.send('POST', '/agents', { body: { name: 'research-bot' } })
  assert.equal(agent.status, 201, agent.text)
  const created = await client.send('POST', '/mandates', {
    body: {
      agent_id: agent.body.id,
      purpose: 'Buy research data',
      max_spend_total: '100000.00',
      max_spend_per_transaction: '10.00',
      allowed_sellers: [merchantDomain],
      expires_at: '2099-01-01T00:00:00Z',
      ...mandate,
    },
  })
  assert.equal(created.status, 201, created.text)
  return { agentId: agent.body.id, mandateId: created.body.id, merchantDomain, resourceUrl }
}

/** Runs the task this many times, all at once. */
export function allAtOnce<Result>(
  count: number,
  task: (index: number) => Promise<Result>,
): Promise<Result[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => task(index)))
}

/** Runs every task, a given number at a time. */
export async function inParallel(width: number, tasks: readonly (() => Promise<void>)[]): Promise<void> {
  const rest = tasks.values()
  await allAtOnce(width, async () => {
    for (const task of rest) await task()
  })
}

/** Buys until the service is gone, which `stop` brings about. The transactions, and the proofs without an answer. */
export async function buyUntilGone<End>(client: LoadClient, purchase: Purchase, stop: () => Promise<End>) {
  const charged: string[] = []
  const unknown: Proof[] = []
  let ended: Promise<End> | undefined
  await allAtOnce(32, async () => {
    for (;;) {
      const asked = await client.askForProof(purchase).catch(() => undefined)
      if (!asked) return
      assert.equal(labelOf(asked), '201 ok')
      const proof = asked.body.proof as Proof
      const answer = await client.verify(proof, { idempotencyKey: proof.nonce }).catch(() => undefined)
      if (!answer) {
        unknown.push(proof)
        return
      }
      assert.equal(labelOf(answer), '200 ok')
      if (charged.push(answer.body.transaction_id as string) === 300) ended = stop()
    }
  })
  return { charged, unknown, ended: await ended }
}

/** The transactions of verifications that are repeated after they got no answer. */
export async function retryVerifications(client: LoadClient, proofs: readonly Proof[]): Promise<string[]> {
  const charged: string[] = []
  for (const proof of proofs) {
    const answer = await client.verify(proof, { idempotencyKey: proof.nonce })
    assert.equal(labelOf(answer), '200 ok')
    // A client without an answer was not accepted: its connection was closed before its request was read.
    assert.equal(answer.headers['idempotent-replayed'], undefined)
    charged.push(answer.body.transaction_id as string)
  }
  return charged
}

/** A response in short: its status, and its reason. */
export function labelOf({ status, body }: PlainAnswer): string {
  if (status === 201 || body?.verified === true || body?.decision === 'approved') return `${status} ok`
  return `${status} ${body?.reason ?? body?.reason_code ?? body?.detail}`
}

/** How often each answer was given. */
export function tally(answers: readonly PlainAnswer[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const answer of answers) counts[labelOf(answer)] = (counts[labelOf(answer)] ?? 0) + 1
  return counts
}

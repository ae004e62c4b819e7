import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Proof } from '@purser/wire/payments'

import { readConfig } from '../src/settings/config.ts'
import { startService, type RunningService, type StartOptions } from '../src/start/start.ts'

/** A response, as tests use it. */
export interface TestAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body as JSON; undefined if it is not JSON. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read bodies of every shape
  readonly body: any
}

export interface CallOptions {
  /** The key to use; null for none. Default: the sandbox operator's key. */
  readonly key?: string | null
  /** Sent as JSON. */
  readonly body?: unknown
  /** Sent unmodified, instead of `body`. */
  readonly raw?: BodyInit
  readonly headers?: Record<string, string>
}

/** A real service on a real port with its own store, and a clock that the test controls. */
export interface TestService {
  readonly url: string
  /** The metrics address, if a setting enables them. */
  readonly metricsUrl: string | undefined
  readonly databasePath: string
  readonly sandboxKey: string
  readonly productionKey: string
  /** The token of the link that signs the first owner in to the console. */
  readonly setUpToken: string | undefined
  readonly clock: { nowMs: number }
  readonly call: (method: string, path: string, options?: CallOptions) => Promise<TestAnswer>
  readonly stop: RunningService['stop']
}

/** When the clock of a test service starts: 2026-11-20T12:00:00Z. */
export const testStartMs = Date.UTC(2026, 10, 20, 12)

/** Starts a service for one test, or for a file of them, and stops it when they end. */
export async function startTestService(
  context: { readonly after: (stop: () => Promise<void>) => void },
  settings: Record<string, string> = {},
  options: Pick<StartOptions, 'limits' | 'proveDomain'> = {},
): Promise<TestService> {
  const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
  const databasePath = join(folder, 'purser.db')
  const environment = {
    PURSER_PORT: '0',
    PURSER_DATABASE: `sqlite:${databasePath}`,
    PURSER_LOG_LEVEL: 'silent',
    PURSER_PROOF_SECRET: randomBytes(32).toString('hex'),
    ...settings,
  }
  const reading = readConfig([], environment, folder)
  assert('config' in reading, JSON.stringify(reading))
  const clock = { nowMs: testStartMs }
  const service = await startService(reading.config, { now: () => clock.nowMs, ...options })
  context.after(async () => {
    await service.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  const sandboxKey = service.minted?.sandbox ?? settings['PURSER_BOOTSTRAP_SANDBOX_KEY'] ?? ''
  const productionKey = service.minted?.production ?? settings['PURSER_BOOTSTRAP_PRODUCTION_KEY'] ?? ''
  return {
    url: service.url,
    metricsUrl: service.metricsUrl,
    databasePath,
    sandboxKey,
    productionKey,
    setUpToken: service.minted?.setUpToken,
    clock,
    call: (method, path, options = {}) => call(service.url, sandboxKey, method, path, options),
    stop: service.stop,
  }
}

export async function call(
  url: string,
  standardKey: string,
  method: string,
  path: string,
  options: CallOptions,
): Promise<TestAnswer> {
  const key = options.key === undefined ? standardKey : options.key
  const headers = new Headers(options.headers)
  if (key !== null) headers.set('authorization', `Bearer ${key}`)
  if (options.body !== undefined && !headers.has('content-type')) {
    headers.set('content-type', 'application/json')
  }
  const body = options.raw ?? (options.body === undefined ? null : JSON.stringify(options.body))
  const response = await fetch(url + path, { method, headers, body, signal: AbortSignal.timeout(30_000) })
  const text = await textOf(response)
  return { status: response.status, headers: response.headers, text, body: parse(text) }
}

/** The body of a response; for a feed, which never ends, its first event. */
async function textOf(response: Response): Promise<string> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response.text()
  const reader = response.body?.getReader()
  const first = await reader?.read()
  await reader?.cancel()
  return new TextDecoder().decode(first?.value)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A future purchase: an agent, its mandate, and its seller. */
export interface Purchase {
  readonly agentId: string
  readonly mandateId: string
  readonly merchantDomain: string
  readonly resourceUrl: string
}

export const merchantDomain = 'api.example.com'
export const resourceUrl = 'https://api.example.com/data'

/** An agent with a mandate, created with the key; the fields override those of a generous mandate. */
export async function preparePurchase(
  service: TestService,
  mandate: Record<string, unknown> = {},
  key: string = service.sandboxKey,
): Promise<Purchase> {
  const agent = await service.call('POST', '/agents', { key, body: { name: 'research-bot' } })
  assert.equal(agent.status, 201, agent.text)
  const created = await service.call('POST', '/mandates', {
    key,
    body: {
      agent_id: agent.body.id,
      purpose: 'Buy research data',
      max_spend_total: '100.00',
      max_spend_per_transaction: '10.00',
      allowed_sellers: [merchantDomain],
      expires_at: '2099-01-01T00:00:00Z',
      ...mandate,
    },
  })
  assert.equal(created.status, 201, created.text)
  return { agentId: agent.body.id, mandateId: created.body.id, merchantDomain, resourceUrl }
}

/** Requests a proof. */
export function askForProof(
  service: TestService,
  purchase: Purchase,
  amount = '1.00',
  options: CallOptions = {},
): Promise<TestAnswer> {
  return service.call('POST', '/v1/payments/proof', {
    ...options,
    body: {
      agent_id: purchase.agentId,
      mandate_id: purchase.mandateId,
      amount,
      resource_url: purchase.resourceUrl,
    },
  })
}

/** A granted proof. */
export async function issueProof(service: TestService, purchase: Purchase, amount = '1.00'): Promise<Proof> {
  const answer = await askForProof(service, purchase, amount)
  assert.equal(answer.status, 201, answer.text)
  return answer.body.proof as Proof
}

/** Verifies a proof with the expected amount that it names, unless the fields override it. */
export function verifyProof(
  service: TestService,
  proof: Proof,
  fields: Record<string, unknown> = {},
  options: CallOptions = {},
): Promise<TestAnswer> {
  return service.call('POST', '/v1/payments/verify', {
    ...options,
    body: { proof, merchant_domain: merchantDomain, expected_amount: proof.amount, ...fields },
  })
}

/** A second tenant, with an owner key of each environment. */
export async function createTenant(
  service: TestService,
  idpUserId = 'idp_second',
): Promise<{ accountId: string; sandboxKey: string; productionKey: string }> {
  const answer = await service.call('POST', '/accounts', {
    body: { name: 'Second', email: 'second@example.com', idp_user_id: idpUserId },
  })
  assert.equal(answer.status, 201, answer.text)
  const [sandbox, production] = answer.body.api_keys as { key: string }[]
  return { accountId: answer.body.id, sandboxKey: sandbox?.key ?? '', productionKey: production?.key ?? '' }
}

/** A key of a role, issued with the sandbox operator's key. */
export async function issueKey(
  service: TestService,
  fields: Record<string, unknown>,
  key: string = service.sandboxKey,
): Promise<string> {
  const answer = await service.call('POST', '/accounts/api-keys', {
    key,
    body: { environment: 'sandbox', ...fields },
  })
  assert.equal(answer.status, 201, answer.text)
  return answer.body.key as string
}

import assert from 'node:assert/strict'

import {
  askForProof,
  merchantDomain,
  preparePurchase,
  resourceUrl,
  verifyProof,
  type Purchase,
  type TestService,
} from './service.ts'

/** One real record of each kind that a path, a query or a body can name, by its parameter name. */
export interface SampleRecords {
  readonly account_id: string
  readonly key_id: string
  readonly agent_id: string
  readonly mandate_id: string
  readonly transaction_id: string
  /** The subject of an audit event. */
  readonly subject_id: string
  /** Of an open proof; production has none, so there the nonce belongs to no proof. */
  readonly nonce: string
  /** Of a console session. */
  readonly session_id: string
  /** Of a registered seller. */
  readonly domain: string
  readonly seller_id: string
  /** Of a stop of all agents that found none to stop. */
  readonly stop_id: string
  /** Of a request for an increase. */
  readonly approval_id: string
  /** Of a shared budget. */
  readonly budget_id: string
}

/** The records of one account and environment, made with a key that owns them. */
export async function prepareSampleRecords(service: TestService, key: string): Promise<SampleRecords> {
  const issued = await service.call('POST', '/accounts/api-keys', {
    key,
    body: { role: 'merchant', environment: key.startsWith('svc_sand_') ? 'sandbox' : 'production' },
  })
  const stopped = await service.call('POST', '/v1/console/stop', { key })
  const resumed = await service.call('POST', '/v1/console/resume', { key, body: {} })
  assert.deepEqual([stopped.status, resumed.status], [200, 200])
  const purchase = await preparePurchase(service, { approval: { above: '5.00' } }, key)
  const increase = await service.call('POST', `/v1/mandates/${purchase.mandateId}/increase-requests`, {
    key,
    body: sampleBodies.requestIncrease(),
  })
  const evaluated = await service.call('POST', '/v1/policy/evaluate', {
    key,
    body: sampleBodies.evaluate({ agent_id: purchase.agentId, mandate_id: purchase.mandateId }),
  })
  const seller = await service.call('POST', '/sellers', {
    key,
    body: { ...sampleBodies.createSeller(), domain: `${issued.body.id.slice(4)}.example.com` },
  })
  const budget = await service.call('POST', '/v1/budgets', { key, body: sampleBodies.createBudget({}) })
  const statuses = [issued.status, increase.status, evaluated.status, seller.status, budget.status]
  assert.deepEqual(statuses, [201, 201, 200, 201, 201])
  return {
    account_id: issued.body.account_id,
    key_id: issued.body.id,
    agent_id: purchase.agentId,
    mandate_id: purchase.mandateId,
    transaction_id: evaluated.body.transaction_id,
    subject_id: purchase.mandateId,
    nonce: await sampleNonce(service, purchase, key),
    session_id: await sampleSession(service, key),
    domain: seller.body.domain,
    seller_id: seller.body.id,
    stop_id: stopped.body.stop_id,
    approval_id: increase.body.id,
    budget_id: budget.body.id,
  }
}

async function sampleSession(service: TestService, key: string): Promise<string> {
  const begun = await service.call('POST', '/v1/console/session', { key: null, body: { api_key: key } })
  assert.equal(begun.status, 201, begun.text)
  return begun.body.id as string
}

/** The nonce of an open proof; another proof was captured. */
async function sampleNonce(service: TestService, purchase: Purchase, key: string): Promise<string> {
  if (!key.startsWith('svc_sand_')) return nonceOfNoProof
  const captured = await askForProof(service, purchase, '1.00', { key })
  const verified = await verifyProof(service, captured.body.proof, {}, { key })
  const open = await askForProof(service, purchase, '1.00', { key })
  assert.deepEqual([captured.status, verified.status, open.status], [201, 200, 201])
  return open.body.proof.nonce as string
}

const nonceOfNoProof = '01939c1e-6a1f-7d57-9c1e-2f4f1b3a9c55'

type Ids = Partial<Record<keyof SampleRecords, string>>

/** A valid body for each endpoint that takes one, naming these records. */
export const sampleBodies = {
  createAccount: () => ({ name: 'Ada', email: 'ada@example.com', idp_user_id: 'idp_ada' }),
  createApiKey: ({ agent_id, account_id }: Ids) => ({
    role: agent_id === undefined ? 'merchant' : 'agent',
    environment: 'sandbox',
    label: 'sample',
    ...(agent_id === undefined ? {} : { agent_id }),
    ...(account_id === undefined ? {} : { account_id }),
  }),
  createAgent: () => ({ name: 'research-bot', description: 'Reads papers', capabilities: ['search'] }),
  updateAgent: ({ budget_id }: Ids) => ({ budget_id: budget_id ?? null }),
  createBudget: ({ budget_id }: Ids) => ({
    name: 'Research',
    limits: [{ window: 'lifetime', max_amount: '500.00' }],
    parent_id: budget_id ?? null,
  }),
  changeBudget: () => ({ name: 'Research and data' }),
  createMandate: ({ agent_id }: Ids) => ({
    agent_id: agent_id ?? 'agent_1',
    purpose: 'Buy research data',
    max_spend_total: '100.00',
    max_spend_per_transaction: '10.00',
    currency: 'USDC',
    allowed_sellers: [merchantDomain],
    allowed_categories: ['data'],
    expires_at: '2099-01-01T00:00:00Z',
  }),
  backtestMandate: () => ({ draft: { max_spend_total: '90.00' } }),
  amendMandate: ({ budget_id }: Ids) =>
    budget_id === undefined ? { max_spend_total: '90.00' } : { budget_id },
  requestIncrease: () => ({ max_spend_total: '200.00', reason: 'Reports got dearer' }),
  advanceTestClock: () => ({ seconds: 1 }),
  approveRequest: () => ({ note: 'fine' }),
  denyRequest: () => ({ note: null }),
  createSeller: () => ({ name: 'Shop', domain: merchantDomain, price_config: { default: '0.10' } }),
  issueProof: ({ agent_id, mandate_id }: Ids) => ({
    agent_id: agent_id ?? 'agent_1',
    mandate_id: mandate_id ?? 'mandate_1',
    amount: '1.00',
    currency: 'USDC',
    resource_url: resourceUrl,
  }),
  verify: verification,
  authorize: (ids: Ids) => ({ ...verification(ids), capture_seconds: 600 }),
  evaluate: proposal,
  capture: () => ({ amount: '0.50' }),
  refundTransaction: () => ({ amount: '0.50', reason: 'Out of stock' }),
  verifyAgent: proposal,
  startSession: () => ({ api_key: 'svc_sand_sample' }),
  resumeAgents: ({ stop_id }: Ids) => (stop_id === undefined ? {} : { stop_id }),
} satisfies Record<string, (ids: Ids) => Record<string, unknown>>

function verification({ agent_id, mandate_id, nonce }: Ids) {
  return {
    proof: {
      scheme: 'svc-sandbox',
      network: 'sandbox',
      agentId: agent_id ?? 'agent_1',
      mandateId: mandate_id ?? 'mandate_1',
      amount: '1.00',
      currency: 'USDC',
      resource: resourceUrl,
      nonce: nonce ?? nonceOfNoProof,
      timestamp: '2026-11-20T12:00:00.000+00:00',
      signature: '0'.repeat(64),
    },
    merchant_domain: merchantDomain,
    expected_amount: '1.00',
    expected_currency: 'USDC',
  }
}

function proposal({ agent_id, mandate_id }: Ids) {
  return {
    agent_id: agent_id ?? 'agent_1',
    mandate_id: mandate_id ?? 'mandate_1',
    merchant_domain: merchantDomain,
    amount: '1.00',
    currency: 'USDC',
    resource_url: resourceUrl,
    category: 'data',
  }
}

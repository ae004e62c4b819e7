import assert from 'node:assert/strict'

import type { Proof } from '@purser/wire/payments'

import {
  createTenant,
  issueKey,
  issueProof,
  merchantDomain,
  verifyProof,
  type CallOptions,
  type Purchase,
  type TestAnswer,
  type TestService,
} from './service.ts'

/** The request of evaluate and of verify-agent for a purchase; the fields override or add. */
export function proposal(purchase: Purchase, fields: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    agent_id: purchase.agentId,
    mandate_id: purchase.mandateId,
    merchant_domain: purchase.merchantDomain,
    amount: '1.00',
    resource_url: purchase.resourceUrl,
    ...fields,
  }
}

/** Has a proposed payment evaluated. */
export function evaluate(
  service: TestService,
  purchase: Purchase,
  fields: Record<string, unknown> = {},
  options: CallOptions = {},
): Promise<TestAnswer> {
  return service.call('POST', '/v1/policy/evaluate', { ...options, body: proposal(purchase, fields) })
}

/** Requests the pre-flight check of a payment. */
export function verifyAgent(
  service: TestService,
  purchase: Purchase,
  fields: Record<string, unknown> = {},
  options: CallOptions = {},
): Promise<TestAnswer> {
  return service.call('POST', '/v1/verify-agent', { ...options, body: proposal(purchase, fields) })
}

/** Authorizes the payment of a proof, for its merchant. */
export function authorizeProof(
  service: TestService,
  proof: Proof,
  fields: Record<string, unknown> = {},
  options: CallOptions = {},
): Promise<TestAnswer> {
  return service.call('POST', '/v1/payments/authorize', {
    ...options,
    body: { proof, merchant_domain: merchantDomain, expected_amount: proof.amount, ...fields },
  })
}

/** Spends an amount under the purchase's mandate; returns the transaction's id. */
export async function pay(
  service: TestService,
  purchase: Purchase,
  amount = '1.00',
  fields: Record<string, unknown> = {},
): Promise<string> {
  const answer = await verifyProof(service, await issueProof(service, purchase, amount), fields)
  assert.equal(answer.status, 200, answer.text)
  return answer.body.transaction_id as string
}

/** Registers a seller under a domain; returns its id. */
export async function registerSeller(
  service: TestService,
  domain = merchantDomain,
  key = service.sandboxKey,
): Promise<string> {
  const answer = await service.call('POST', '/sellers', {
    key,
    body: { name: 'Data shop', domain, price_config: {} },
  })
  assert.equal(answer.status, 201, answer.text)
  return answer.body.id as string
}

/** Changes the state of a record: `/agents/{id}/revoke` and similar. */
export async function change(
  service: TestService,
  path: string,
  key = service.sandboxKey,
): Promise<TestAnswer> {
  const answer = await service.call('PATCH', path, { key })
  assert.equal(answer.status, 200, answer.text)
  return answer
}

/** A second tenant that sells under a domain, with its merchant's key. */
export async function createMerchant(
  service: TestService,
  domain = merchantDomain,
): Promise<{ sellerId: string; ownerKey: string; merchantKey: string; productionKey: string }> {
  const tenant = await createTenant(service, `idp_${domain}`)
  const sellerId = await registerSeller(service, domain, tenant.sandboxKey)
  const merchantKey = await issueKey(service, { role: 'merchant' }, tenant.sandboxKey)
  return { sellerId, ownerKey: tenant.sandboxKey, merchantKey, productionKey: tenant.productionKey }
}

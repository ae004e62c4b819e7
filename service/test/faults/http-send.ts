import { Agent } from 'node:http'

import type { Proof } from '@purser/wire/payments'

import { formatSum, parseAmount, type MicroUsdc } from '../../src/domain/money.ts'
import { sendPlain, type PlainAnswer, type PlainRequest } from '../../testing/http/plain-http.ts'
import type { SeededRandom } from '../../testing/seeded-random.ts'
import { captureSeconds, type Answer, type Request } from './history.ts'
import { collectorDomain, ownDomain } from './market.ts'
import type { Send } from './recorder.ts'

export interface HttpSendOptions {
  /** The current addresses of service processes; a request goes to any of them. */
  readonly urls: () => readonly string[]
  /** The text of each initial key, by id; issued keys are added. */
  readonly secrets: Map<string, string>
  readonly random: SeededRandom
}

/**
 * How long a client waits for an answer: some are impatient, most wait as long as the service's time limit.
 */
const patienceMs = [1_000, 4_000, 12_000, 12_000] as const

/** Sends the requests of clients over HTTP, and translates the answers into those of a history. */
export function createHttpSend({ urls, secrets, random }: HttpSendOptions): Send & { close: () => void } {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 })
  const proofs = new Map<string, Proof>()

  async function send(keyId: string, request: Request): Promise<Answer> {
    const choices = urls()
    const url = choices[random.below(Math.max(1, choices.length))]
    if (url === undefined) return { is: 'unknown' }
    const plain = toHttp(request, proofs)
    const authorization = `Bearer ${secrets.get(keyId) ?? ''}`
    const headers = { 'content-type': 'application/json', authorization, ...plain.headers }
    const timeoutMs = random.pick(patienceMs)
    const answer = await sendPlain(url, { ...plain, headers, agent, timeoutMs }).catch(() => undefined)
    if (!answer) return { is: 'unknown' }
    const { body } = answer
    if (request.act === 'issue-key' && answer.status === 201) secrets.set(body.id, body.key)
    if (request.act === 'ask-proof' && answer.status === 201) proofs.set(body.proof.nonce, body.proof)
    return toAnswer(request, answer)
  }

  return Object.assign(send, { close: () => agent.destroy() })
}

function toHttp(request: Request, proofs: ReadonlyMap<string, Proof>): PlainRequest {
  switch (request.act) {
    case 'create-agent':
      return post('/agents', { name: 'buyer' })
    case 'create-mandate':
      return post('/mandates', {
        agent_id: request.agentId,
        purpose: 'Buy under faults',
        max_spend_total: amountText(request.maxTotalMicro),
        max_spend_per_transaction: amountText(request.maxPaymentMicro),
        allowed_sellers: [ownDomain, collectorDomain],
        allowed_resources: [`https://${ownDomain}/*`, `https://${collectorDomain}/*`],
        expires_at: '2099-01-01T00:00:00Z',
        limits:
          request.limitMicro === null
            ? []
            : [{ window: 'lifetime', max_amount: amountText(request.limitMicro) }],
        budget_id: request.budgetId,
        approval:
          request.approveAboveMicro === null ? null : { above: amountText(request.approveAboveMicro) },
      })
    case 'create-budget':
      return post('/v1/budgets', {
        name: 'Shared',
        limits: [{ window: 'lifetime', max_amount: amountText(request.maxMicro) }],
      })
    case 'freeze-budget':
    case 'unfreeze-budget': {
      const [verb] = request.act.split('-')
      return { method: 'POST', path: `/v1/budgets/${request.budgetId}/${verb}` }
    }
    case 'issue-key': {
      const { agentId } = request
      const bound = agentId === null ? { role: 'merchant' } : { role: 'agent', agent_id: agentId }
      return post('/accounts/api-keys', { environment: 'sandbox', ...bound })
    }
    case 'revoke-key':
      return { method: 'DELETE', path: `/accounts/api-keys/${request.keyId}` }
    case 'revoke-agent':
      return { method: 'PATCH', path: `/agents/${request.agentId}/revoke` }
    case 'pause-mandate':
    case 'resume-mandate':
    case 'revoke-mandate': {
      const [verb] = request.act.split('-')
      return { method: 'PATCH', path: `/mandates/${request.mandateId}/${verb}` }
    }
    case 'authorize': {
      const proof = proofs.get(request.nonce)
      const body = { proof, merchant_domain: request.domain, expected_amount: proof?.amount }
      const wanted = { ...body, capture_seconds: captureSeconds }
      return { ...post('/v1/payments/authorize', wanted), headers: keyOf(request) }
    }
    case 'capture-authorized': {
      const { nonce, amountMicro } = request
      const body = amountMicro === null ? {} : { amount: amountText(amountMicro) }
      return { ...post(`/v1/payments/${nonce}/capture`, body), headers: keyOf(request) }
    }
    case 'void-authorized':
      return { method: 'POST', path: `/v1/payments/${request.nonce}/void` }
    case 'refund': {
      const body = { amount: amountText(request.amountMicro) }
      return { ...post(`/v1/transactions/${request.transactionId}/refund`, body), headers: keyOf(request) }
    }
    case 'stop-all':
    case 'undo-stop':
    case 'void-proof':
    case 'disable-collector':
    case 'enable-collector':
    case 'disable-payer':
    case 'enable-payer':
    case 'release-domain':
    case 'register-seller':
    case 'change-budget':
    case 'assign-agent':
      throw new Error(`no client asks for ${request.act} over HTTP`)
    case 'ask-proof': {
      const { idempotencyKey } = request
      const asked = post('/v1/payments/proof', {
        agent_id: request.agentId,
        mandate_id: request.mandateId,
        amount: amountText(request.amountMicro),
        resource_url: `https://${request.domain}/data`,
        approval_id: request.approvalId ?? null,
        order_id: request.orderId ?? null,
      })
      return idempotencyKey === undefined ? asked : { ...asked, headers: keyOf({ idempotencyKey }) }
    }
    case 'decide': {
      const verb = request.verdict === 'approved' ? 'approve' : 'deny'
      return post(`/v1/approvals/${request.approvalId}/${verb}`, {})
    }
    case 'amend-mandate': {
      const body = { max_spend_per_transaction: amountText(request.maxPaymentMicro) }
      const patch = { method: 'PATCH', path: `/v1/mandates/${request.mandateId}`, body: JSON.stringify(body) }
      return { ...patch, headers: { 'if-match': `"${request.version}"` } }
    }
    case 'request-increase': {
      const body = { max_spend_total: amountText(request.maxTotalMicro), reason: 'more' }
      return post(`/v1/mandates/${request.mandateId}/increase-requests`, body)
    }
    case 'verify': {
      const proof = proofs.get(request.nonce)
      const body = { proof, merchant_domain: request.domain, expected_amount: proof?.amount }
      return { ...post('/v1/payments/verify', body), headers: keyOf(request) }
    }
    case 'evaluate':
      return post('/v1/policy/evaluate', {
        agent_id: request.agentId,
        mandate_id: request.mandateId,
        merchant_domain: request.domain,
        amount: amountText(request.amountMicro),
        resource_url: `https://${request.domain}/data`,
      })
    case 'read-mandate':
      return { method: 'GET', path: `/mandates/${request.mandateId}` }
    case 'look-up':
      return { method: 'GET', path: `/v1/payments/proofs/${request.nonce}` }
    default:
      return request satisfies never
  }
}

function keyOf({ idempotencyKey }: { readonly idempotencyKey: string }) {
  return { 'idempotency-key': idempotencyKey }
}

function post(path: string, body: unknown): PlainRequest {
  return { method: 'POST', path, body: JSON.stringify(body) }
}

function amountText(amountMicro: bigint): string {
  return formatSum(amountMicro as MicroUsdc)
}

function toAnswer({ act }: Request, { status, headers, body, text }: PlainAnswer): Answer {
  const broken: Answer = { is: 'broken', text: `${status} ${text}` }
  if (status === 503 && headers['retry-after'] !== undefined) return { is: 'unavailable' }
  if (status === 401) return { is: 'unauthorized' }
  if (status === 409 || status === 412) return { is: 'conflict', detail: body.detail }
  switch (act) {
    case 'create-agent':
    case 'create-mandate':
    case 'create-budget':
    case 'issue-key':
      return status === 201 ? { is: 'created', id: body.id } : broken
    case 'revoke-key':
    case 'revoke-agent':
    case 'pause-mandate':
    case 'resume-mandate':
    case 'freeze-budget':
    case 'unfreeze-budget':
    case 'stop-all':
    case 'undo-stop':
    case 'void-proof':
    case 'disable-collector':
    case 'enable-collector':
    case 'disable-payer':
    case 'enable-payer':
    case 'release-domain':
    case 'register-seller':
    case 'change-budget':
    case 'assign-agent':
    case 'revoke-mandate':
      return status === 200 ? { is: 'done' } : broken
    case 'ask-proof':
      if (status === 201) {
        return { is: 'granted', nonce: body.proof.nonce, isReplay: headers['idempotent-replayed'] === 'true' }
      }
      if (status === 422 && body.detail === 'idempotency_key_reused') {
        return { is: 'conflict', detail: 'key_reused' }
      }
      if (status !== 402) return broken
      return { is: 'denied', code: body.reason_code, approvalId: body.approval?.id }
    case 'decide':
      return status === 200 ? { is: 'decided', status: body.status } : broken
    case 'amend-mandate':
      return status === 200 ? { is: 'amended', version: body.version } : broken
    case 'request-increase':
      return status === 201 ? { is: 'requested', approvalId: body.id } : broken
    case 'verify':
    case 'capture-authorized':
      if (status === 402) return { is: 'failed', reason: body.reason }
      if (status !== 200) return broken
      return {
        is: 'verified',
        transactionId: body.transaction_id,
        isReplay: headers['idempotent-replayed'] === 'true',
      }
    case 'authorize':
      if (status === 402) return { is: 'failed', reason: body.reason }
      if (status !== 200) return broken
      return { is: 'authorized', isReplay: headers['idempotent-replayed'] === 'true' }
    case 'void-authorized':
      return status === 200 ? { is: 'proof', status: body.status, transactionId: null } : broken
    case 'refund': {
      if (status !== 201) return broken
      const isReplay = headers['idempotent-replayed'] === 'true'
      return { is: 'refunded', refundId: body.id, isReplay }
    }
    case 'evaluate':
      if (status === 200) return { is: 'approved', transactionId: body.transaction_id }
      if (status !== 402) return broken
      return { is: 'denied', code: body.reason_code, transactionId: body.transaction_id }
    case 'read-mandate':
      if (status !== 200) return broken
      return {
        is: 'mandate',
        status: body.status,
        spentMicro: parseAmount(body.spent_total),
        heldMicro: parseAmount(body.held_total),
        authorizedMicro: parseAmount(body.authorized_total),
        version: body.version,
      }
    case 'look-up':
      return status === 200
        ? { is: 'proof', status: body.status, transactionId: body.transaction_id }
        : broken
    default:
      return act satisfies never
  }
}

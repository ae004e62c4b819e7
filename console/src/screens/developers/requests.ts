import type { Environment, Mandate } from '@purser/client'

import { readMicro } from '../../text/amounts.ts'

/** An example request. */
interface SampleRequest {
  readonly id: string
  readonly title: string
  readonly about: string
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: unknown
}

/** Common requests, with the ids of the newest mandate if there is one, within its limits. */
export function requestsFor({
  environment,
  mandate,
  nowMs,
}: {
  readonly environment: Environment
  readonly mandate: Mandate | undefined
  readonly nowMs: number
}): readonly SampleRequest[] {
  const agentId = mandate?.agent_id ?? 'AGENT_ID'
  const mandateId = mandate?.id ?? 'MANDATE_ID'
  const seller = mandate?.allowed_sellers.find((one) => one !== '*') ?? 'api.example.com'
  const payment = {
    agent_id: agentId,
    mandate_id: mandateId,
    amount:
      mandate && isLess(mandate.max_spend_per_transaction, '1.00')
        ? mandate.max_spend_per_transaction
        : '1.00',
    resource_url: `https://${seller}/data`,
  }
  const category = mandate?.allowed_categories.find((one) => one !== '*')
  const proposal = { ...payment, merchant_domain: seller, ...(category === undefined ? {} : { category }) }
  const inThirtyDays = new Date(nowMs + 30 * 24 * 3_600_000).toISOString()
  const evaluate: SampleRequest = {
    id: 'evaluate',
    title: 'Request a decision',
    about:
      'Runs the nine checks and records the outcome: 200 when approved, 402 when denied. Nothing is charged.',
    method: 'POST',
    path: '/v1/policy/evaluate',
    body: proposal,
  }
  const proof: SampleRequest = {
    id: 'proof',
    title: 'Request a proof of payment',
    about: 'For the agent. The amount is held until the merchant verifies the proof, for up to six minutes.',
    method: 'POST',
    path: '/v1/payments/proof',
    body: payment,
  }
  return [
    {
      id: 'create-agent',
      title: 'Create an agent',
      about: 'The program that will spend.',
      method: 'POST',
      path: '/agents',
      body: { name: 'research-bot' },
    },
    {
      id: 'create-mandate',
      title: 'Create a mandate',
      about: 'A budget for one agent, and its limits.',
      method: 'POST',
      path: '/mandates',
      body: {
        agent_id: agentId,
        purpose: 'Buy research data',
        max_spend_total: '10.00',
        max_spend_per_transaction: '5.00',
        allowed_sellers: [seller],
        expires_at: inThirtyDays,
      },
    },
    ...(environment === 'sandbox' ? [proof] : []),
    evaluate,
    {
      id: 'verify-agent',
      title: 'Check an agent first',
      about: 'The same checks; records nothing. 200 when authorized, 403 when not.',
      method: 'POST',
      path: '/v1/verify-agent',
      body: proposal,
    },
    {
      id: 'transactions',
      title: 'List denied transactions',
      about: 'Newest first; the Link header has the next page.',
      method: 'GET',
      path: '/v1/transactions?status=denied',
    },
  ]
}

function isLess(left: string, right: string): boolean {
  return (readMicro(left) ?? 0n) < (readMicro(right) ?? 0n)
}

/** The request as a shell command. The key stays in a shell variable. */
export function curlOf(
  { method, path, body }: SampleRequest,
  { serviceUrl, keyName }: { readonly serviceUrl: string; readonly keyName: string },
): string {
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${quoted(serviceUrl + path)}`,
    `  -H "Authorization: Bearer $${keyName}"`,
  ]
  if (body !== undefined) {
    lines.push("  -H 'Content-Type: application/json'", `  -d ${quoted(JSON.stringify(body, null, 2))}`)
  }
  return lines.join(' \\\n')
}

/** Quotes a text for the shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

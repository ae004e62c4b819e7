// A program that uses the installed package: compiled there, and run with the URL of a service.
import {
  formatAmount,
  NotFoundError,
  Purser,
  wrapFetchWithPayment,
  type Mandate,
  type PaymentDecision,
  type Verification,
} from '@purser/client'

declare const process: { readonly env: Record<string, string | undefined> }
const { PURSER_URL = '', PURSER_KEY = '' } = process.env

const purser = new Purser({ apiKey: PURSER_KEY, baseUrl: PURSER_URL, timeout: 5000 })
const agent = await purser.agents.create({ name: 'research-bot' })
const mandate: Mandate = await purser.mandates.create({
  agent_id: agent.id,
  purpose: 'Buy research data',
  max_spend_total: formatAmount('10'),
  max_spend_per_transaction: '5.00',
  allowed_sellers: ['api.example.com'],
  expires_at: '2099-01-01T00:00:00Z',
})

const resource = 'https://api.example.com/data'
const ids = { agentId: agent.id, mandateId: mandate.id }
let decision: PaymentDecision | undefined
let verification: Verification | undefined

/** A merchant within the program, as a fetch function. */
async function merchant(_input: unknown, init?: RequestInit): Promise<Response> {
  const proof = new Headers(init?.headers).get('x-payment-proof')
  const offer = { amount: '4.00', currency: 'USDC', resource, merchant_domain: 'api.example.com' }
  const challenge = { scheme: 'svc-sandbox', network: 'sandbox', ...offer }
  if (proof === null) return Response.json(challenge, { status: 402 })
  verification = await purser.payments.verify({
    proof: JSON.parse(atob(proof.replaceAll('-', '+').replaceAll('_', '/'))),
    merchant_domain: 'api.example.com',
    expected_amount: '4.00',
  })
  return verification.verified ? new Response('goods') : Response.json(challenge, { status: 402 })
}

const onDecision = (made: PaymentDecision) => {
  decision = made
}
const fetchWithPayment = wrapFetchWithPayment(merchant, { client: purser, ...ids, onDecision })
const answer = await fetchWithPayment(resource)
const spent: string[] = []
for await (const { spent_total } of purser.mandates.list({ limit: 1 })) spent.push(spent_total)
const missing = await purser.agents.get('agent_x').catch((error: unknown) => error)

// @ts-expect-error -- the compiler detects a misspelled field
await purser.agents.create({ nmae: 'research-bot' }).catch(() => {})

const told = [await answer.text(), decision?.outcome, ...spent].join()
if (told !== 'goods,approved,4.00') throw new Error(told)
if (!(missing instanceof NotFoundError && missing.requestId)) throw new Error(String(missing))
console.log('done')

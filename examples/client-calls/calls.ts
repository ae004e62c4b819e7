import { NotFoundError, Purser } from '@purser/client'

const purser = new Purser({
  apiKey: process.env['PURSER_SANDBOX_KEY'],
  baseUrl: process.env['PURSER_URL'], // http://127.0.0.1:8080 when left out
})

const agent = await purser.agents.create({ name: 'research-bot' })
const mandate = await purser.mandates.create({
  agent_id: agent.id,
  purpose: 'Buy research data',
  max_spend_total: '10.00',
  max_spend_per_transaction: '5.00',
  allowed_sellers: ['api.example.com'],
  expires_at: '2099-01-01T00:00:00Z',
})

// A refusal is a result, with a code for the program and a sentence for the person.
const payment = { agent_id: agent.id, mandate_id: mandate.id, resource_url: 'https://api.example.com/data' }
const refused = await purser.payments.requestProof({ ...payment, amount: '6.00' })
if (refused.decision === 'denied') console.log(refused.reason_code, '-', refused.reason_detail)

const granted = await purser.payments.requestProof({ ...payment, amount: '4.00' })
if (granted.decision === 'denied') throw new Error(granted.reason_detail)
const charge = await purser.payments.verify(
  { proof: granted.proof, merchant_domain: 'api.example.com', expected_amount: '4.00' },
  { idempotencyKey: 'order-1001' },
)
console.log(charge.verified ? 'charged' : `not charged: ${charge.reason}`)

// Pages are fetched as the loop needs them.
for await (const { status, amount } of purser.transactions.list({ agent_id: agent.id })) {
  console.log(status, amount)
}

// Anything that is neither a success nor a refusal is thrown.
try {
  await purser.mandates.get('mandate_of_somebody_else')
} catch (error) {
  if (!(error instanceof NotFoundError)) throw error
  console.log(error.status, error.code)
}

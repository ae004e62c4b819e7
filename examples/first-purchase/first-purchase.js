const purser = process.env.PURSER_URL ?? 'http://127.0.0.1:8080'

async function post(path, body) {
  const answer = await fetch(purser + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${process.env.PURSER_SANDBOX_KEY}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify(body),
    // Longer than the ten seconds that the service waits for its database.
    signal: AbortSignal.timeout(15_000),
  })
  if (answer.status === 401) throw new Error('PURSER_SANDBOX_KEY is missing, or not a key of this service')
  return answer.json()
}

// The owner gives an agent a mandate: 10.00 in total, 5.00 per payment, at one seller.
const agent = await post('/agents', { name: 'research-bot' })
const mandate = await post('/mandates', {
  agent_id: agent.id,
  purpose: 'Buy research data',
  max_spend_total: '10.00',
  max_spend_per_transaction: '5.00',
  allowed_sellers: ['api.example.com'],
  expires_at: '2099-01-01T00:00:00Z',
})

// The agent requests a proof of payment, which holds 4.00 of its budget.
const payment = { agent_id: agent.id, mandate_id: mandate.id, resource_url: 'https://api.example.com/data' }
const { proof } = await post('/v1/payments/proof', { ...payment, amount: '4.00' })

// The merchant receives the proof in X-Payment-Proof and verifies it, which charges it once.
const charge = { proof, merchant_domain: 'api.example.com', expected_amount: '4.00' }
console.log('verified    ', await post('/v1/payments/verify', charge))
console.log('shown again ', await post('/v1/payments/verify', charge))

// A payment above the cap is refused, with the reason.
console.log('over the cap', await post('/v1/payments/proof', { ...payment, amount: '6.00' }))

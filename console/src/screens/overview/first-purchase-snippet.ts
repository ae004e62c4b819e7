/** A program that makes a whole purchase at this service, with nothing but Node. */
export function firstPurchaseSnippet(serviceUrl: string): string {
  return `const headers = {
  authorization: \`Bearer \${process.env.PURSER_SANDBOX_KEY}\`,
  'content-type': 'application/json',
}
async function post(path, body) {
  const answer = await fetch('${serviceUrl}' + path, { method: 'POST', headers, body: JSON.stringify(body) })
  return answer.json()
}

// The owner: an agent, and a mandate for it.
const agent = await post('/agents', { name: 'research-bot' })
const mandate = await post('/mandates', {
  agent_id: agent.id,
  purpose: 'Buy research data',
  max_spend_total: '10.00',
  max_spend_per_transaction: '5.00',
  allowed_sellers: ['api.example.com'],
  expires_at: new Date(Date.now() + 30 * 24 * 3600 * 1000).toISOString(),
})

// The agent: a proof of payment, for which 4.00 are held.
const { proof } = await post('/v1/payments/proof', {
  agent_id: agent.id,
  mandate_id: mandate.id,
  amount: '4.00',
  resource_url: 'https://api.example.com/data',
})

// The merchant: verified, and charged, once.
console.log(await post('/v1/payments/verify', {
  proof,
  merchant_domain: 'api.example.com',
  expected_amount: '4.00',
}))
`
}

import { ConflictError, Purser } from '@purser/client'

// What an owner does once for a merchant and for an agent that buys from it. Here both are of one account; each
// may as well be of its own. Prints the settings of both programs, for a shell to take in.
const { PURSER_SANDBOX_KEY: apiKey, PURSER_URL: baseUrl } = process.env
// An owner's key is not sent to an address that nobody named, where another program may listen.
if (!apiKey || !baseUrl) {
  console.error(
    'Set PURSER_URL and PURSER_SANDBOX_KEY: paste both lines that the service printed at its first start.',
  )
  process.exit(1)
}
const owner = new Purser({ apiKey, baseUrl })
const domain = process.argv[2] ?? 'localhost'

// The merchant: its domain, and a key that can collect payments and do nothing else.
await owner.sellers.create({ name: 'My shop', domain, price_config: {} }).catch((error) => {
  if (!(error instanceof ConflictError)) throw error // It was registered before, which is fine.
})
const merchant = await owner.apiKeys.create({ role: 'merchant', environment: 'sandbox', label: domain })

// The agent: what it may spend, at whom and until when, and a key that can pay within that and do nothing else.
const agent = await owner.agents.create({ name: 'first-customer' })
const mandate = await owner.mandates.create({
  agent_id: agent.id,
  purpose: `Try ${domain}`,
  max_spend_total: '10.00',
  max_spend_per_transaction: '5.00',
  allowed_sellers: [domain],
  expires_at: new Date(Date.now() + 30 * 86_400_000).toISOString(),
})
const customer = await owner.apiKeys.create({ role: 'agent', environment: 'sandbox', agent_id: agent.id })

console.log(`export PURSER_MERCHANT_KEY=${merchant.key}
export PURSER_AGENT_KEY=${customer.key}
export PURSER_AGENT_ID=${agent.id}
export PURSER_MANDATE_ID=${mandate.id}`)

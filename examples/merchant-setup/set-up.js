import { ConflictError, Purser } from '@purser/client'

// What an owner does once for a merchant, and for an agent that buys from it. Here both belong to one account; they
// could also have separate ones. Prints the settings of both programs for the shell.
const { PURSER_SANDBOX_KEY: apiKey, PURSER_URL: baseUrl } = process.env
// Never send an owner's key to a default URL, where another program may be listening.
if (!apiKey || !baseUrl) {
  console.error(
    'Set PURSER_URL and PURSER_SANDBOX_KEY: paste both lines that the service printed at its first start. If the key is lost, stop the service, and `npx purser keys issue --operator` prints another one.',
  )
  process.exit(1)
}
if (!apiKey.startsWith('svc_sand_')) {
  console.error("PURSER_SANDBOX_KEY is not a sandbox key: paste the service's line with svc_sand_….")
  process.exit(1)
}
const owner = new Purser({ apiKey, baseUrl })
const domain = process.argv[2] ?? 'localhost'

setUp().catch((error) => {
  // For example, the service does not run, or the key is another service's.
  console.error(error.message)
  process.exit(1)
})

async function setUp() {
  // The merchant: its domain, and a key that can collect payments and nothing else.
  await owner.sellers.create({ name: 'My shop', domain, price_config: {} }).catch((error) => {
    if (!(error instanceof ConflictError)) throw error // Already registered.
  })
  const merchant = await owner.apiKeys.create({ role: 'merchant', environment: 'sandbox', label: domain })

  // The agent: its mandate, and a key that can pay within it and nothing else.
  const agent = await owner.agents.create({ name: 'first-customer' })
  const mandate = await owner.mandates.create({
    agent_id: agent.id,
    purpose: `Try ${domain}`,
    max_spend_total: '10.00',
    max_spend_per_transaction: '5.00',
    allowed_sellers: [domain],
    expires_at: '2099-01-01T00:00:00Z',
  })
  const customer = await owner.apiKeys.create({ role: 'agent', environment: 'sandbox', agent_id: agent.id })

  console.log(`export PURSER_MERCHANT_KEY=${merchant.key}
export PURSER_AGENT_KEY=${customer.key}
export PURSER_AGENT_ID=${agent.id}
export PURSER_MANDATE_ID=${mandate.id}`)
}

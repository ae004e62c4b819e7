import { Purser, wrapFetchWithPayment } from '@purser/client'

const addresses = process.argv.slice(2)
// The agent's own key: it can request payments within the agent's mandates and nothing else.
const { PURSER_AGENT_KEY: apiKey, PURSER_URL: baseUrl } = process.env
if (!apiKey || addresses.length === 0) {
  console.error('Set the variables that set-up.js prints, and pass the URLs to fetch: agent.js <url> …')
  process.exit(1)
}
const client = new Purser({ apiKey, baseUrl })

// A drop-in fetch that pays when asked to, up to 5.00.
const fetchPaid = wrapFetchWithPayment(fetch, {
  client,
  agentId: process.env.PURSER_AGENT_ID,
  mandateId: process.env.PURSER_MANDATE_ID,
  maxAmount: '5.00',
  onDecision: report,
})

for (const address of addresses) {
  try {
    const answer = await fetchPaid(address, { signal: AbortSignal.timeout(30_000) })
    console.log(answer.status, await answer.text())
  } catch (error) {
    // For example, the shop is not running, or whether a payment was charged is uncertain.
    console.error(`${address}: ${error.message}${error.cause?.message ? ` (${error.cause.message})` : ''}`)
    process.exitCode = 1
  }
}

function report(decision) {
  const { outcome, challenge } = decision
  if (outcome === 'approved') console.log(`paying ${challenge.amount} for ${challenge.resource}`)
  if (outcome === 'denied') console.log(`denied (${decision.reason_code}): ${decision.reason_detail}`)
  if (outcome === 'denied' && decision.approval) console.log(`decide at ${decision.approval.url}`)
  if (outcome === 'skipped') console.log(`not paid (${decision.why}): ${decision.detail}`)
}

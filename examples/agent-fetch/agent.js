import { Purser, wrapFetchWithPayment } from '@purser/client'

// The agent's own key: it can request payments within the agent's mandates and nothing else.
const client = new Purser({ apiKey: process.env.PURSER_AGENT_KEY, baseUrl: process.env.PURSER_URL })

// A drop-in fetch that pays when asked to, up to 5.00.
const fetchPaid = wrapFetchWithPayment(fetch, {
  client,
  agentId: process.env.PURSER_AGENT_ID,
  mandateId: process.env.PURSER_MANDATE_ID,
  maxAmount: '5.00',
  onDecision: report,
})

for (const address of process.argv.slice(2)) {
  const answer = await fetchPaid(address, { signal: AbortSignal.timeout(30_000) })
  console.log(answer.status, await answer.text())
}

function report(decision) {
  const { outcome, challenge } = decision
  if (outcome === 'approved') console.log(`paying ${challenge.amount} for ${challenge.resource}`)
  if (outcome === 'denied') console.log(`denied (${decision.reason_code}): ${decision.reason_detail}`)
  if (outcome === 'denied' && decision.approval) console.log(`decide at ${decision.approval.url}`)
  if (outcome === 'skipped') console.log(`not paid (${decision.why}): ${decision.detail}`)
}

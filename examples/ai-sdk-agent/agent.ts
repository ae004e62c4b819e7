// npx node examples/ai-sdk-agent/agent.ts 'http://localhost:3000/forecast?days=7' http://localhost:3000/weather
import { purserTools } from '@purser/mcp/ai-sdk'
import { generateText, isStepCount } from 'ai'

import { scriptedModel } from './scripted-model.ts'

const { PURSER_URL: url, PURSER_AGENT_KEY: apiKey = '', PURSER_MANDATE_ID: mandateId } = process.env
const { PURSER_MCP_PRIVATE_HOSTS } = process.env
// Allows buying from the shop on this machine.
const privateHosts = (PURSER_MCP_PRIVATE_HOSTS || 'localhost:3000').split(',')
const addresses = process.argv.slice(2)

const { text, steps } = await generateText({
  model: scriptedModel(addresses), // With a provider's package: openai('…'), anthropic('…'), …
  tools: purserTools({ apiKey, url, mandateId, privateHosts }),
  stopWhen: isStepCount(8),
  prompt: `Find out how the weather will be. The best source comes first: ${addresses.join(' ')}`,
})

for (const { toolResults } of steps) {
  for (const { toolName, output } of toolResults) {
    const { outcome, reason_detail, remedy, payment } = output as Record<string, unknown>
    console.log(toolName, { outcome, reason_detail, remedy, payment })
  }
}
console.log(text)

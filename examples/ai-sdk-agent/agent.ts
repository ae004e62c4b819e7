import { purserTools } from '@purser/mcp/ai-sdk'
import { generateText, isStepCount } from 'ai'

import { scriptedModel } from './scripted-model.ts'

const { PURSER_URL: url, PURSER_AGENT_KEY: apiKey = '', SHOP_URL: shop = '' } = process.env

const { text, steps } = await generateText({
  model: scriptedModel(shop), // With a provider's package: openai('…'), anthropic('…'), …
  tools: purserTools({ apiKey, url, privateHosts: ['localhost'] }), // The shop of this example is on this machine.
  stopWhen: isStepCount(8),
  prompt: `Find out from ${shop} how the weather will be. /dear has every detail, /report the essentials.`,
})

for (const { toolResults } of steps) {
  for (const { toolName, output } of toolResults) {
    const { outcome, reason_detail, remedy, payment } = output as Record<string, unknown>
    console.log(toolName, { outcome, reason_detail, remedy, payment })
  }
}
console.log(text)

// npx node examples/ai-sdk-agent/approving-agent.ts 'http://localhost:3000/forecast?days=7' http://localhost:3000/weather
import { createInterface } from 'node:readline/promises'

import { compareAmounts } from '@purser/client'
import { purserTools } from '@purser/mcp/ai-sdk'
import { generateText, isStepCount, type ModelMessage, type ToolApprovalResponse } from 'ai'

import { scriptedModel } from './scripted-model.ts'

const { PURSER_URL: url, PURSER_AGENT_KEY: apiKey = '', PURSER_MANDATE_ID: mandateId } = process.env
const { PURSER_MCP_PRIVATE_HOSTS } = process.env
const privateHosts = (PURSER_MCP_PRIVATE_HOSTS || 'localhost:3000').split(',')
const addresses = process.argv.slice(2)

// A person approves anything that may cost more than 1.00.
const needsApproval = ({ price }: { price: string }) => compareAmounts(price, '1.00') > 0
const tools = purserTools({ apiKey, url, mandateId, privateHosts }, { needsApproval })
const model = scriptedModel(addresses)
const messages: ModelMessage[] = [{ role: 'user', content: 'Find out how the weather will be.' }]
const terminal = createInterface({ input: process.stdin, output: process.stdout })

for (;;) {
  const answer = await generateText({ model, tools, messages, stopWhen: isStepCount(8) })
  messages.push(...answer.responseMessages)
  const questions = answer.content.filter((part) => part.type === 'tool-approval-request')
  if (questions.length === 0) {
    console.log(answer.text)
    break
  }
  const content: ToolApprovalResponse[] = []
  for (const { approvalId, toolCall } of questions) {
    const said = await terminal.question(`${toolCall.toolName} ${JSON.stringify(toolCall.input)}? [y/N] `)
    content.push({ type: 'tool-approval-response', approvalId, approved: said === 'y' })
  }
  messages.push({ role: 'tool', content })
}
terminal.close()

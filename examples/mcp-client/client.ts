import { fileURLToPath } from 'node:url'

import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

const { PURSER_URL = '', PURSER_AGENT_KEY = '', SHOP_URL = '' } = process.env

// Outside this repository: command 'npx', args ['--yes', '@purser/mcp'].
const server = fileURLToPath(import.meta.resolve('@purser/mcp/server'))
const client = new Client({ name: 'shopper', version: '1.0.0' })
await client.connect(
  new StdioClientTransport({
    command: process.execPath,
    args: [server],
    env: {
      PURSER_URL,
      PURSER_AGENT_KEY,
      PURSER_MCP_STATE: 'memory',
      PURSER_MCP_PRIVATE_HOSTS: 'localhost', // The shop of this example is on this machine.
    },
  }),
)

const { tools } = await client.listTools()
console.log(`tools: ${tools.map(({ name }) => name).join(', ')}`)

const purchase = { purchase_id: 'weather-today', url: `${SHOP_URL}/report`, max_amount: '5.00' }
const calls = [
  ['get_budget', {}],
  ['fetch_paid_resource', purchase],
  ['fetch_paid_resource', purchase], // As after a lost answer: the same purchase, not another one.
  ['pay', { purchase_id: 'weather-in-detail', resource_url: `${SHOP_URL}/dear`, amount: '7.00' }],
] as const
for (const [name, args] of calls) {
  const { content } = await client.callTool({ name, arguments: args })
  console.log(`\n> ${name}`)
  for (const block of content) if (block.type === 'text') console.log(block.text)
}
await client.close()

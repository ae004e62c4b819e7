// npx node examples/mcp-client/client.ts http://localhost:3000/weather 'http://localhost:3000/forecast?days=7'
import { fileURLToPath } from 'node:url'

import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

const { PURSER_URL = '', PURSER_AGENT_KEY = '', PURSER_MANDATE_ID = '' } = process.env
const { PURSER_MCP_PRIVATE_HOSTS = 'localhost:3000' } = process.env

// In your own project, with the package installed: node_modules/@purser/mcp/dist/main.js.
const server = fileURLToPath(import.meta.resolve('@purser/mcp/server'))
const client = new Client({ name: 'shopper', version: '1.0.0' })
await client.connect(
  new StdioClientTransport({
    command: process.execPath,
    args: [server],
    env: {
      PURSER_URL,
      PURSER_AGENT_KEY,
      PURSER_MANDATE_ID, // Empty for any of the agent's mandates.
      PURSER_MCP_STATE: 'memory',
      PURSER_MCP_PRIVATE_HOSTS, // Allows buying from the shop on this machine.
    },
  }),
)

async function call(name: string, args: Record<string, string> = {}): Promise<void> {
  const { content } = await client.callTool({ name, arguments: args })
  console.log(`> ${name}`)
  for (const block of content) if (block.type === 'text') console.log(`${block.text}\n`)
}

await call('get_budget')
for (const url of process.argv.slice(2)) {
  const purchase = { purchase_id: `read ${url}`, url, max_amount: '10.00' }
  await call('fetch_paid_resource', purchase)
  await call('fetch_paid_resource', purchase) // As after a lost response: the same purchase, not a second one.
}
await client.close()

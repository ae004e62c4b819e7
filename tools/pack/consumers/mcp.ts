// A program that serves the tools to a model over its own transport.
import { Purser } from '@purser/client'
import { createMcpServer, createRecordsInMemory, openWallet, type Wallet } from '@purser/mcp'

declare const process: { readonly env: Record<string, string | undefined> }
const { PURSER_URL: url = '', PURSER_KEY = '' } = process.env

const purser = new Purser({ apiKey: PURSER_KEY, baseUrl: url })
const { id: agent_id } = await purser.agents.create({ name: 'research-bot' })
const issued = await purser.apiKeys.create({ role: 'agent', environment: 'sandbox', agent_id })

const openRecords = () => Promise.resolve(createRecordsInMemory(100))
const wallet: Wallet = openWallet({ apiKey: issued.key, url, openRecords })
const server = createMcpServer(wallet, { log: (line) => console.error(line) })
await server.close()

const agent = await wallet.agent()
if (agent.id !== agent_id) throw new Error(JSON.stringify(agent))
console.log('done')

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

import {
  Client,
  InMemoryTransport,
  StreamableHTTPClientTransport,
  type CallToolResult,
  type ClientCapabilities,
  type ClientOptions,
  type ElicitRequestFormParams,
  type ElicitResult,
} from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

import { compileCache } from '../../../service/testing/compile-cache.ts'
import { createMcpServer, type McpServerOptions } from '../src/mcp-server.ts'
import { openWallet, type WalletOptions } from '../src/wallet.ts'

/** The command, run with the same Node as the tests. */
export const command = join(import.meta.dirname, '../src/main.ts')

export const ways = [
  { transport: 'stdio', revision: '2025' },
  { transport: 'stdio', revision: '2026' },
  { transport: 'http', revision: '2025' },
  { transport: 'http', revision: '2026' },
] as const
export type Way = (typeof ways)[number]

/** The official client, connected to the command in a separate process. */
export interface Connection {
  readonly client: Client
  readonly call: (tool: string, args?: Record<string, unknown>) => Promise<CallToolResult>
  /** The command's standard error so far. */
  readonly log: () => string
  /** Kills the command, like a crash. */
  readonly kill: () => Promise<void>
}

/** The person who answers a client's questions. */
export interface Person {
  /** The capability that the client declares; undefined declares none. */
  readonly capability: ClientCapabilities['elicitation']
  readonly answer: (form: ElicitRequestFormParams) => ElicitResult | Promise<ElicitResult>
}

function clientFor(person: Person | undefined, options: ClientOptions = {}): Client {
  if (person?.capability === undefined) return new Client({ name: 'test', version: '1' }, options)
  const capabilities = { elicitation: person.capability }
  const client = new Client({ name: 'test', version: '1' }, { ...options, capabilities })
  client.setRequestHandler('elicitation/create', async ({ params }) =>
    person.answer(params as ElicitRequestFormParams),
  )
  return client
}

interface Context {
  readonly after: (stop: () => Promise<void>) => void
}

export async function connect(
  context: Context,
  { transport, revision }: Way,
  environment: Readonly<Record<string, string>>,
  person?: Person,
): Promise<Connection> {
  const mode = revision === '2026' ? ({ pin: '2026-07-28' } as const) : 'legacy'
  const client = clientFor(person, { versionNegotiation: { mode } })
  const { log, kill } = await (transport === 'stdio' ? overStdio : overHttp)(context, client, environment)
  context.after(() => client.close())
  return {
    client,
    call: (name, args = {}) => client.callTool({ name, arguments: args }),
    log,
    kill,
  }
}

/** The official client, connected to a server in this process, for tests independent of the transport. */
export async function connectHere(
  context: Context,
  options: WalletOptions,
  serverOptions: McpServerOptions = {},
  person?: Person,
): Promise<Pick<Connection, 'client' | 'call'>> {
  const client = clientFor(person)
  const server = createMcpServer(openWallet(options), serverOptions)
  const [here, there] = InMemoryTransport.createLinkedPair()
  await server.connect(there)
  await client.connect(here)
  context.after(() => client.close())
  return { client, call: (name, args = {}) => client.callTool({ name, arguments: args }) }
}

async function overStdio(_context: Context, client: Client, env: Readonly<Record<string, string>>) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [command],
    env: { ...compileCache, ...env },
    stderr: 'pipe',
  })
  let text = ''
  transport.stderr?.on('data', (chunk) => (text += String(chunk)))
  await client.connect(transport)
  return {
    log: () => text,
    kill: async () => {
      const { promise: closed, resolve } = Promise.withResolvers<void>()
      // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the client offers no other way
      client.onclose = resolve
      assert.ok(transport.pid)
      process.kill(transport.pid, 'SIGKILL')
      await closed
    },
  }
}

async function overHttp(context: Context, client: Client, env: Readonly<Record<string, string>>) {
  const { url, token, log, kill } = await startHttp(context, env)
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }))
  return { log, kill }
}

/** The command, serving HTTP on a free port. */
export async function startHttp(context: Context, env: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [command, '--http', '0'], {
    env: { ...compileCache, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const closed = once(child, 'close')
  const kill = async () => {
    child.kill('SIGKILL')
    await closed
  }
  context.after(async () => {
    child.kill('SIGTERM')
    await closed
  })
  let text = ''
  let url: string | undefined
  for await (const line of createInterface({ input: child.stderr })) {
    text += `${line}\n`
    url ??= /serving (\S+)/.exec(line)?.[1]
    const token = /Bearer (\S+)/.exec(line)?.[1] ?? env['PURSER_MCP_TOKEN']
    if (url !== undefined && token !== undefined) {
      child.stderr.on('data', (chunk) => (text += String(chunk)))
      child.stderr.resume()
      return { url, token, log: () => text, kill }
    }
  }
  throw new Error(`the command did not start: ${text}`)
}

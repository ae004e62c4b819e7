import { McpServer } from '@modelcontextprotocol/server'
import type { z } from 'zod'

import { callTool, tools } from './tools/call-tool.ts'
import type { Tool } from './tools/tool.ts'
import { version } from './version.ts'
import type { Wallet } from './wallet.ts'

export interface McpServerOptions {
  /** Told of every failure, in one line without secrets. */
  readonly log?: ((line: string) => void) | undefined
}

/** An MCP server with the tools of a wallet. Transports are connected by the caller. */
export function createMcpServer(wallet: Wallet, options: McpServerOptions = {}): McpServer {
  const server = new McpServer({ name: 'purser', title: 'Purser', version }, { instructions })
  for (const tool of tools) register(server, wallet, tool, options)
  return server
}

function register(server: McpServer, wallet: Wallet, tool: Tool, { log }: McpServerOptions): void {
  const { name, title, description, annotations, input, output } = tool
  server.registerTool<z.ZodObject, z.ZodObject>(
    name,
    { title, description, annotations: { title, ...annotations }, inputSchema: input, outputSchema: output },
    async (args, context) => {
      const answer = await callTool(tool, wallet, args, { signal: context.mcpReq.signal, log })
      const content = [{ type: 'text' as const, text: answer.text }]
      // A failure has not the shape that the tool promises for its results, and the text says it all.
      return answer.failed
        ? { content, isError: true }
        : { content, structuredContent: { ...answer.structured }, isError: false }
    },
  )
}

const instructions =
  'You can spend money within limits that a person has set. See get_budget first. Buy with fetch_paid_resource or pay; ' +
  'give each purchase its own purchase_id and reuse it when you retry, so that nothing is charged twice. A denial ' +
  'is a decision: follow its remedy, and do not try to get around it.'

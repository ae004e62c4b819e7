import { tool, type Tool as AiTool } from 'ai'

import { callTool, tools } from './tools/call-tool.ts'
import type { Tool } from './tools/tool.ts'
import { openWallet, type Wallet, type WalletOptions } from './wallet.ts'

/** The tools for `generateText`, `streamText` and agents of the AI SDK, by their names. */
export function purserTools(wallet: Wallet | WalletOptions): Record<string, AiTool> {
  const opened = 'client' in wallet ? wallet : openWallet(wallet)
  return Object.fromEntries(tools.map((one) => [one.name, toAiTool(one as unknown as Tool, opened)]))
}

function toAiTool(one: Tool, wallet: Wallet): AiTool {
  return tool({
    description: one.description,
    inputSchema: one.input,
    execute: async (input, { abortSignal }) =>
      (await callTool(one, wallet, input, { signal: abortSignal })).structured,
  })
}

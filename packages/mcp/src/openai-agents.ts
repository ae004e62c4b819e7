import { tool, type FunctionTool } from '@openai/agents'
import { z } from 'zod'

import { callTool, tools } from './tools/call-tool.ts'
import type { Tool } from './tools/tool.ts'
import { openWallet, type Wallet, type WalletOptions } from './wallet.ts'

/** The tools for an `Agent` of the OpenAI Agents SDK. */
export function purserTools(wallet: Wallet | WalletOptions): FunctionTool[] {
  const opened = 'client' in wallet ? wallet : openWallet(wallet)
  return tools.map((one) => toAgentsTool(one as unknown as Tool, opened))
}

function toAgentsTool(one: Tool, wallet: Wallet): FunctionTool {
  const { required = [], properties = {} } = z.toJSONSchema(one.input, { io: 'input' })
  return tool({
    name: one.name,
    description: one.description,
    // Not strict, which would make the model fill in every optional field.
    strict: false,
    parameters: { type: 'object', properties, required, additionalProperties: true },
    execute: async (given, _context, details) => {
      const input = one.input.safeParse(given)
      if (!input.success) return { outcome: 'failed', ...invalidArguments(input.error) }
      return (await callTool(one, wallet, input.data, { signal: details?.signal })).structured
    },
  }) as FunctionTool
}

function invalidArguments(error: z.ZodError) {
  return {
    reason_code: 'invalid_request',
    reason_detail: error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '),
    remedy: 'Correct the arguments and call again.',
  }
}

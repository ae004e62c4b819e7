import { tool, type FunctionTool, type RunContext } from '@openai/agents'
import { z } from 'zod'

import { proposalOf, type ProposedPurchase } from './purchases/order.ts'
import { callTool, tools } from './tools/call-tool.ts'
import type { Tool } from './tools/tool.ts'
import { openWallet, type Wallet, type WalletOptions } from './wallet.ts'

export type { ProposedPurchase } from './purchases/order.ts'

export interface OpenAiAgentsOptions {
  /**
   * Whether a person must approve a purchase before it begins: `true` for all, or a function that decides by
   * price, resource and seller. The run stops with an interruption; before the approval, the merchant is not
   * contacted and nothing is held or charged. Every result of the function except `false` asks.
   */
  readonly needsApproval?: boolean | NeedsApproval | undefined
}

/** Decides about a purchase; `call` has the SDK's arguments of a tool's `needsApproval`. */
export type NeedsApproval = (
  purchase: ProposedPurchase,
  call: { readonly runContext: RunContext; readonly callId: string | undefined },
) => boolean | PromiseLike<boolean>

/**
 * The tools for an `Agent` of the OpenAI Agents SDK.
 *
 * @example
 * const tools = purserTools(
 *   { apiKey, url },
 *   { needsApproval: ({ price }) => compareAmounts(price, '1.00') > 0 },
 * )
 */
export function purserTools(
  wallet: Wallet | WalletOptions,
  options: OpenAiAgentsOptions = {},
): FunctionTool[] {
  const opened = 'client' in wallet ? wallet : openWallet(wallet)
  return tools.map((one) => toAgentsTool(one as unknown as Tool, opened, options))
}

function toAgentsTool(one: Tool, wallet: Wallet, { needsApproval }: OpenAiAgentsOptions): FunctionTool {
  const { required = [], properties = {} } = z.toJSONSchema(one.input, { io: 'input' })
  return tool({
    name: one.name,
    description: one.description,
    // Not strict, which would make the model fill in every optional field.
    strict: false,
    parameters: { type: 'object', properties, required, additionalProperties: true },
    needsApproval: approvalOf(one, needsApproval),
    execute: async (given, _context, details) => {
      const input = one.input.safeParse(given)
      if (!input.success) return { outcome: 'failed', ...invalidArguments(input.error) }
      return (await callTool(one, wallet, input.data, { signal: details?.signal })).structured
    },
  }) as FunctionTool
}

/** Tools that spend nothing need no approval. */
function approvalOf({ input, order }: Tool, needsApproval: OpenAiAgentsOptions['needsApproval'] = false) {
  if (!order || typeof needsApproval === 'boolean') return order !== undefined && needsApproval !== false
  return async (runContext: RunContext, given: unknown, callId?: string) => {
    const args = input.safeParse(given)
    // The tool refuses these arguments and says why.
    if (!args.success) return false
    const said: unknown = await needsApproval(proposalOf(order(args.data)), { runContext, callId })
    // A function that returns nothing has not allowed the purchase.
    return said !== false
  }
}

function invalidArguments(error: z.ZodError) {
  return {
    reason_code: 'invalid_request',
    reason_detail: error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '),
    remedy: 'Correct the arguments and call again.',
  }
}

import { tool, type Tool as AiTool } from 'ai'

import { proposalOf, type ProposedPurchase } from './purchases/order.ts'
import { callTool, tools } from './tools/call-tool.ts'
import type { Tool, ToolName } from './tools/tool.ts'
import { openWallet, type Wallet, type WalletOptions } from './wallet.ts'

export type { ProposedPurchase } from './purchases/order.ts'

export interface AiSdkOptions {
  /**
   * Whether a person must approve a purchase before it begins: `true` for all, or a function that decides by
   * price, resource and seller. The run stops with a `tool-approval-request`; before the approval, the
   * merchant is not contacted and nothing is held or charged. Every result of the function except `false`
   * asks. `toolApproval` of `generateText` and `streamText` takes precedence.
   */
  readonly needsApproval?: boolean | NeedsApproval | undefined
}

/** Decides about a purchase; `call` has the AI SDK's arguments of a tool's `needsApproval`. */
export type NeedsApproval = (purchase: ProposedPurchase, call: ApprovalCall) => boolean | PromiseLike<boolean>

type ApprovalCall = Parameters<Extract<AiTool['needsApproval'], (...args: never) => unknown>>[1]

/**
 * The tools for `generateText`, `streamText` and agents of the AI SDK, by their names.
 *
 * @example
 * const tools = purserTools(
 *   { apiKey, url },
 *   { needsApproval: ({ price }) => compareAmounts(price, '1.00') > 0 },
 * )
 */
export function purserTools(
  wallet: Wallet | WalletOptions,
  options: AiSdkOptions = {},
): Record<ToolName, AiTool> {
  const opened = 'client' in wallet ? wallet : openWallet(wallet)
  const named = tools.map((one) => [one.name, toAiTool(one as unknown as Tool, opened, options)] as const)
  return Object.fromEntries(named) as Record<ToolName, AiTool>
}

function toAiTool(one: Tool, wallet: Wallet, { needsApproval }: AiSdkOptions): AiTool {
  return tool({
    description: one.description,
    inputSchema: one.input,
    needsApproval: approvalOf(one, needsApproval),
    execute: async (input, { abortSignal }) =>
      (await callTool(one, wallet, input, { signal: abortSignal })).structured,
  })
}

/** Tools that spend nothing need no approval. */
function approvalOf({ order }: Tool, needsApproval: AiSdkOptions['needsApproval'] = false) {
  if (!order || typeof needsApproval === 'boolean') return order !== undefined && needsApproval !== false
  return async (input: Record<string, unknown>, call: ApprovalCall) => {
    const said: unknown = await needsApproval(proposalOf(order(input)), call)
    // A function that returns nothing has not allowed the purchase.
    return said !== false
  }
}

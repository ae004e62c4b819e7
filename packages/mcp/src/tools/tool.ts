import type { z } from 'zod'

import type { Approval } from '../purchases/approval.ts'
import type { Order } from '../purchases/order.ts'
import type { Wallet } from '../wallet.ts'

/** The context of a tool, in addition to its arguments. */
export interface ToolCall {
  readonly signal?: AbortSignal | undefined
  /** Approves purchases; by default no approval is needed. */
  readonly approval?: Approval | undefined
}

export const toolNames = [
  'get_budget',
  'check_payment',
  'pay',
  'fetch_paid_resource',
  'list_payments',
  'request_increase',
] as const
export type ToolName = (typeof toolNames)[number]

/** A tool, independent of the framework. */
export interface Tool<Input extends z.ZodObject = z.ZodObject, Output extends z.ZodObject = z.ZodObject> {
  readonly name: ToolName
  readonly title: string
  /** What it does and when to use it, for the model. */
  readonly description: string
  readonly annotations: {
    readonly readOnlyHint: boolean
    readonly destructiveHint: boolean
    readonly idempotentHint: boolean
    readonly openWorldHint: boolean
  }
  readonly input: Input
  readonly output: Output
  /** The proposed purchase; only for tools that spend money. */
  readonly order?: (input: z.output<Input>) => Order
  /** The result or a denial. Rejects if the tool could not run; see `failure.ts`. */
  readonly run: (wallet: Wallet, input: z.output<Input>, call: ToolCall) => Promise<z.output<Output>>
  /** The complete result as text, for models that get no structured content. */
  readonly tell: (output: z.output<Output>) => string
}

/** Infers the types of a tool's schemas. */
export function defineTool<Input extends z.ZodObject, Output extends z.ZodObject>(
  tool: Tool<Input, Output>,
): Tool<Input, Output> {
  return tool
}

/** Reads the service's records and changes nothing. */
export const readsOnly = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const

/** Spends money irreversibly; repeating the same purchase spends nothing. Contacts merchants. */
export const spendsMoney = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: true,
  openWorldHint: true,
} as const

import type { z } from 'zod'

import type { Approval } from '../purchases/approval.ts'
import type { Order } from '../purchases/order.ts'
import type { Wallet } from '../wallet.ts'

/** What a tool needs to know of the call besides its arguments. */
export interface ToolCall {
  readonly signal?: AbortSignal | undefined
  /** Who approves purchases; nobody has to when it is left out. */
  readonly approval?: Approval | undefined
}

/** A tool as every framework gets it. */
export interface Tool<Input extends z.ZodObject = z.ZodObject, Output extends z.ZodObject = z.ZodObject> {
  readonly name: string
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
  /** What a call orders; only of tools that spend money. */
  readonly order?: (input: z.output<Input>) => Order
  /** What was done, or why it was denied. Rejects when it could not be done at all; see `failure.ts`. */
  readonly run: (wallet: Wallet, input: z.output<Input>, call: ToolCall) => Promise<z.output<Output>>
  /** The same in words, complete, for models that get no structured content. */
  readonly tell: (output: z.output<Output>) => string
}

/** Keeps the types of a tool's schemas together. */
export function defineTool<Input extends z.ZodObject, Output extends z.ZodObject>(
  tool: Tool<Input, Output>,
): Tool<Input, Output> {
  return tool
}

/** It looks at the service's records and changes nothing. */
export const readsOnly = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const

/** It spends money, which nobody gives back; the same purchase again spends none. It talks to merchants. */
export const spendsMoney = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: true,
  openWorldHint: true,
} as const

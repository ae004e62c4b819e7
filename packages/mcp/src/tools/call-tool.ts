import type { z } from 'zod'

import { reasonOf } from '../failure.ts'
import type { Reason } from '../reason.ts'
import type { Wallet } from '../wallet.ts'
import { checkPayment } from './check-payment.ts'
import { fetchPaidResource } from './fetch-paid-resource.ts'
import { getBudget } from './get-budget.ts'
import { listPayments } from './list-payments.ts'
import { pay } from './pay.ts'
import { requestIncrease } from './request-increase.ts'
import type { Tool, ToolCall } from './tool.ts'

/** All tools, in the order in which models see them. */
export const tools = [getBudget, checkPayment, pay, fetchPaidResource, listPayments, requestIncrease] as const

/** The result of a tool. `failed` means that it could not run; a denial is an ordinary result. */
export type ToolAnswer<Output> =
  | { readonly failed: false; readonly structured: Output; readonly text: string }
  | { readonly failed: true; readonly structured: { outcome: 'failed' } & Reason; readonly text: string }

export interface CallToolOptions extends ToolCall {
  /** Called with each failure, as one line without secrets. */
  readonly log?: ((line: string) => void) | undefined
}

/** Runs a tool. Never rejects. Neither its result nor its log contains the key or a proof. */
export async function callTool<Input extends z.ZodObject, Output extends z.ZodObject>(
  tool: Tool<Input, Output>,
  wallet: Wallet,
  input: z.output<Input>,
  { log, ...call }: CallToolOptions = {},
): Promise<ToolAnswer<z.output<Output>>> {
  try {
    const structured = wallet.secrets.clean(await tool.run(wallet, input, call))
    return { failed: false, structured, text: tool.tell(structured) }
  } catch (error) {
    const reason = wallet.secrets.clean({ ...reasonOf(error) })
    log?.(wallet.secrets.clean(`${tool.name} failed: ${reason.reason_code}: ${messageOf(error)}`))
    const text = `Failed: ${reason.reason_detail} (${reason.reason_code})\nWhat to do: ${reason.remedy}`
    return { failed: true, structured: { outcome: 'failed', ...reason }, text }
  }
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? `${error.name}: ${error.message}` : String(error)).replaceAll(/\s+/g, ' ')
}

import { ConflictError, type Mandate, type NewLimit } from '@purser/client'
import { z } from 'zod'

import type { Reason } from '../reason.ts'
import { Amount, MandateId } from './fields.ts'
import { defineTool } from './tool.ts'

export const requestIncrease = defineTool({
  name: 'request_increase',
  title: 'Ask for a larger budget',
  description:
    'Asks the owner for wider limits of a mandate: a larger total, a larger max per payment, a ' +
    'later expiry, or a larger max of a limit over time. ' +
    'Nothing changes until the owner approves. Use it when a denial says that the budget or a limit is too small and ' +
    'the task needs more; not to get around a refusal of a person.',
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.object({
    mandate_id: MandateId,
    max_spend_total: Amount.optional().describe('The total budget that is needed, in USDC.'),
    max_spend_per_transaction: Amount.optional().describe('The max per payment that is needed, in USDC.'),
    expires_at: z.iso
      .datetime({ offset: true })
      .optional()
      .describe('Until when the mandate is needed, ISO 8601 with a time zone.'),
    limits: z
      .array(
        z.object({
          limit_id: z.string().max(128).describe('From get_budget; a limit with the scope `mandate`.'),
          max_amount: Amount.optional().describe('The sum over its time that is needed, in USDC.'),
          max_count: z.int().min(1).max(1_000_000_000).optional().describe('The number of payments.'),
        }),
      )
      .max(10)
      .optional()
      .describe('Limits over time that need a larger max; omitted ones stay as they are.'),
    reason: z
      .string()
      .min(1)
      .max(1_000)
      .describe('Why more is needed, for the person who decides: what it buys, and what it costs.'),
  }),
  output: z.object({
    outcome: z.enum(['requested', 'not_requested']),
    reason_code: z.string().nullable(),
    reason_detail: z.string().nullable(),
    remedy: z.string().nullable(),
    mandate_id: z.string().nullable(),
    approval_id: z.string().nullable(),
    expires_at: z.string().nullable().describe('Until when the owner can decide.'),
    url: z.string().nullable().describe('Where the owner decides, for the person you work for.'),
  }),
  run: async (wallet, { mandate_id, reason, limits: wider = [], ...given }, { signal }) => {
    const { max_spend_total, max_spend_per_transaction, expires_at: expiry } = given
    const terms = {
      ...(max_spend_total !== undefined && { max_spend_total }),
      ...(max_spend_per_transaction !== undefined && { max_spend_per_transaction }),
      ...(expiry !== undefined && { expires_at: expiry }),
    }
    const choice = await wallet.chooseMandate(mandate_id, signal)
    const nothing = { mandate_id: null, approval_id: null, expires_at: null, url: null }
    if ('reason' in choice) return { outcome: 'not_requested' as const, ...choice.reason, ...nothing }
    const { id } = choice.mandate
    const limits = widenedLimits(choice.mandate, wider)
    if (limits && 'reason_code' in limits)
      return { outcome: 'not_requested' as const, ...limits, ...nothing, mandate_id: id }
    const body = { ...terms, ...(limits && { limits: [...limits] }), reason }
    try {
      const request = await wallet.client.mandates.requestIncrease(id, body, { signal })
      const { id: approval_id, expires_at, url } = request
      return {
        outcome: 'requested' as const,
        reason_code: null,
        reason_detail: null,
        remedy: `Tell the person you work for that an owner decides at ${url}. Until then, the limits stay as they are.`,
        mandate_id: id,
        approval_id,
        expires_at,
        url,
      }
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error
      return { outcome: 'not_requested' as const, ...conflictOf(error), ...nothing, mandate_id: id }
    }
  },
  tell: ({ outcome, approval_id, reason_detail, reason_code, remedy }) =>
    outcome === 'requested'
      ? `Requested; the owner decides (${approval_id}).\nWhat to do: ${remedy}`
      : `Not requested: ${reason_detail} (${reason_code})\nWhat to do: ${remedy}`,
})

interface WiderLimit {
  readonly limit_id: string
  readonly max_amount?: string | undefined
  readonly max_count?: number | undefined
}

/** All limits of the mandate, with the wider maxes; undefined if none is named. */
function widenedLimits(
  { limits }: Mandate,
  wider: readonly WiderLimit[],
): readonly NewLimit[] | Reason | undefined {
  if (wider.length === 0) return undefined
  const unknown = wider.find(({ limit_id }) => limits.every(({ id }) => id !== limit_id))
  if (unknown) return notOwnLimit(unknown.limit_id)
  return limits.map(({ id, ...limit }) => {
    const { max_amount, max_count } = wider.findLast(({ limit_id }) => limit_id === id) ?? {}
    return {
      ...limit,
      ...(max_amount !== undefined && { max_amount }),
      ...(max_count !== undefined && { max_count }),
    }
  })
}

function notOwnLimit(limitId: string): Reason {
  return {
    reason_code: 'limit_not_of_mandate',
    reason_detail: `The mandate has no limit ${limitId}.`,
    remedy:
      'Call get_budget for the limits. This tool widens only those with the scope `mandate`: only the owner of a shared budget can change its limits, so ask the person you work for.',
  }
}

function conflictOf({ code }: ConflictError) {
  const known = conflicts[code] ?? { reason_detail: code, remedy: 'Tell the person you work for.' }
  return { reason_code: code, ...known }
}

const conflicts: Readonly<Record<string, { readonly reason_detail: string; readonly remedy: string }>> = {
  nothing_to_increase: {
    reason_detail: 'The mandate already allows this.',
    remedy: 'Call get_budget to see its limits; name a limit that is larger.',
  },
  too_many_approvals: {
    reason_detail: 'This mandate has too many pending requests.',
    remedy: 'Wait until a person has decided on some of them.',
  },
  agent_revoked: {
    reason_detail: 'The agent is permanently revoked.',
    remedy: 'Stop buying: this agent may no longer pay. Tell the person you work for.',
  },
  mandate_revoked: {
    reason_detail: 'The mandate is revoked.',
    remedy: 'Ask the person you work for to create a new mandate.',
  },
}

import type { Agent, LimitUsage, Mandate, Purser } from '@purser/client'
import { z } from 'zod'

import { mandateStatusesNow, remedyFor, spendableNow, statusNow } from '../reason.ts'
import { shownUrl } from '../web/bounded.ts'
import { defineTool, readsOnly } from './tool.ts'

export const getBudget = defineTool({
  name: 'get_budget',
  title: 'See what can be spent',
  description:
    'Shows what this agent may spend: its mandates with their purpose, limits, allowed sellers and what is left. ' +
    'Call it before planning purchases, and after a denial.',
  annotations: readsOnly,
  input: z.object({}),
  output: z.object({
    agent: z.object({ id: z.string(), name: z.string(), status: z.enum(['active', 'revoked']) }),
    mandates: z.array(
      z.object({
        mandate_id: z.string(),
        purpose: z.string(),
        status: z.enum(mandateStatusesNow).describe('Only active mandates can be used.'),
        currency: z.string(),
        spendable_now: z
          .string()
          .describe(
            'What is neither spent, held nor authorized; zero unless active, with an allowed seller.',
          ),
        held_total: z.string().describe('Held by open payments; released if they end uncharged.'),
        authorized_total: z.string().describe('What merchants may still charge until their deadlines.'),
        spent_total: z.string(),
        max_spend_total: z.string(),
        max_spend_per_transaction: z.string(),
        allowed_sellers: z.array(z.string()).describe('`*` allows every seller, an empty list none.'),
        allowed_categories: z.array(z.string()).describe('An empty list or `*` allows every category.'),
        category_check: z
          .enum(['advisory', 'enforced'])
          .describe('With `enforced`, a payment needs a category that is allowed.'),
        allowed_resources: z
          .array(z.string())
          .describe(
            'URLs that may be bought; `*` at the end of one stands for the rest. An empty list allows every URL.',
          ),
        approval: z
          .object({
            above: z.string().nullable().describe('Payments above it need approval; null: no amount does.'),
            first_purchase_at_seller: z.boolean(),
            required: z.int().describe('How many people must approve.'),
          })
          .nullable()
          .describe('When a person must approve a payment; null: never.'),
        limits: z
          .array(
            z.object({
              limit_id: z.string().describe('For request_increase.'),
              scope: z.enum(['mandate', 'budget']).describe('`budget`: shared with other mandates.'),
              committed: z
                .string()
                .nullable()
                .describe('What counts so far; null if each seller or resource is counted separately.'),
              max_amount: z.string().nullable(),
              count: z.int().nullable(),
              max_count: z.int().nullable(),
              resets_at: z.string().nullable().describe('When the count next resets or falls; null: never.'),
            }),
          )
          .describe(
            'Limits over time, of the mandate and of shared budgets, that payments must also fit into.',
          ),
        expires_at: z.string(),
      }),
    ),
    pending_approvals: z
      .array(
        z.object({
          approval_id: z.string(),
          kind: z.enum(['payment', 'increase']),
          mandate_id: z.string(),
          amount: z.string().nullable(),
          resource_url: z.string().nullable(),
          expires_at: z.string(),
          url: z.string(),
        }),
      )
      .describe('What waits for a person, at most 20.'),
  }),
  run: async (wallet, _input, { signal }) => {
    const { id } = await wallet.agent(signal)
    const query = { status: 'pending', limit: maxPending } as const
    const [agent, mandates, pending] = await Promise.all([
      wallet.client.agents.get(id, { signal }),
      wallet.mandates(signal),
      wallet.client.approvals.list(query, { signal }).toArray({ limit: maxPending }),
    ])
    const usages = await usagesOf(agent, mandates, wallet.client, signal)
    return {
      agent: { id, name: agent.name, status: agent.status },
      mandates: mandates.map((mandate) => ({
        mandate_id: mandate.id,
        purpose: mandate.purpose,
        status: statusNow(mandate, agent),
        currency: mandate.currency,
        spendable_now:
          statusNow(mandate, agent) === 'active' && mandate.allowed_sellers.length > 0
            ? spendableNow(mandate)
            : nothing,
        held_total: mandate.held_total,
        authorized_total: mandate.authorized_total,
        spent_total: mandate.spent_total,
        max_spend_total: mandate.max_spend_total,
        max_spend_per_transaction: mandate.max_spend_per_transaction,
        allowed_sellers: mandate.allowed_sellers,
        allowed_categories: mandate.allowed_categories,
        category_check: mandate.category_check,
        allowed_resources: mandate.allowed_resources,
        approval: mandate.approval,
        limits: (usages.get(mandate.id) ?? []).map(toLimit),
        expires_at: mandate.expires_at,
      })),
      pending_approvals: pending.map(({ id, kind, mandate_id, amount, resource_url, expires_at, url }) => ({
        approval_id: id,
        kind,
        mandate_id,
        amount,
        resource_url: resource_url === null ? null : shownUrl(resource_url),
        expires_at,
        url,
      })),
    }
  },
  tell: ({ agent, mandates, pending_approvals: pending }) =>
    [
      agent.status === 'revoked'
        ? `Agent ${agent.name} (${agent.id}) is revoked: nothing can be spent. ${remedyFor('agent_revoked', undefined)}`
        : `Agent ${agent.name} (${agent.id}) is ${agent.status}.`,
      mandates.length === 0 ? 'It has no mandate, so it cannot pay. Ask the person you work for.' : '',
      ...mandates.map(
        (mandate) =>
          `Mandate ${mandate.mandate_id} (${mandate.status}): ${mandate.purpose}. ` +
          (mandate.status === 'active' && mandate.allowed_sellers.length > 0
            ? `${mandate.spendable_now} ${mandate.currency} can be spent now, at most ${mandate.max_spend_per_transaction} per payment; `
            : 'Nothing can be spent now; ') +
          `${mandate.spent_total} of ${mandate.max_spend_total} spent, ${mandate.held_total} held, ${mandate.authorized_total} authorized. ` +
          `Sellers: ${mandate.allowed_sellers.join(', ') || 'none'}; ` +
          `categories: ${mandate.allowed_categories.join(', ') || 'any'}${mandate.category_check === 'enforced' ? ' (required)' : ''}; ` +
          (mandate.allowed_resources.length === 0 ? '' : `URLs: ${mandate.allowed_resources.join(', ')}; `) +
          mandate.limits.map(limitText).join('') +
          approvalText(mandate.approval) +
          `until ${mandate.expires_at}.`,
      ),
      ...pending.map(
        ({ approval_id, kind, amount, resource_url, expires_at, url }) =>
          `Waiting for a person until ${expires_at}: ${kind} ${approval_id}${amount === null ? '' : `, ${amount} for ${resource_url}`}, at ${url}`,
      ),
    ]
      .filter((line) => line !== '')
      .join('\n'),
})

const nothing = '0.00'

const maxPending = 20

/** Max mandates whose limits are read. */
const maxLimited = 20

/** The usage of limits, by mandate; of mandates that can be used and may have some. */
async function usagesOf(
  agent: Agent,
  mandates: readonly Mandate[],
  client: Purser,
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<string, readonly LimitUsage[]>> {
  const limited = mandates.filter(
    (one) =>
      statusNow(one, agent) === 'active' &&
      (one.limits.length > 0 || one.budget_id !== null || agent.budget_id !== null),
  )
  const read = limited
    .slice(0, maxLimited)
    .map(async ({ id }) => [id, (await client.mandates.get(id, { signal })).usage ?? []] as const)
  return new Map(await Promise.all(read))
}

function toLimit({ limit_id, scope, committed, max_amount, count, max_count, resets_at }: LimitUsage) {
  return { limit_id, scope, committed, max_amount, count, max_count, resets_at }
}

function limitText(limit: ReturnType<typeof toLimit>): string {
  const { limit_id, scope, committed, max_amount, count, max_count, resets_at } = limit
  const parts = [
    max_amount === null
      ? []
      : [committed === null ? `at most ${max_amount} USDC` : `${committed} of ${max_amount} USDC`],
    max_count === null
      ? []
      : [count === null ? `at most ${max_count} payments` : `${count} of ${max_count} payments`],
    resets_at === null ? [] : [`resets at ${resets_at}`],
  ]
  return `${scope === 'budget' ? 'shared limit' : 'limit'} ${limit_id}: ${parts.flat().join(', ')}; `
}

function approvalText(approval: Mandate['approval']): string {
  if (!approval) return ''
  const { above, first_purchase_at_seller: isFirst } = approval
  const when = [
    ...(above === null ? [] : [`payments above ${above}`]),
    ...(isFirst ? ['the first purchase from each seller'] : []),
  ]
  return when.length === 0 ? '' : `a person must approve ${when.join(' and ')}; `
}

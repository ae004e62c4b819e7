import type { DenialCode } from '@purser/wire/policy'

import { normalizeHostName } from './host-name.ts'
import { addMicro, formatSum, subtractMicro, type MicroUsdc } from './money.ts'
import type { Agent, Mandate } from './records.ts'

/** The facts for the checks, read inside the transaction that records their outcome. */
export interface PolicyFacts {
  readonly agent: Agent | undefined
  readonly mandate: Mandate | undefined
}

/** A proposed payment. A proof has no seller yet, so it omits `seller`. */
export interface PolicyPayment {
  readonly amountText: string
  readonly amountMicro: MicroUsdc
  readonly seller?: { readonly merchantDomain: string; readonly category: string | null }
  /** Whether open holds count as spent (check 9): true for a proof. */
  readonly countHolds: boolean
}

export type PolicyDecision =
  | { readonly decision: 'approved' }
  | {
      readonly decision: 'denied'
      readonly code: DenialCode
      readonly detail: string
      /** Which of the nine checks failed. */
      readonly check: number
    }

/**
 * Runs the nine policy checks in the interface's order, up to the first failure (Endpoints, "Policy checks").
 */
export function checkPolicy(facts: PolicyFacts, payment: PolicyPayment, nowMs: number): PolicyDecision {
  const { agent, mandate } = facts
  if (!agent) return deny(1, 'agent_revoked', 'No such agent exists in this account and environment.')
  if (agent.status !== 'active') {
    return deny(
      2,
      'agent_revoked',
      `The agent ${quote(agent.name)} is permanently revoked; use another agent.`,
    )
  }
  if (!mandate || mandate.agentId !== agent.id) {
    return deny(3, 'mandate_expired', `The agent ${quote(agent.name)} has no such mandate.`)
  }
  if (mandate.status !== 'active') {
    const remedy = mandate.status === 'paused' ? 'its owner can resume it' : 'ask its owner for a new one'
    return deny(4, 'mandate_expired', `The mandate is ${mandate.status}; ${remedy}.`)
  }
  if (!(mandate.expiresAtMs > nowMs)) {
    return deny(
      5,
      'mandate_expired',
      `The mandate expired at ${mandate.expiresAtText}; ask its owner for a new one.`,
    )
  }
  if (payment.seller) {
    const { merchantDomain, category } = payment.seller
    if (!admitsSeller(mandate, merchantDomain)) {
      return deny(
        6,
        'merchant_not_allowed',
        `${quote(merchantDomain)} is not an allowed seller; ${allowed(mandate.allowedSellers)}`,
      )
    }
    if (!admitsCategory(mandate, category)) {
      // A merchant may have named the category, so the sentence, which models read, does not repeat it.
      const observed = category === null ? 'A payment without a category' : 'The category of the payment'
      return deny(
        7,
        'merchant_not_allowed',
        `${observed} is not allowed; ${allowed(mandate.allowedCategories)}`,
      )
    }
  }
  if (!(payment.amountMicro <= mandate.maxPerTransactionMicro)) {
    return deny(
      8,
      'amount_exceeds_per_transaction_limit',
      `${payment.amountText} > ${mandate.maxPerTransactionText}, the limit per payment.`,
    )
  }
  const heldMicro = payment.countHolds ? mandate.heldMicro : (0n as MicroUsdc)
  const committedMicro = addMicro(mandate.spentMicro, heldMicro)
  if (!(committedMicro + payment.amountMicro <= mandate.maxTotalMicro)) {
    return deny(9, 'total_budget_exceeded', overBudget(mandate, payment.amountText, heldMicro))
  }
  return { decision: 'approved' }
}

/** Whether the mandate allows this seller (check 6). An empty list allows none. */
export function admitsSeller(
  { allowedSellers }: Pick<Mandate, 'allowedSellers'>,
  merchantDomain: string,
): boolean {
  const { admitsAll, domains } = readAllowlist(allowedSellers)
  return admitsAll || domains.has(normalizeHostName(merchantDomain))
}

interface Allowlist {
  readonly admitsAll: boolean
  /** Normalized. */
  readonly domains: ReadonlySet<string>
}

/**
 * Lists never change, so their names are normalized once: for a thousand names, that would take a millisecond
 * per check.
 */
function readAllowlist(entries: readonly string[]): Allowlist {
  const known = allowlists.get(entries)
  if (known) return known
  const allowlist = { admitsAll: entries.includes('*'), domains: new Set(entries.map(normalizeHostName)) }
  allowlists.set(entries, allowlist)
  return allowlist
}

const allowlists = new WeakMap<readonly string[], Allowlist>()

/** Whether the mandate allows this category (check 7). An empty list allows every category. */
export function admitsCategory(
  mandate: Pick<Mandate, 'allowedCategories'>,
  category: string | null,
): boolean {
  const allowed = mandate.allowedCategories
  return allowed.length === 0 || allowed.includes('*') || (category !== null && allowed.includes(category))
}

/** What is left of the total budget, without counting holds, as in check 9 of evaluate. */
export function remainingBudget(mandate: Pick<Mandate, 'maxTotalMicro' | 'spentMicro'>): MicroUsdc {
  return subtractMicro(mandate.maxTotalMicro, mandate.spentMicro)
}

function deny(check: number, code: DenialCode, detail: string): PolicyDecision {
  return { decision: 'denied', code, detail, check }
}

/** Max allowlist entries listed in a refusal. */
const spelledOut = 5

function allowed(entries: readonly string[]): string {
  if (entries.length === 0) return 'the mandate allows none.'
  const more = entries.length > spelledOut ? ` and ${entries.length - spelledOut} more` : ''
  return `the mandate allows ${entries.slice(0, spelledOut).map(quote).join(', ')}${more}.`
}

/** Max characters of a text quoted in a refusal. */
const quoted = 80

/** Quotes the beginning of third-party text. */
function quote(text: string): string {
  // Do not cut a surrogate pair in half.
  return text.length > quoted ? `${text.slice(0, quoted).replace(/[\ud800-\udbff]$/, '')}…` : text
}

function overBudget(mandate: Mandate, amountText: string, heldMicro: MicroUsdc): string {
  const committedMicro = addMicro(mandate.spentMicro, heldMicro)
  const remaining = formatSum(subtractMicro(mandate.maxTotalMicro, committedMicro))
  const held = heldMicro > 0n ? ` + ${formatSum(heldMicro)} held by open proofs` : ''
  return `${formatSum(mandate.spentMicro)} spent${held} + ${amountText} > ${mandate.maxTotalText}, the total budget; ${remaining} is left.`
}

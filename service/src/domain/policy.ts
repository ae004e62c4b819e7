import type { DenialCode } from '@purser/wire/policy'

import { reasonToAsk, type ApprovalFacts, type ReasonToAsk } from './approval.ts'
import { timeInWords } from './time/calendar.ts'
import { normalizeHostName } from './host-name.ts'
import { exceededLimits, type ExceededLimit, type LimitFacts } from './limits.ts'
import { addMicro, formatSum, subtractMicro, type MicroUsdc } from './money.ts'
import type { Agent, Mandate } from './records.ts'
import { matchResource } from './resource-patterns.ts'

/** The facts for the checks, read inside the transaction that records their outcome. */
export interface PolicyFacts {
  readonly agent: Agent | undefined
  readonly mandate: Mandate | undefined
  /** What checks 10 and 11 compare; undefined for a mandate without limits and shared budgets. */
  readonly limits?: LimitFacts | undefined
  /** What check 12 compares; undefined if nothing can need approval. */
  readonly approval?: ApprovalFacts | undefined
}

/** A proposed payment. A proof has no seller yet, so it omits `seller`. */
export interface PolicyPayment {
  readonly amountText: string
  readonly amountMicro: MicroUsdc
  readonly resourceUrl: string
  readonly category: string | null
  readonly seller?: { readonly merchantDomain: string }
  /** Whether open holds count as spent (check 9): true for a proof. */
  readonly countHolds: boolean
}

export type PolicyDecision =
  | {
      readonly decision: 'approved'
      /** Limits that the payment exceeds, but that do not deny it. */
      readonly exceeded?: readonly ExceededLimit[] | undefined
    }
  | PolicyDenial

export interface PolicyDenial {
  readonly decision: 'denied'
  readonly code: DenialCode
  readonly detail: string
  /** Which of the numbered checks failed; 6 also for 6a, which has its own code. */
  readonly check: number
  /** The limit that denies it (checks 10 and 11). */
  readonly limit?: ExceededLimit | undefined
  /** The shared budget that denies it (check 11). */
  readonly budget?: { readonly id: string; readonly name: string } | undefined
  /** Why a person must approve it (check 12). */
  readonly reason?: ReasonToAsk | undefined
}

/**
 * Runs the policy checks in order, up to the first failure: the nine of the interface (Endpoints, "Policy checks"), 6a if the
 * mandate lists resources, then those of limits over time and of shared budgets, and last whether a person must approve.
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
    const { merchantDomain } = payment.seller
    if (!admitsSeller(mandate, merchantDomain)) {
      return deny(
        6,
        'merchant_not_allowed',
        `${quote(merchantDomain)} is not an allowed seller; ${allowed(mandate.allowedSellers)}`,
      )
    }
  }
  if (mandate.allowedResources !== null) {
    const match = matchResource(mandate.allowedResources, payment.resourceUrl)
    if (match !== 'admitted') {
      return deny(6, 'resource_not_allowed', resourceRefusal(match, mandate.allowedResources)) // 6a
    }
  }
  // A proof names no seller, and its category is checked only if the mandate requires it.
  const isCategoryAsked = payment.seller !== undefined || mandate.categoryCheck === 'enforced'
  if (isCategoryAsked && !admitsCategory(mandate, payment.category)) {
    // A merchant may have named the category, so the sentence, which models read, does not repeat it.
    const observed =
      payment.category === null ? 'A payment without a category' : 'The category of the payment'
    return deny(7, 'merchant_not_allowed', `${observed} is not allowed; ${allowedCategories(mandate)}`)
  }
  if (!(payment.amountMicro <= mandate.maxPerTransactionMicro)) {
    return deny(
      8,
      'amount_exceeds_per_transaction_limit',
      `${payment.amountText} > ${mandate.maxPerTransactionText}, the limit per payment.`,
    )
  }
  const { spentMicro, heldMicro, authorizedMicro } = mandate
  const reserved = payment.countHolds ? { heldMicro, authorizedMicro } : nothingReserved
  const committedMicro = addMicro(spentMicro, addMicro(reserved.heldMicro, reserved.authorizedMicro))
  if (!(committedMicro + payment.amountMicro <= mandate.maxTotalMicro)) {
    return deny(9, 'total_budget_exceeded', overBudget(mandate, payment.amountText, reserved))
  }
  const decision: PolicyDecision = facts.limits
    ? checkLimits(facts.limits, mandate, payment)
    : { decision: 'approved' }
  return decision.decision === 'approved' ? checkApproval(facts, mandate, payment, decision) : decision
}

/** Checks 10 and 11. */
function checkLimits(
  limits: LimitFacts,
  { id: mandateId }: Mandate,
  { amountText, amountMicro }: PolicyPayment,
): PolicyDecision {
  const exceeded = exceededLimits(limits, mandateId, amountMicro)
  const denying = exceeded.filter(({ action }) => action === 'deny')
  const limit = lastToReset(denying.filter(({ scope }) => scope === 'mandate'))
  if (limit) {
    return { ...deny(10, 'velocity_limit_exceeded', overLimit(limit, amountText, 'the mandate')), limit }
  }
  for (const { id, name, isFrozen } of limits.budgets) {
    const budget = { id, name }
    if (isFrozen) {
      const detail = `The shared budget ${quote(name)} is frozen; its owner can unfreeze it.`
      return { ...deny(11, 'budget_frozen', detail), budget }
    }
    const own = lastToReset(denying.filter(({ scopeId }) => scopeId === id))
    if (own) {
      const detail = overLimit(own, amountText, `the shared budget ${quote(name)}`)
      return { ...deny(11, 'shared_budget_exceeded', detail), limit: own, budget }
    }
  }
  return exceeded.length === 0 ? { decision: 'approved' } : { decision: 'approved', exceeded }
}

/** The limit that refuses a payment for the longest time, so that no retry comes too early. */
function lastToReset(limits: readonly ExceededLimit[]): ExceededLimit | undefined {
  const latestMs = Math.max(...limits.map(refusesUntilMs))
  return limits.find((limit) => refusesUntilMs(limit) === latestMs)
}

function refusesUntilMs({ resetsAtMs }: ExceededLimit): number {
  return resetsAtMs ?? Infinity
}

/** Check 12, of a payment that passes all others. */
function checkApproval(
  { approval }: PolicyFacts,
  mandate: Mandate,
  { amountText, amountMicro }: PolicyPayment,
  passed: Extract<PolicyDecision, { decision: 'approved' }>,
): PolicyDecision {
  const { exceeded = [] } = passed
  const { isKnownSeller = false, isApproved = false } = approval ?? {}
  const reason = reasonToAsk(mandate.approval, { amountMicro, isKnownSeller }, exceeded)
  if (!reason || isApproved) return passed
  return { ...deny(12, 'approval_required', whyAsk(reason, mandate, amountText, exceeded)), reason }
}

function whyAsk(
  { code, limitId }: ReasonToAsk,
  { approval }: Mandate,
  amountText: string,
  exceeded: readonly ExceededLimit[],
): string {
  if (code === 'above') {
    return `${amountText} > ${approval?.above ?? ''}, above which a person must approve each payment.`
  }
  if (code === 'first_purchase_at_seller') {
    return 'No payment to this seller is known under the mandate yet; a person must approve it.'
  }
  const limit = exceeded.find(({ id }) => id === limitId)
  const over = limit ? `${overLimit(limit, amountText, nameOfScope(limit))} ` : ''
  return `${over}A person must approve a payment beyond this limit.`
}

function nameOfScope({ scope }: ExceededLimit): string {
  return scope === 'mandate' ? 'the mandate' : 'a shared budget'
}

function overLimit(
  { unit, max, committed, window, resetsAtMs }: ExceededLimit,
  amountText: string,
  of: string,
): string {
  const sum =
    unit === 'amount'
      ? `${committed} committed + ${amountText} > ${max}`
      : `${committed} + 1 payments > ${max}`
  const timeZone = typeof window === 'object' && 'calendar' in window ? window.timeZone : 'UTC'
  const never = window === 'lifetime' ? 'it never resets' : 'it never has room for this payment'
  const reset = resetsAtMs === null ? never : `there is room again from ${timeInWords(resetsAtMs, timeZone)}`
  return `${sum}, a limit of ${of}; ${reset}.`
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

/**
 * Whether the mandate allows this category (check 7). An empty list allows every category. A mandate that enforces categories
 * allows no payment without one.
 */
export function admitsCategory(
  { allowedCategories: allowed, categoryCheck }: Pick<Mandate, 'allowedCategories' | 'categoryCheck'>,
  category: string | null,
): boolean {
  if (category === null && categoryCheck === 'enforced') return false
  return allowed.length === 0 || allowed.includes('*') || (category !== null && allowed.includes(category))
}

/** What is left of the total budget, without counting holds, as in check 9 of evaluate. */
export function remainingBudget(mandate: Pick<Mandate, 'maxTotalMicro' | 'spentMicro'>): MicroUsdc {
  return subtractMicro(mandate.maxTotalMicro, mandate.spentMicro)
}

function allowedCategories({ allowedCategories: entries }: Mandate): string {
  return entries.length === 0 || entries.includes('*')
    ? 'the mandate needs one, of any name.'
    : allowed(entries)
}

/** A merchant may have named the URL, so the sentence, which models read, does not repeat it. */
function resourceRefusal(match: 'not_admitted' | 'unclear', patterns: readonly string[]): string {
  if (match === 'not_admitted') return `The URL of the resource is not allowed; ${allowed(patterns)}`
  return 'Servers could read the URL of the resource in different ways; use a plain one, without dot segments and encoded slashes.'
}

function deny(check: number, code: DenialCode, detail: string): PolicyDenial {
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

type Reserved = Pick<Mandate, 'heldMicro' | 'authorizedMicro'>

const nothingReserved: Reserved = { heldMicro: 0n as MicroUsdc, authorizedMicro: 0n as MicroUsdc }

function overBudget(mandate: Mandate, amountText: string, { heldMicro, authorizedMicro }: Reserved): string {
  const committedMicro = addMicro(mandate.spentMicro, addMicro(heldMicro, authorizedMicro))
  const remaining = formatSum(subtractMicro(mandate.maxTotalMicro, committedMicro))
  const held = heldMicro > 0n ? ` + ${formatSum(heldMicro)} held by open proofs` : ''
  const authorized = authorizedMicro > 0n ? ` + ${formatSum(authorizedMicro)} authorized` : ''
  return `${formatSum(mandate.spentMicro)} spent${held}${authorized} + ${amountText} > ${mandate.maxTotalText}, the total budget; ${remaining} is left.`
}

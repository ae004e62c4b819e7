import { checkNames, type PolicyCheck } from '@purser/wire/console/transactions'

import { toWireLimit, toWireWindow } from '../../domain/limit-terms.ts'
import { addMicro, formatSum, parseAmount, type MicroUsdc } from '../../domain/money.ts'
import { admitsCategory, admitsSeller } from '../../domain/policy.ts'
import type { Mandate, Transaction } from '../../domain/records.ts'
import { matchResource } from '../../domain/resource-patterns.ts'
import type { Decision } from '../../store/console/store.ts'
import { fromWireLimit, refusalDetailsOf } from '../limits.ts'
import { termsOf } from '../mandates.ts'

/** Checks with their own failure code, so that the failed check is known even if it was not recorded. */
const checkByCode: Partial<Record<NonNullable<Transaction['reasonCode']>, CheckName>> = {
  resource_not_allowed: 'resource_allowed',
  amount_exceeds_per_transaction_limit: 'within_transaction_limit',
  total_budget_exceeded: 'within_total_budget',
  velocity_limit_exceeded: 'within_limits',
  shared_budget_exceeded: 'within_shared_budgets',
  budget_frozen: 'within_shared_budgets',
  approval_required: 'approved_by_person',
}

type CheckName = PolicyCheck['name']

/** The displayed number of each check. */
const labels: Record<CheckName, string> = {
  agent_exists: '1',
  agent_active: '2',
  mandate_exists: '3',
  mandate_active: '4',
  mandate_not_expired: '5',
  seller_allowed: '6',
  resource_allowed: '6a',
  category_allowed: '7',
  within_transaction_limit: '8',
  within_total_budget: '9',
  within_limits: '10',
  within_shared_budgets: '11',
  approved_by_person: '12',
}

/** The checks of a decision in order, with the compared values: the nine, and those that its mandate adds. */
export function ladderOf(decision: Decision): PolicyCheck[] {
  const facts = { ...decision, mandate: mandateLookedAt(decision) }
  const { transaction, failedCheck, mandate } = facts
  const isDenied = transaction.status === 'denied'
  const failed =
    checkByCode[transaction.reasonCode ?? 'within_policy'] ??
    checkNames.find((name) => labels[name] === String(failedCheck))
  const comparisons = compare(facts)
  return checkNames.filter(isShown).map((name) => ({
    check: Number.parseInt(labels[name], 10),
    label: labels[name],
    name,
    state: isAsked(name) ? stateOf(name) : 'not_asked',
    ...(comparisons[name]() ?? comparedNothing),
    ...(name === 'within_limits' && mandate?.limits && { checked_limits: mandate.limits.map(toWireLimit) }),
    ...(name === failed && refusedBy(facts)),
  }))

  function isShown(name: CheckName): boolean {
    return isOfInterface(name) || name === failed || isAdded(name, facts)
  }

  function isAsked(name: CheckName): boolean {
    return name !== 'category_allowed' || !isOfPayment(transaction) || isEnforced(mandate)
  }

  function stateOf(name: CheckName): PolicyCheck['state'] {
    if (!isDenied) return 'passed'
    if (failed === undefined) return 'unknown'
    if (name === failed) return 'failed'
    return checkNames.indexOf(name) < checkNames.indexOf(failed) ? 'passed' : 'not_reached'
  }
}

/** The mandate with the terms that the decision used. */
function mandateLookedAt({ mandate, version }: Decision): Mandate | undefined {
  if (!mandate || !version) return mandate
  const { limits, ...terms } = version.terms
  return { ...mandate, ...termsOf(terms), limits: limits.length === 0 ? null : limits.map(fromWireLimit) }
}

const added: Partial<Record<CheckName, (facts: Decision) => boolean>> = {
  resource_allowed: ({ mandate }) => mandate?.allowedResources != null,
  within_limits: ({ mandate }) => mandate?.limits != null,
  within_shared_budgets: ({ budgets }) => budgets.length > 0,
  approved_by_person: ({ mandate }) =>
    mandate?.approval != null ||
    mandate?.limits?.some(({ action }) => action === 'require_approval') === true,
}

/** Whether a check is one of the nine of the interface, which are always shown. */
function isOfInterface(name: CheckName): boolean {
  return added[name] === undefined
}

/** Whether the mandate adds a check to the nine. */
function isAdded(name: CheckName, facts: Decision): boolean {
  return added[name]?.(facts) ?? true
}

/** Why a check refuses the payment, in addition to the compared values. */
function refusedBy({ refusedBy: by }: Decision): Pick<PolicyCheck, 'limit' | 'budget'> {
  const { limit } = refusalDetailsOf(by ?? {})
  return {
    ...(by?.limit && limit && { limit: { ...limit, window: toWireWindow(by.limit.window) } }),
    ...(by?.budget && { budget: by.budget }),
  }
}

/** Whether the checks are those of a paid proof. */
function isOfPayment({ status }: Transaction): boolean {
  return status === 'paid' || status === 'refunded'
}

function isEnforced(mandate: Mandate | undefined): boolean {
  return mandate?.categoryCheck === 'enforced'
}

type Comparison = Pick<PolicyCheck, 'value' | 'relation' | 'limits'>

const only = (value: string): Comparison => ({ value, relation: null, limits: [] })
const comparedNothing = only('')

/** What each check compared. */
function compare(facts: Decision): Record<CheckName, () => Comparison | undefined> {
  const { transaction, failedCheck, agent, mandate, hold } = facts
  const askedAtMs = hold?.issuedAtMs ?? transaction.createdAtMs
  const askedAt = new Date(askedAtMs).toISOString()
  const wasDenied = (check: number) => failedCheck === check
  const { category } = transaction
  // Part of it may have been captured or refunded.
  const amountText = hold?.amountText ?? transaction.amountText
  return {
    agent_exists: () => only(agent?.name ?? `no agent ${transaction.agentId}`),
    agent_active: () => only(wasDenied(2) ? 'revoked' : agent ? 'active' : ''),
    mandate_exists: () =>
      only(wasDenied(3) || !mandate ? `no mandate ${transaction.mandateId} of this agent` : mandate.purpose),
    mandate_active: () => only(wasDenied(4) ? (transaction.reasonDetail ?? '') : mandate ? 'active' : ''),
    mandate_not_expired: () =>
      mandate && {
        value: askedAt,
        relation: mandate.expiresAtMs > askedAtMs ? 'before' : 'not_before',
        limits: [mandate.expiresAtText],
      },
    seller_allowed: () => (mandate ? compareSeller(transaction, mandate) : undefined),
    resource_allowed: () => (mandate ? compareResource(transaction.resourceUrl, mandate) : undefined),
    category_allowed: () =>
      mandate && (!isOfPayment(transaction) || isEnforced(mandate))
        ? compareCategory(category, mandate)
        : undefined,
    within_transaction_limit: () =>
      mandate && {
        value: amountText,
        relation: (hold ?? transaction).amountMicro <= mandate.maxPerTransactionMicro ? 'at_most' : 'above',
        limits: [mandate.maxPerTransactionText],
      },
    within_total_budget: () => compareTotal(facts),
    within_limits: () => compareLimit(facts, amountText, 'mandate'),
    within_shared_budgets: () =>
      compareLimit(facts, amountText, 'budget') ?? only(facts.budgets.map(({ name }) => name).join(', ')),
    approved_by_person: () => compareApproval(facts, amountText),
  }
}

/** `18.00 committed + 5.00`, above `20.00`: what counts in the limit that refuses the payment. */
function compareLimit(
  { refusedBy: by }: Decision,
  amountText: string,
  scope: 'mandate' | 'budget',
): Comparison | undefined {
  const limit = by?.limit
  if (limit?.scope !== scope) return undefined
  const { unit, committed, max } = limit
  const value = unit === 'amount' ? `${committed} committed + ${amountText}` : `${committed} + 1 payments`
  return { value, relation: 'above', limits: [max] }
}

function compareApproval({ transaction, mandate, refusedBy: by }: Decision, amountText: string): Comparison {
  const terms = mandate?.approval
  const above = terms?.above ?? null
  if (by?.reason?.code === 'limit') return only(transaction.reasonDetail ?? '')
  if (by?.reason?.code === 'first_purchase_at_seller') return only('first purchase from this seller')
  if (above !== null && parseAmount(amountText) > parseAmount(above)) {
    if (by?.reason) return { value: amountText, relation: 'above', limits: [above] }
    const isApproved = transaction.status !== 'denied'
    return only(isApproved ? `${amountText} > ${above}: approved by a person` : `needed above ${above}`)
  }
  const needed = [
    ...(above === null ? [] : [`above ${above}`]),
    ...(terms?.firstPurchaseAtSeller ? ['for a first purchase from a seller'] : []),
    ...(mandate?.limits?.some(({ action }) => action === 'require_approval') ? ['beyond a limit'] : []),
  ]
  return only(`needed ${needed.join(', or ')}`)
}

/** Of a payment, the seller is checked when it collects: the terms may have been amended since the proof. */
function compareSeller(transaction: Transaction, mandate: Mandate): Comparison {
  const { merchantDomain: value } = transaction
  const isAllowed = admitsSeller(mandate, value)
  if (!isAllowed && isOfPayment(transaction)) return only(value)
  return { value, relation: isAllowed ? 'in' : 'not_in', limits: [...mandate.allowedSellers] }
}

function compareResource(value: string, { allowedResources }: Mandate): Comparison | undefined {
  if (allowedResources === null) return undefined
  const isAllowed = matchResource(allowedResources, value) === 'admitted'
  return { value, relation: isAllowed ? 'in' : 'not_in', limits: [...allowedResources] }
}

function compareCategory(category: string | null, mandate: Mandate): Comparison {
  const limits = [...mandate.allowedCategories]
  if (limits.length === 0 && !isEnforced(mandate)) return only('every category is allowed')
  const relation = admitsCategory(mandate, category) ? 'in' : 'not_in'
  return { value: category ?? 'no category', relation, limits: limits.length === 0 ? ['*'] : limits }
}

/** `4.20 + 1.00 held + 6.00`, above `10.00`: spent, held by other proofs, the amount, and the total budget. */
function compareTotal(facts: Decision): Comparison | undefined {
  const { transaction, mandate, hold } = facts
  const spent = hold ? facts.holdSpentBeforeMicro : facts.spentBeforeMicro
  if (!mandate || spent === null) return undefined
  const held = hold ? (facts.holdHeldBeforeMicro ?? (0n as MicroUsdc)) : (0n as MicroUsdc)
  // Part of it may have been captured or refunded.
  const { amountMicro, amountText } = hold ?? transaction
  const sum = addMicro(addMicro(spent, held), amountMicro)
  // A denied proof has no record of what others held; its detail says it.
  if (facts.failedCheck === 9 && sum <= mandate.maxTotalMicro) return only(transaction.reasonDetail ?? '')
  const parts = [formatSum(spent), ...(held > 0n ? [`${formatSum(held)} held`] : []), amountText]
  return {
    value: parts.join(' + '),
    relation: sum <= mandate.maxTotalMicro ? 'at_most' : 'above',
    limits: [mandate.maxTotalText],
  }
}

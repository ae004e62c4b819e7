import { checkNames, type PolicyCheck } from '@purser/wire/console/transactions'

import { addMicro, formatSum, type MicroUsdc } from '../../domain/money.ts'
import { admitsCategory, admitsSeller } from '../../domain/policy.ts'
import type { Mandate, Transaction } from '../../domain/records.ts'
import { matchResource } from '../../domain/resource-patterns.ts'
import type { Decision } from '../../store/console/store.ts'

/** Checks with their own failure code, so that the failed check is known even if it was not recorded. */
const checkByCode: Partial<Record<NonNullable<Transaction['reasonCode']>, CheckName>> = {
  resource_not_allowed: 'resource_allowed',
  amount_exceeds_per_transaction_limit: 'within_transaction_limit',
  total_budget_exceeded: 'within_total_budget',
}

type CheckName = PolicyCheck['name']

/** The number of each check, as it is shown. */
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
}

/** The checks of a decision in order, with the compared values: the nine, and those that its mandate adds. */
export function ladderOf(facts: Decision): PolicyCheck[] {
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
  }))

  function isShown(name: CheckName): boolean {
    return name !== 'resource_allowed' || name === failed || mandate?.allowedResources != null
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

/** Whether the checks are those of a proof that was paid. */
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
  const { merchantDomain, category } = transaction
  // A part of it may have been captured or refunded.
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
    seller_allowed: () =>
      mandate && {
        value: merchantDomain,
        relation: admitsSeller(mandate, merchantDomain) ? 'in' : 'not_in',
        limits: [...mandate.allowedSellers],
      },
    resource_allowed: () => (mandate ? compareResource(transaction.resourceUrl, mandate) : undefined),
    category_allowed: () =>
      mandate && (!isOfPayment(transaction) || isEnforced(mandate))
        ? compareCategory(category, mandate)
        : undefined,
    within_transaction_limit: () =>
      mandate && {
        value: amountText,
        relation: transaction.amountMicro <= mandate.maxPerTransactionMicro ? 'at_most' : 'above',
        limits: [mandate.maxPerTransactionText],
      },
    within_total_budget: () => compareTotal(facts),
  }
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
  const sum = addMicro(addMicro(spent, held), transaction.amountMicro)
  const parts = [formatSum(spent), ...(held > 0n ? [`${formatSum(held)} held`] : []), transaction.amountText]
  return {
    value: parts.join(' + '),
    relation: sum <= mandate.maxTotalMicro ? 'at_most' : 'above',
    limits: [mandate.maxTotalText],
  }
}

import { checkNames, type PolicyCheck } from '@purser/wire/console/transactions'

import { addMicro, formatSum, type MicroUsdc } from '../../domain/money.ts'
import { admitsCategory, admitsSeller } from '../../domain/policy.ts'
import type { Mandate, Transaction } from '../../domain/records.ts'
import type { Decision } from '../../store/console/store.ts'

/** Checks with their own failure code, so that the failed check is known even if it was not recorded. */
const checkByCode: Partial<Record<NonNullable<Transaction['reasonCode']>, number>> = {
  amount_exceeds_per_transaction_limit: 8,
  total_budget_exceeded: 9,
}

/** The nine checks of a decision in order, with the compared values. */
export function ladderOf(facts: Decision): PolicyCheck[] {
  const { transaction, failedCheck } = facts
  const isDenied = transaction.status === 'denied'
  const failed = failedCheck ?? checkByCode[transaction.reasonCode ?? 'within_policy'] ?? null
  const comparisons = compare(facts)
  return checkNames.map((name, index) => {
    const check = index + 1
    const isAsked = transaction.status !== 'paid' || check !== 7
    const state = isAsked ? stateOf(check) : 'not_asked'
    return { check, name, state, ...(comparisons[index]?.() ?? comparedNothing) }
  })

  function stateOf(check: number): PolicyCheck['state'] {
    if (!isDenied) return 'passed'
    if (failed === null) return 'unknown'
    if (check === failed) return 'failed'
    return check < failed ? 'passed' : 'not_reached'
  }
}

type Comparison = Pick<PolicyCheck, 'value' | 'relation' | 'limits'>

const only = (value: string): Comparison => ({ value, relation: null, limits: [] })
const comparedNothing = only('')

/** What each check compared. */
function compare(facts: Decision): (() => Comparison | undefined)[] {
  const { transaction, failedCheck, agent, mandate, hold } = facts
  const askedAtMs = hold?.issuedAtMs ?? transaction.createdAtMs
  const askedAt = new Date(askedAtMs).toISOString()
  const wasDenied = (check: number) => failedCheck === check
  const { amountText, merchantDomain, category } = transaction
  return [
    () => only(agent?.name ?? `no agent ${transaction.agentId}`), // 1
    () => only(wasDenied(2) ? 'revoked' : agent ? 'active' : ''), // 2
    () =>
      only(wasDenied(3) || !mandate ? `no mandate ${transaction.mandateId} of this agent` : mandate.purpose), // 3
    () => only(wasDenied(4) ? (transaction.reasonDetail ?? '') : mandate ? 'active' : ''), // 4
    () =>
      mandate && {
        value: askedAt,
        relation: mandate.expiresAtMs > askedAtMs ? 'before' : 'not_before',
        limits: [mandate.expiresAtText],
      }, // 5
    () =>
      mandate && {
        value: merchantDomain,
        relation: admitsSeller(mandate, merchantDomain) ? 'in' : 'not_in',
        limits: [...mandate.allowedSellers],
      }, // 6
    () => (mandate && transaction.status !== 'paid' ? compareCategory(category, mandate) : undefined), // 7
    () =>
      mandate && {
        value: amountText,
        relation: transaction.amountMicro <= mandate.maxPerTransactionMicro ? 'at_most' : 'above',
        limits: [mandate.maxPerTransactionText],
      }, // 8
    () => compareTotal(facts), // 9
  ]
}

function compareCategory(category: string | null, mandate: Mandate): Comparison {
  const limits = [...mandate.allowedCategories]
  if (limits.length === 0) return only('every category is allowed')
  const relation = admitsCategory(mandate, category) ? 'in' : 'not_in'
  return { value: category ?? 'no category', relation, limits }
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

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
  const valuesOf = describe(facts)
  return checkNames.map((name, index) => {
    const check = index + 1
    const isAsked = transaction.status !== 'paid' || check !== 7
    return { check, name, state: isAsked ? stateOf(check) : 'not_asked', values: valuesOf[index]?.() ?? '' }
  })

  function stateOf(check: number): PolicyCheck['state'] {
    if (!isDenied) return 'passed'
    if (failed === null) return 'unknown'
    if (check === failed) return 'failed'
    return check < failed ? 'passed' : 'not_reached'
  }
}

/** The compared values of each check, for display. */
function describe(facts: Decision): (() => string)[] {
  const { transaction, failedCheck, agent, mandate, hold } = facts
  const askedAtMs = hold?.issuedAtMs ?? transaction.createdAtMs
  const askedAt = new Date(askedAtMs).toISOString()
  const wasDenied = (check: number) => failedCheck === check
  const { amountText } = transaction
  return [
    () => agent?.name ?? `no agent ${transaction.agentId}`, // 1
    () => (wasDenied(2) ? 'revoked' : agent ? 'active' : ''), // 2
    () => (wasDenied(3) || !mandate ? `no mandate ${transaction.mandateId} of this agent` : mandate.purpose), // 3
    () => (wasDenied(4) ? (transaction.reasonDetail ?? '') : mandate ? 'active' : ''), // 4
    () =>
      mandate ? `${askedAt} ${mandate.expiresAtMs > askedAtMs ? '<' : '≥'} ${mandate.expiresAtText}` : '', // 5
    () =>
      mandate
        ? isAmong(
            transaction.merchantDomain,
            mandate.allowedSellers,
            admitsSeller(mandate, transaction.merchantDomain),
          )
        : '', // 6
    () => (mandate && transaction.status !== 'paid' ? categoryAmong(transaction.category, mandate) : ''), // 7
    () =>
      mandate
        ? `${amountText} ${transaction.amountMicro <= mandate.maxPerTransactionMicro ? '≤' : '>'} ${mandate.maxPerTransactionText}`
        : '', // 8
    () => totalOf(facts), // 9
  ]
}

/** `4.20 + 6.00 > 10.00`: spent, held by other proofs, the amount, and the total budget. */
function totalOf(facts: Decision): string {
  const { transaction, mandate, hold } = facts
  const spent = hold ? facts.holdSpentBeforeMicro : facts.spentBeforeMicro
  if (!mandate || spent === null) return ''
  const held = hold ? (facts.holdHeldBeforeMicro ?? (0n as MicroUsdc)) : (0n as MicroUsdc)
  const sum = addMicro(addMicro(spent, held), transaction.amountMicro)
  const parts = [formatSum(spent), ...(held > 0n ? [`${formatSum(held)} held`] : []), transaction.amountText]
  return `${parts.join(' + ')} ${sum <= mandate.maxTotalMicro ? '≤' : '>'} ${mandate.maxTotalText}`
}

function isAmong(value: string, allowed: readonly string[], isAdmitted: boolean): string {
  return `${value} ${isAdmitted ? '∈' : '∉'} {${allowed.join(', ')}}`
}

function categoryAmong(category: string | null, mandate: Mandate): string {
  const allowed = mandate.allowedCategories
  if (allowed.length === 0) return 'every category is allowed'
  return isAmong(category ?? 'no category', allowed, admitsCategory(mandate, category))
}

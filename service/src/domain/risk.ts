import type { RiskFlag } from '@purser/wire/verify-agent'

import type { MicroUsdc } from './money.ts'

/** The facts for the signals. Counts are of this mandate's transactions. */
export interface RiskFacts {
  readonly maxTotalMicro: MicroUsdc
  readonly spentMicro: MicroUsdc
  readonly expiresAtMs: number
  readonly hasPaidThisSeller: boolean
  readonly deniedInLastHour: number
  readonly transactionsInLastMinute: number
}

export interface Risk {
  /** From 0, nothing unusual, to 100. */
  readonly score: number
  readonly flags: RiskFlag[]
}

/** Below this percentage of the total, a budget counts as nearly spent. */
const nearlySpentPercent = 10n
/** An expiry closer than this counts as near. */
const nearExpiryMs = 24 * 60 * 60_000
/** Number of denials within an hour that count as recent denials. */
export const manyDenials = 3
/** Number of transactions within a minute that count as an unusual rate. */
export const manyTransactions = 30

const weights: Record<RiskFlag, number> = {
  budget_nearly_spent: 15,
  expiry_near: 10,
  first_purchase_at_seller: 20,
  recent_denials: 30,
  unusual_rate: 25,
}

/** The signals of a payment under a known mandate, with the sum of their weights. */
export function assessRisk(facts: RiskFacts, nowMs: number): Risk {
  const flags: RiskFlag[] = []
  const remainingMicro = facts.maxTotalMicro - facts.spentMicro
  if (remainingMicro * 100n < facts.maxTotalMicro * nearlySpentPercent) flags.push('budget_nearly_spent')
  if (facts.expiresAtMs - nowMs < nearExpiryMs) flags.push('expiry_near')
  if (!facts.hasPaidThisSeller) flags.push('first_purchase_at_seller')
  if (facts.deniedInLastHour >= manyDenials) flags.push('recent_denials')
  if (facts.transactionsInLastMinute >= manyTransactions) flags.push('unusual_rate')
  return { score: flags.reduce((score, flag) => score + weights[flag], 0), flags }
}

/** No signals, because nothing is known. */
export const noRisk: Risk = { score: 0, flags: [] }

import type { Mandate } from '../domain/records.ts'
import { manyDenials, manyTransactions, type RiskFacts } from '../domain/risk.ts'
import type { TransactionRow } from './rows.ts'

/** How many of a mandate's latest transactions the risk signals look at. */
export const recentTransactions = Math.max(manyDenials, manyTransactions)

/** What the risk signals look at, from a mandate and its latest transactions. */
export function riskFactsOf(
  mandate: Mandate,
  recent: readonly Pick<TransactionRow, 'status' | 'created_at_ms'>[],
  { hasPaidThisSeller, nowMs }: { readonly hasPaidThisSeller: boolean; readonly nowMs: number },
): RiskFacts {
  return {
    maxTotalMicro: mandate.maxTotalMicro,
    spentMicro: mandate.spentMicro,
    expiresAtMs: mandate.expiresAtMs,
    hasPaidThisSeller,
    deniedInLastHour: recent.filter(
      (row) => row.status === 'denied' && nowMs - Number(row.created_at_ms) < 3_600_000,
    ).length,
    transactionsInLastMinute: recent.filter((row) => nowMs - Number(row.created_at_ms) < 60_000).length,
  }
}

import type { Overview } from '@purser/client'

/**
 * The denials of the last 24 hours. `recorded` counts denied evaluations, each of which is a transaction: the
 * chart, the tile, the verdict and their linked list all count these. `refusedProofs` counts refused proof
 * requests, which create no transaction, so no list can show them.
 */
export function denialsIn({ hours, denial_reasons }: Pick<Overview, 'hours' | 'denial_reasons'>) {
  return {
    recorded: hours.reduce((sum, { denied_count }) => sum + denied_count, 0),
    refusedProofs: denial_reasons.reduce((sum, { proofs }) => sum + proofs, 0),
  }
}

/** The path of the transactions counted by `recorded`, or of those with one reason. */
export function denialsPath(
  { last_day_starts_at }: Pick<Overview, 'last_day_starts_at'>,
  reasonCode?: string,
): string {
  const filter = { status: 'denied', ...(reasonCode ? { reason_code: reasonCode } : {}) }
  return `transactions?${new URLSearchParams({ ...filter, since: last_day_starts_at }).toString()}`
}

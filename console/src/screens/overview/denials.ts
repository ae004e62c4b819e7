import type { Overview } from '@purser/client'

/**
 * What was denied in the last 24 hours. `listed` counts transactions: the tile, the verdict and the list that they
 * open all count these. `more` counts the proofs that were denied beyond the first ten of a mandate in a minute, which leave no
 * transaction, so no list can show them.
 */
export function denialsIn({
  denied_last_day,
  denial_reasons,
}: Pick<Overview, 'denied_last_day' | 'denial_reasons'>) {
  const listed = denial_reasons.reduce((sum, { denied_count }) => sum + denied_count, 0)
  return { listed, more: denied_last_day - listed }
}

/** The list of the transactions that `recorded` counts, or of those with one reason. */
export function denialsPath(
  { last_day_starts_at }: Pick<Overview, 'last_day_starts_at'>,
  reasonCode?: string,
): string {
  const filter = { status: 'denied', ...(reasonCode ? { reason_code: reasonCode } : {}) }
  return `transactions?${new URLSearchParams({ ...filter, since: last_day_starts_at }).toString()}`
}

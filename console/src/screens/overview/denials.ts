import type { Overview } from '@purser/client'

/**
 * The denials of the last 24 hours. `listed` counts transactions: the tile, the verdict and their linked list all count
 * these. `more` counts refused proofs beyond the first ten per mandate and minute, which create no transaction, so no list
 * can show them.
 */
export function denialsIn({
  denied_last_day,
  denial_reasons,
}: Pick<Overview, 'denied_last_day' | 'denial_reasons'>) {
  const listed = denial_reasons.reduce((sum, { denied_count }) => sum + denied_count, 0)
  return { listed, more: denied_last_day - listed }
}

/** The path of the transactions counted by `listed`, or of those with one reason. */
export function denialsPath(
  { last_day_starts_at }: Pick<Overview, 'last_day_starts_at'>,
  reasonCode?: string,
): string {
  const filter = { status: 'denied', ...(reasonCode ? { reason_code: reasonCode } : {}) }
  return `transactions?${new URLSearchParams({ ...filter, since: last_day_starts_at }).toString()}`
}

import { compareAmounts, sellerWarning, type Mandate } from '@purser/client'

/** Warnings about likely mistakes in the terms that were just set. The service allows all of them. */
export function warningsOf(mandate: Mandate): string[] {
  const { allowed_sellers, max_spend_per_transaction, max_spend_total, expires_at, updated_at } = mandate
  const warnings = allowed_sellers.map(sellerWarning).filter((warning) => warning !== undefined)
  if (allowed_sellers.length === 0) {
    warnings.push('Without --seller, this mandate allows no payment.')
  }
  if (compareAmounts(max_spend_per_transaction, max_spend_total) > 0) {
    warnings.push('The cap for one payment is above the total budget, so a single payment can use all of it.')
  }
  // By the service's clock, which a test clock may have moved.
  if (Date.parse(expires_at) <= Date.parse(updated_at)) {
    warnings.push(
      `--expires is in the past: the mandate is already expired. The time of the service is ${updated_at}.`,
    )
  }
  return warnings
}

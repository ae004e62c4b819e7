import type { MandateTerm, MandateTerms as WireTerms } from '@purser/wire/mandates'

import { normalizeHostName } from './host-name.ts'
import { toWireLimit, widensLimits } from './limit-terms.ts'
import { parseAmount } from './money.ts'
import { metadataText, type ApprovalTerms, type MandateTerms } from './records.ts'
import { isWithinPatterns } from './resource-patterns.ts'

/** The terms in the interface's format: in answers, in stored versions, and in audit events. */
export function wireTermsOf(mandate: MandateTerms): WireTerms {
  return {
    purpose: mandate.purpose,
    max_spend_total: mandate.maxTotalText,
    max_spend_per_transaction: mandate.maxPerTransactionText,
    allowed_sellers: [...mandate.allowedSellers],
    allowed_categories: [...mandate.allowedCategories],
    allowed_resources: [...(mandate.allowedResources ?? [])],
    category_check: mandate.categoryCheck ?? 'advisory',
    metadata: { ...mandate.metadata },
    limits: (mandate.limits ?? []).map(toWireLimit),
    budget_id: mandate.budgetPath?.[0] ?? null,
    expires_at: mandate.expiresAtText,
    approval: mandate.approval && {
      above: mandate.approval.above,
      first_purchase_at_seller: mandate.approval.firstPurchaseAtSeller,
      required: mandate.approval.required,
    },
  }
}

/** The terms that differ, before and after an amendment. */
interface TermChanges {
  readonly before: Partial<WireTerms>
  readonly after: Partial<WireTerms>
}

/** What an amendment changes; undefined if it changes nothing. */
export function changesOfTerms(before: MandateTerms, after: MandateTerms): TermChanges | undefined {
  return changesBetween(wireTermsOf(before), wireTermsOf(after))
}

/** The fields that differ, before and after; undefined if none does. */
export function changesBetween<Terms extends object>(before: Terms, after: Terms) {
  const names = (Object.keys(after) as (keyof Terms)[]).filter(
    (name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  )
  if (names.length === 0) return undefined
  const pick = (terms: Terms) => Object.fromEntries(names.map((name) => [name, terms[name]]))
  return { before: pick(before), after: pick(after) }
}

/**
 * Whether an amendment allows something that was not allowed, or changes what people read: only an owner may
 * do that.
 */
export function widensTerms(before: MandateTerms, after: MandateTerms): boolean {
  return Object.values(widens).some((isWider) => isWider(before, after))
}

/** For each term, whether it allows more than before. */
const widens: Readonly<Record<MandateTerm, (before: MandateTerms, after: MandateTerms) => boolean>> = {
  // People decide by the purpose, so an agent must not write its own.
  purpose: (before, after) => after.purpose !== before.purpose,
  max_spend_total: (before, after) => after.maxTotalMicro > before.maxTotalMicro,
  max_spend_per_transaction: (before, after) => after.maxPerTransactionMicro > before.maxPerTransactionMicro,
  allowed_sellers: (before, after) => !isWithin(sellersOf(before), sellersOf(after)),
  allowed_categories: (before, after) =>
    !isWithin(anyIfEmpty(before.allowedCategories), anyIfEmpty(after.allowedCategories)),
  allowed_resources: (before, after) => !isWithinPatterns(before.allowedResources, after.allowedResources),
  category_check: (before, after) =>
    before.categoryCheck === 'enforced' && after.categoryCheck !== 'enforced',
  // Like the purpose.
  metadata: (before, after) => metadataText(before.metadata) !== metadataText(after.metadata),
  limits: (before, after) => widensLimits(before.limits ?? [], after.limits ?? []),
  // A shared budget affects others too.
  budget_id: (before, after) => before.budgetPath?.[0] !== after.budgetPath?.[0],
  expires_at: (before, after) => after.expiresAtMs > before.expiresAtMs,
  approval: (before, after) => asksLess(before.approval, after.approval),
}

/** Whether people are asked less often than before, or fewer of them. */
function asksLess(before: ApprovalTerms | null, after: ApprovalTerms | null): boolean {
  if (!before) return false
  if (!after) return true
  if (before.above !== null && (after.above === null || parseAmount(after.above) > parseAmount(before.above)))
    return true
  return (before.firstPurchaseAtSeller && !after.firstPurchaseAtSeller) || after.required < before.required
}

/** Only a plain `*` allows every seller: names such as `*.`, which become one when they are normalized, allow none. */
function sellersOf({ allowedSellers }: MandateTerms): readonly string[] {
  return allowedSellers.map((entry) => (entry === '*' ? entry : `seller ${normalizeHostName(entry)}`))
}

/** An empty list of categories allows every category. */
function anyIfEmpty(categories: readonly string[]): readonly string[] {
  return categories.length === 0 ? ['*'] : categories
}

/** Whether the entries allow nothing beyond an allowlist. */
function isWithin(allowlist: readonly string[], entries: readonly string[]): boolean {
  const allowed = new Set(allowlist)
  return allowed.has('*') || entries.every((entry) => allowed.has(entry))
}

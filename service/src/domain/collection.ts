import { isWithinDomain, normalizeHostName } from './host-name.ts'
import { admitsCategory, admitsSeller } from './policy.ts'
import type { Caller, CollectedMandate, RegisteredSeller } from './records.ts'
import { matchResource } from './resource-patterns.ts'

/** Why a caller may not collect a payment; nothing is charged, and the proof stays valid. */
export const collectionRefusals = [
  'seller_not_yours',
  'merchant_not_allowed',
  'merchant_not_payee',
  'resource_not_allowed',
  'category_mismatch',
] as const
export type CollectionRefusal = (typeof collectionRefusals)[number]

/** The facts for the decision who may collect, read inside the transaction of the capture. */
export interface CollectionFacts {
  readonly caller: Caller
  readonly mandate: CollectedMandate
  /** The seller registered under the merchant domain in this environment, whoever owns it. */
  readonly seller: RegisteredSeller | undefined
  readonly merchantDomain: string
  readonly resourceUrl: string
  /** The category of the proof, and the one that the collector has named, if any. */
  readonly category: string | null
  readonly collectedCategory: string | null
}

/**
 * Why the caller may not collect, or undefined if it may: its account owns the mandate, or owns the seller
 * that the mandate allows and whose domain serves the resource.
 */
export function checkCollection(facts: CollectionFacts): CollectionRefusal | undefined {
  const { caller, mandate, seller, merchantDomain, resourceUrl } = facts
  const ownsMandate = mandate.accountId === caller.accountId
  if (!ownsMandate && seller?.accountId !== caller.accountId) return 'seller_not_yours'
  if (!admitsSeller(mandate, merchantDomain)) return 'merchant_not_allowed'
  if (!ownsMandate && !isWithinDomain(resourceUrl, normalizeHostName(merchantDomain))) {
    return 'merchant_not_payee'
  }
  const refusal = refusalByTerms(mandate, facts)
  if (refusal) return refusal
  if (facts.collectedCategory !== null && facts.collectedCategory !== facts.category)
    return 'category_mismatch'
  return undefined
}

/** Why nobody may collect a payment any more: the mandate may have been narrowed since its proof was issued. */
export function refusalByTerms(
  mandate: CollectedMandate,
  { resourceUrl, category }: Pick<CollectionFacts, 'resourceUrl' | 'category'>,
): CollectionRefusal | undefined {
  const { allowedResources, categoryCheck } = mandate
  if (allowedResources !== null && matchResource(allowedResources, resourceUrl) !== 'admitted')
    return 'resource_not_allowed'
  if (categoryCheck === 'enforced' && !admitsCategory(mandate, category)) return 'merchant_not_allowed'
  return undefined
}

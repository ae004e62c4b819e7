import { isWithinDomain, normalizeHostName } from './host-name.ts'
import { admitsSeller } from './policy.ts'
import type { Caller, CollectedMandate, RegisteredSeller } from './records.ts'

/** Why a caller may not collect a payment; nothing is charged, and the proof stays valid. */
export const collectionRefusals = ['seller_not_yours', 'merchant_not_allowed', 'merchant_not_payee'] as const
export type CollectionRefusal = (typeof collectionRefusals)[number]

/** The facts for the decision who may collect, read inside the transaction of the capture. */
export interface CollectionFacts {
  readonly caller: Caller
  readonly mandate: CollectedMandate
  /** The seller registered under the merchant domain in this environment, whoever owns it. */
  readonly seller: RegisteredSeller | undefined
  readonly merchantDomain: string
  readonly resourceUrl: string
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
  return undefined
}

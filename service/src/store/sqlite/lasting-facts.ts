import type { Environment } from '@purser/wire/fields'

import type { CollectedMandate, RegisteredSeller } from '../../domain/records.ts'
import { parseList } from '../parsed-lists.ts'
import type { SqliteDatabase } from '../ledger/sqlite/open.ts'
import type { SellerActs } from './seller-acts.ts'

/** How many mandates, and how many sellers, are remembered; all are let go when one more comes. */
const maxRemembered = 4_096
/** A mandate with a longer list of sellers is read each time, so that what is remembered stays small. */
const maxListLength = 1_024
/** How many of the sellers that a mandate has paid are remembered. */
const maxPaidSellers = 16

/** What of a mandate never changes. */
interface LastingMandate extends CollectedMandate {
  /** The number of its sums. */
  readonly no: bigint
  /** Sellers that stand in `paid_sellers` for certain; there may be more. */
  readonly paidSellers: Set<string>
}

/**
 * What a payment must know and what hardly ever changes once it is there: which sellers a mandate admits, who
 * is registered under a domain, and that a mandate has paid a seller. So it is read once and remembered; a
 * seller whose domain is released must be forgotten.
 * Sums and statuses change, and are read each time.
 */
export function prepareLastingFacts(
  db: SqliteDatabase,
  { findSellerByDomain }: Pick<SellerActs, 'findSellerByDomain'>,
) {
  const selectMandate = db.prepare<[string, string], { no: bigint; allowed_sellers: string }>(
    'select no, allowed_sellers from mandate_terms where account_id = ? and id = ?',
  )
  const insertPaidSeller = db.prepare(`
    insert into paid_sellers (account_id, mandate_id, merchant_domain) values (?, ?, ?) on conflict do nothing`)

  const mandates = new Map<string, LastingMandate>()
  const sellers = new Map<string, RegisteredSeller>()

  return {
    findMandate(accountId: string, mandateId: string): LastingMandate | undefined {
      const remembered = mandates.get(mandateId)
      if (remembered?.accountId === accountId) return remembered
      const row = selectMandate.get(accountId, mandateId)
      if (!row) return undefined
      const { no, allowed_sellers: list } = row
      const allowedSellers = parseList(list)
      const mandate = { accountId, no, allowedSellers, paidSellers: new Set<string>() }
      if (list.length <= maxListLength) remember(mandates, mandateId, mandate)
      return mandate
    },

    /** The seller registered under a domain. That there is none is not remembered: one may come. */
    findSeller(environment: Environment, domain: string): RegisteredSeller | undefined {
      const key = sellerKey(environment, domain)
      const remembered = sellers.get(key)
      if (remembered) return remembered
      const seller = findSellerByDomain(environment, domain)
      if (seller) remember(sellers, key, seller)
      return seller
    },

    recordPaidSeller(
      { accountId, paidSellers }: LastingMandate,
      mandateId: string,
      merchantDomain: string,
    ): void {
      if (paidSellers.has(merchantDomain)) return
      insertPaidSeller.run(accountId, mandateId, merchantDomain)
      if (paidSellers.size < maxPaidSellers) paidSellers.add(merchantDomain)
    },

    /** Must be called when a domain is released. */
    forgetSeller(environment: Environment, domain: string): void {
      sellers.delete(sellerKey(environment, domain))
    },

    /** Lets everything go. What was read or written in a transaction that was undone may never have been. */
    forget(): void {
      mandates.clear()
      sellers.clear()
    },
  }
}

function sellerKey(environment: Environment, domain: string): string {
  return `${environment} ${domain}`
}

function remember<Fact>(facts: Map<string, Fact>, key: string, fact: Fact): void {
  if (facts.size >= maxRemembered) facts.clear()
  facts.set(key, fact)
}

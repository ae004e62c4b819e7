import type { Environment } from '@purser/wire/fields'

import type { AuditEvent, ListedSeller, RegisteredSeller } from '../../domain/records.ts'
import { eventsOfRelease } from '../released-domain.ts'
import type { OwnDomain, Registration, ReleaseEvents } from '../store.ts'
import type { AuditActs } from './audit-acts.ts'
import type { SqliteDatabase } from '../ledger/sqlite/open.ts'

/** The acts on sellers. */
export function prepareSellerActs(db: SqliteDatabase, { recordEvent }: AuditActs) {
  const claimDomain = db.prepare(`
    insert into seller_domains (environment, domain, account_id, seller_id) values (?, ?, ?, ?)
    on conflict do nothing`)
  const insertSeller = db.prepare(`
    insert into sellers (account_id, id, environment, name, domain, price_config, created_at_ms)
    values (?, ?, ?, ?, ?, ?, ?)`)
  const deleteDomain = db.prepare('delete from seller_domains where environment = ? and domain = ?')
  const deleteSeller = db.prepare('delete from sellers where account_id = ? and id = ?')
  const selectOwn = db.prepare<[string, string, string], { id: string }>(
    'select id from sellers where account_id = ? and environment = ? and domain = ? order by id limit 1',
  )
  const selectByDomain = db.prepare<[string, string], { account_id: string; seller_id: string }>(
    'select account_id, seller_id from seller_domains where environment = ? and domain = ?',
  )

  /** The id of the seller that an account has for a domain, pending or not. */
  function findOwn({ accountId, environment, domain }: OwnDomain): string | undefined {
    return selectOwn.get(accountId, environment, domain)?.id
  }

  /** The seller registered under a domain, whoever owns it. */
  function findSellerByDomain(environment: Environment, domain: string): RegisteredSeller | undefined {
    const row = selectByDomain.get(environment, domain)
    return row && { accountId: row.account_id, id: row.seller_id }
  }

  return {
    createSeller(seller: ListedSeller, event: AuditEvent): 'created' | 'seller_exists' {
      const { accountId, id, environment, name, domain, priceConfig, createdAtMs, isPending } = seller
      if (isPending) {
        if (selectByDomain.get(environment, domain) || findOwn(seller)) return 'seller_exists'
      } else if (claimDomain.run(environment, domain, accountId, id).changes === 0) {
        return 'seller_exists'
      }
      insertSeller.run(accountId, id, environment, name, domain, priceConfig, createdAtMs)
      recordEvent(event)
      return 'created'
    },

    claimDomain(own: OwnDomain, event: AuditEvent): 'claimed' | 'seller_exists' | 'not_found' {
      const { accountId, environment, domain } = own
      const id = findOwn(own)
      if (id === undefined) return 'not_found'
      if (claimDomain.run(environment, domain, accountId, id).changes === 0) {
        return selectByDomain.get(environment, domain)?.account_id === accountId ? 'claimed' : 'seller_exists'
      }
      recordEvent({ ...event, subjectId: id })
      return 'claimed'
    },

    releaseDomain(
      { environment, domain }: Registration,
      events: ReleaseEvents,
    ): RegisteredSeller | undefined {
      const seller = findSellerByDomain(environment, domain)
      if (!seller) return undefined
      deleteDomain.run(environment, domain)
      deleteSeller.run(seller.accountId, seller.id)
      for (const event of eventsOfRelease(events, seller, domain)) recordEvent(event)
      return seller
    },

    findSellerByDomain,
  }
}

export type SellerActs = ReturnType<typeof prepareSellerActs>

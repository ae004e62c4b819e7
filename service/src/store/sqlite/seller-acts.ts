import type { Environment } from '@purser/wire/fields'

import type { AuditEvent, RegisteredSeller, Seller } from '../../domain/records.ts'
import type { AuditActs } from './audit-acts.ts'
import type { SqliteDatabase } from './open.ts'

/** The acts on sellers. */
export function prepareSellerActs(db: SqliteDatabase, { recordEvent }: AuditActs) {
  const claimDomain = db.prepare(`
    insert into seller_domains (environment, domain, account_id, seller_id) values (?, ?, ?, ?)
    on conflict do nothing`)
  const insertSeller = db.prepare(`
    insert into sellers (account_id, id, environment, name, domain, price_config, created_at_ms)
    values (?, ?, ?, ?, ?, ?, ?)`)
  const selectByDomain = db.prepare<[string, string], { account_id: string; seller_id: string }>(
    'select account_id, seller_id from seller_domains where environment = ? and domain = ?',
  )

  return {
    createSeller(seller: Seller, event: AuditEvent): 'created' | 'seller_exists' {
      const { accountId, id, environment, name, domain, priceConfig, createdAtMs } = seller
      if (claimDomain.run(environment, domain, accountId, id).changes === 0) return 'seller_exists'
      insertSeller.run(accountId, id, environment, name, domain, priceConfig, createdAtMs)
      recordEvent(event)
      return 'created'
    },

    /** The seller registered under a domain, whoever owns it. */
    findSellerByDomain(environment: Environment, domain: string): RegisteredSeller | undefined {
      const row = selectByDomain.get(environment, domain)
      return row && { accountId: row.account_id, id: row.seller_id }
    },
  }
}

export type SellerActs = ReturnType<typeof prepareSellerActs>

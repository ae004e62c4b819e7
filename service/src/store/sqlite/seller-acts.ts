import type { Environment } from '@purser/wire/fields'

import type { AuditEvent, Seller } from '../../domain/records.ts'
import { toSeller, type SellerRow } from '../rows.ts'
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
  const selectByDomain = db.prepare<[string, string], SellerRow>(`
    select s.* from seller_domains d join sellers s on s.account_id = d.account_id and s.id = d.seller_id
    where d.environment = ? and d.domain = ?`)

  return {
    createSeller(seller: Seller, event: AuditEvent): 'created' | 'seller_exists' {
      const { accountId, id, environment, name, domain, priceConfig, createdAtMs } = seller
      if (claimDomain.run(environment, domain, accountId, id).changes === 0) return 'seller_exists'
      insertSeller.run(accountId, id, environment, name, domain, JSON.stringify(priceConfig), createdAtMs)
      recordEvent(event)
      return 'created'
    },

    /** The seller registered under a domain, whoever owns it. */
    findSellerByDomain(environment: Environment, domain: string): Seller | undefined {
      const row = selectByDomain.get(environment, domain)
      return row && toSeller(row)
    },
  }
}

export type SellerActs = ReturnType<typeof prepareSellerActs>

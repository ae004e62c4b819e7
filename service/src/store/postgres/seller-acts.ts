import type { AuditEvent, Seller } from '../../domain/records.ts'
import { insertEvent, isRecorded } from './audit-acts.ts'
import { query, rowsOf } from './queries.ts'
import type { Transaction } from './transaction.ts'

/** Registers a seller under its domain, unless somebody has it. */
export async function createSeller(
  transaction: Transaction,
  seller: Seller,
  event: AuditEvent,
): Promise<'created' | 'seller_exists'> {
  const { accountId, id, environment, name, domain, priceConfig, createdAtMs } = seller
  if (await isRecorded(transaction, event)) return 'created'
  const [claimed, own] = await transaction.ask(
    query(
      `insert into seller_domains (environment, domain, account_id, seller_id) values ($1, $2, $3, $4)
       on conflict do nothing returning seller_id`,
      [environment, domain, accountId, id],
    ),
    query('select 1 from seller_domains where environment = $1 and domain = $2 and seller_id = $3', [
      environment,
      domain,
      id,
    ]),
  )
  if (rowsOf(claimed).length === 0) {
    await transaction.commit()
    // The commit of an earlier attempt may have come while this one waited for it.
    return transaction.isRerun && rowsOf(own).length > 0 ? 'created' : 'seller_exists'
  }
  await transaction.commit(
    query(
      `insert into sellers (account_id, id, environment, name, domain, price_config, created_at_ms)
       values ($1, $2, $3, $4, $5, $6, $7)`,
      [accountId, id, environment, name, domain, priceConfig, createdAtMs],
    ),
    insertEvent(event),
  )
  return 'created'
}

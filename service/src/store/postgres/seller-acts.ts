import type { QueryConfig } from 'pg'

import type { AuditEvent, ListedSeller, RegisteredSeller, Seller } from '../../domain/records.ts'
import { eventsOfRelease } from '../released-domain.ts'
import type { OwnDomain, Registration, ReleaseEvents } from '../store.ts'
import { insertEvent, isRecorded } from './audit-acts.ts'
import { query, rowsOf } from './queries.ts'
import type { Transaction } from './transaction.ts'

/** Registers a seller under its domain, unless somebody has it. */
export async function createSeller(
  transaction: Transaction,
  seller: ListedSeller,
  event: AuditEvent,
): Promise<'created' | 'seller_exists'> {
  const { accountId, id, environment, name, domain, priceConfig, createdAtMs } = seller
  if (await isRecorded(transaction, event)) return 'created'
  if (seller.isPending) return createPending(transaction, seller, event)
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
    insertSeller({ accountId, id, environment, name, domain, priceConfig, createdAtMs }),
    insertEvent(event),
  )
  return 'created'
}

/** Writes a seller without its domain, unless that has an owner, or the account has asked for it already. */
async function createPending(
  transaction: Transaction,
  seller: Seller,
  event: AuditEvent,
): Promise<'created' | 'seller_exists'> {
  const { accountId, environment, domain } = seller
  const [owned, own] = await transaction.ask(
    query('select 1 from seller_domains where environment = $1 and domain = $2', [environment, domain]),
    query('select 1 from sellers where account_id = $1 and environment = $2 and domain = $3 limit 1', [
      accountId,
      environment,
      domain,
    ]),
  )
  if (rowsOf(owned).length > 0 || rowsOf(own).length > 0) {
    await transaction.commit()
    return 'seller_exists'
  }
  await transaction.commit(insertSeller(seller), insertEvent(event))
  return 'created'
}

function insertSeller(seller: Seller): QueryConfig {
  const { accountId, id, environment, name, domain, priceConfig, createdAtMs } = seller
  return query(
    `insert into sellers (account_id, id, environment, name, domain, price_config, created_at_ms)
     values ($1, $2, $3, $4, $5, $6, $7)`,
    [accountId, id, environment, name, domain, priceConfig, createdAtMs],
  )
}

/** Gives a domain to the seller of an account, unless somebody has it. */
export async function claimDomain(
  transaction: Transaction,
  { accountId, environment, domain }: OwnDomain,
  event: AuditEvent,
): Promise<'claimed' | 'seller_exists' | 'not_found'> {
  const [claimed, owners] = await transaction.ask(
    query(
      `insert into seller_domains (environment, domain, account_id, seller_id)
       select environment, domain, account_id, id from sellers
       where account_id = $1 and environment = $2 and domain = $3 order by id limit 1
       on conflict do nothing returning seller_id`,
      [accountId, environment, domain],
    ),
    query(
      `select s.id, d.account_id = s.account_id as is_owner from sellers s
       left join seller_domains d on d.environment = s.environment and d.domain = s.domain
       where s.account_id = $1 and s.environment = $2 and s.domain = $3 order by s.id limit 1`,
      [accountId, environment, domain],
    ),
  )
  const [own] = rowsOf<{ id: string; is_owner: boolean | null }>(owners)
  const [row] = rowsOf<{ seller_id: string }>(claimed)
  if (!row) {
    await transaction.commit()
    if (!own) return 'not_found'
    return own.is_owner === true ? 'claimed' : 'seller_exists'
  }
  await transaction.commit(insertEvent({ ...event, subjectId: row.seller_id }))
  return 'claimed'
}

/**
 * Removes the seller that is registered under a domain. A second attempt finds what the first did in the operator's log.
 */
export async function releaseDomain(
  transaction: Transaction,
  { environment, domain }: Registration,
  events: ReleaseEvents,
): Promise<RegisteredSeller | undefined> {
  const [released, before] = await transaction.ask(
    query(
      'delete from seller_domains where environment = $1 and domain = $2 returning account_id, seller_id',
      [environment, domain],
    ),
    query('select subject_id, data from recorded_events where account_id = $1 and id = $2', [
      events.own.accountId,
      events.own.id,
    ]),
  )
  const [row] = rowsOf<{ account_id: string; seller_id: string }>(released)
  if (!row) {
    await transaction.commit()
    const [event] = rowsOf<{ subject_id: string; data: string }>(before)
    if (!event) return undefined
    const { account_id: accountId } = JSON.parse(event.data) as { account_id: string }
    return { accountId, id: event.subject_id }
  }
  const seller = { accountId: row.account_id, id: row.seller_id }
  await transaction.commit(
    query('delete from sellers where account_id = $1 and id = $2', [seller.accountId, seller.id]),
    ...eventsOfRelease(events, seller, domain).map(insertEvent),
  )
  return seller
}

import type { Pool, QueryConfig } from 'pg'

import type { RecordKey } from '../store.ts'
import { textArray } from './columns.ts'
import type { InTransaction } from './transaction.ts'

/**
 * Ends the open holds of a mandate, or of all mandates of an agent, which must be locked. What has
 * expired by now is expired, though nobody swept it yet; the rest is voided, and counted.
 */
export function endHolds(of: 'id' | 'agent_id', key: RecordKey, nowMs: number): QueryConfig {
  return {
    text: `
      with ended as (
        update holds set status = case when expires_at_ms <= $3 then 'expired' else 'voided' end
        where account_id = $1 and status = 'open'
          and mandate_id in (select id from mandates where account_id = $1 and ${of} = $2)
        returning mandate_id, amount_micro, status),
      given_back as (
        update mandates m set held_micro = m.held_micro - given.micro
        from (select mandate_id, sum(amount_micro)::bigint as micro from ended group by mandate_id) given
        where m.account_id = $1 and m.id = given.mandate_id)
      select (count(*) filter (where status = 'voided'))::int as voided from ended`,
    values: [key.accountId, key.id, nowMs],
  }
}

/** As `endHolds`, for mandates that are named; how many were voided, by mandate. */
export function endHoldsOf(accountId: string, mandateIds: readonly string[], nowMs: number): QueryConfig {
  return {
    text: `
      with ended as (
        update holds set status = case when expires_at_ms <= $3 then 'expired' else 'voided' end
        where account_id = $1 and status = 'open' and mandate_id = any ($2::text[])
        returning mandate_id, amount_micro, status),
      given_back as (
        update mandates m set held_micro = m.held_micro - given.micro
        from (select mandate_id, sum(amount_micro)::bigint as micro from ended group by mandate_id) given
        where m.account_id = $1 and m.id = given.mandate_id)
      select mandate_id, (count(*) filter (where status = 'voided'))::int as voided from ended group by mandate_id`,
    values: [accountId, textArray(mandateIds), nowMs],
  }
}

/** How many holds of one mandate a sweep ends at the most; the next use of the mandate ends the rest. */
const maxHoldsOfMandate = 1_000

/** How many mandates one transaction of a sweep covers, so that no payment waits long for it. */
const mandatesAtOnce = 50

interface SweptMandate {
  account_id: string
  mandate_id: string
}

/**
 * Gives the amounts of expired holds back, account after account, going on where the last call stopped.
 * A mandate that a payment is using is left out: its next proof gives its expired holds back anyway.
 */
export function prepareHoldSweep(pool: Pool, inTransaction: InTransaction) {
  let sweptUpTo = ''

  async function nextMandates(nowMs: number, maxMandates: number): Promise<SweptMandate[]> {
    const { rows } = await pool.query<{ account_id: string; mandate_ids: string[] }>({
      text: `
        with recursive account (account_id, position) as (
          (select account_id, 1 from holds where status = 'open' and account_id > $1
           order by account_id limit 1)
          union all
          select (select h.account_id from holds h where h.status = 'open' and h.account_id > account.account_id
                  order by h.account_id limit 1), position + 1
          from account where account.account_id is not null and position < $3)
        select account.account_id, coalesce(expired.mandate_ids, '{}'::text[]) as mandate_ids
        from account left join lateral (
          select array_agg(mandate_id) as mandate_ids from (
            select distinct h.mandate_id from holds h
            where h.account_id = account.account_id and h.status = 'open' and h.expires_at_ms <= $2
            limit $3) one) expired on true
        where account.account_id is not null
        order by account.account_id`,
      values: [sweptUpTo, nowMs, maxMandates],
    })
    const mandates: SweptMandate[] = []
    let left = maxMandates
    for (const { account_id: accountId, mandate_ids: mandateIds } of rows) {
      if (left <= 0) return mandates
      sweptUpTo = accountId
      for (const id of mandateIds.slice(0, left)) mandates.push({ account_id: accountId, mandate_id: id })
      // An account without expired holds costs a look, too.
      left -= Math.max(1, mandateIds.length)
    }
    if (left > 0) sweptUpTo = ''
    return mandates
  }

  function endExpiredOf(
    mandates: readonly SweptMandate[],
    nowMs: number,
    deadlineMs: number,
  ): Promise<number> {
    const values = [
      textArray(mandates.map((one) => one.account_id)),
      textArray(mandates.map((one) => one.mandate_id)),
    ]
    return inTransaction({ deadlineMs }, async (transaction) => {
      const [locked] = await transaction.ask({
        text: `
          select m.account_id, m.id from unnest($1::text[], $2::text[]) as wanted (account_id, id)
            join mandates m on m.account_id = wanted.account_id and m.id = wanted.id
          order by m.account_id, m.id for no key update of m skip locked`,
        values,
      })
      const rows = (locked?.rows ?? []) as { account_id: string; id: string }[]
      const [ended] = await transaction.commit({
        text: `
          with expired as (
            select h.account_id, h.nonce from unnest($1::text[], $2::text[]) as wanted (account_id, mandate_id)
              cross join lateral (
                select own.account_id, own.nonce from holds own
                where own.account_id = wanted.account_id and own.mandate_id = wanted.mandate_id
                  and own.status = 'open' and own.expires_at_ms <= $3
                limit $4) h),
          ended as (
            update holds h set status = 'expired' from expired
            where h.account_id = expired.account_id and h.nonce = expired.nonce and h.status = 'open'
            returning h.account_id, h.mandate_id, h.amount_micro),
          given_back as (
            update mandates m set held_micro = m.held_micro - given.micro
            from (select account_id, mandate_id, sum(amount_micro)::bigint as micro from ended
                  group by account_id, mandate_id) given
            where m.account_id = given.account_id and m.id = given.mandate_id)
          select count(*)::int as ended from ended`,
        values: [
          textArray(rows.map((row) => row.account_id)),
          textArray(rows.map((row) => row.id)),
          nowMs,
          maxHoldsOfMandate,
        ],
      })
      const [counted] = (ended?.rows ?? []) as { ended: number }[]
      return counted?.ended ?? 0
    })
  }

  return async function releaseExpiredHolds(
    nowMs: number,
    maxMandates: number,
    deadlineMs: number,
  ): Promise<number> {
    const mandates = await nextMandates(nowMs, maxMandates)
    let ended = 0
    for (let start = 0; start < mandates.length; start += mandatesAtOnce) {
      ended += await endExpiredOf(mandates.slice(start, start + mandatesAtOnce), nowMs, deadlineMs)
    }
    return ended
  }
}

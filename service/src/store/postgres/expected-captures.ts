import { distinct } from './batch-facts.ts'
import { intArray, textArray } from './columns.ts'
import type { ExpectedCapture } from './expectations.ts'
import type { PaidSellers } from './paid-sellers.ts'
import { insertPaidSellers, isOpen, type Question } from './payment-statements.ts'
import { rowsOf } from './queries.ts'
import type { Transaction } from './transaction.ts'

/**
 * Captures what is as expected, as one transaction of one round trip; whether each of them was captured. What was
 * not has been left as it was.
 */
export async function writeExpectedCaptures(
  transaction: Pick<Transaction, 'commit'>,
  captures: readonly ExpectedCapture[],
  paidSellers: PaidSellers,
): Promise<boolean[]> {
  const sellers = captures.map(({ capture, merchantDomain }) => ({ ...capture, merchantDomain }))
  const newlyPaid = paidSellers.unknownOf(sellers)
  const [answer] = await transaction.commit(
    captureAsExpected(captures),
    ...(newlyPaid.length > 0 ? [insertPaidSellers(newlyPaid)] : []),
  )
  const [{ ids } = { ids: [] }] = rowsOf<{ ids: string[] }>(answer)
  const captured = new Set(ids)
  paidSellers.remember(newlyPaid.filter(({ transactionId }) => captured.has(transactionId)))
  return captures.map(({ capture }) => captured.has(capture.transactionId))
}

/**
 * Captures what is as expected, all in one statement: it finds the holds that are open, changes the sums of their mandates,
 * in one order for all, which locks them, and writes what follows. It does nothing for any of them when a key has been
 * revoked, its account is disabled, or somebody else is registered under a domain. It answers with the transactions of what it captured.
 *
 * It sees what was committed when it began. What somebody has changed since, while it waited for a lock, the server
 * looks at anew: a mandate whose sellers are others now, or that holds less than this takes, and a hold that is of another
 * version. (Servers before 15.15, 16.11, 17.7 and 18 do not look again at the place by which they find a row.) Then it fails
 * as a whole, and nothing of it has happened.
 */
export function captureAsExpected(captures: readonly ExpectedCapture[]): Question<{ ids: string[] }> {
  // Captures of one batch may expect different sellers of a domain; then one of them is wrong, and nothing is done.
  const expected = distinct(
    captures,
    ({ capture, merchantDomain, registered }) =>
      `${capture.caller.environment} ${merchantDomain} ${registered?.id}`,
  )
  const keys = distinct(
    captures.map(({ capture }) => capture.caller),
    ({ keyId }) => keyId,
  )
  return {
    name: 'purser_capture_as_expected',
    text: `
      with paid as materialized (
        select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
            $8::text[], $9::text[], $10::text[], $11::text[], $12::bigint[], $19::text[])
            as paid (payer, nonce, environment, mandate, allowed_sellers, transaction_id, captured_by,
              merchant_domain, idempotency_key, seller_account_id, seller_id, at_ms, terms)
        where not exists (
          select from unnest($13::text[], $14::text[], $15::text[], $16::text[])
              as expected (environment, domain, account_id, seller_id)
            left join seller_domains s on s.environment = expected.environment and s.domain = expected.domain
          where s.account_id is distinct from expected.account_id
            or s.seller_id is distinct from expected.seller_id)
          and not exists (
            select from unnest($17::text[], $18::text[]) as used (account_id, id)
              left join api_keys k on k.account_id = used.account_id and k.id = used.id and k.revoked_at_ms is null
              left join accounts a on a.id = used.account_id and a.disabled_at_ms is null
            where k.id is null or a.id is null)),
      open as materialized (
        select h.ctid as place, h.xmin as version, h.account_id, h.nonce, h.environment, h.agent_id, h.mandate_id, h.amount_text,
          h.amount_micro, h.currency, h.resource_url, paid.allowed_sellers, paid.transaction_id, paid.captured_by,
          paid.merchant_domain, paid.idempotency_key, paid.seller_account_id, paid.seller_id, paid.at_ms
        from paid join holds h on h.account_id = paid.payer and h.nonce = paid.nonce
        where ${isOpen} and h.environment = paid.environment and h.mandate_id = paid.mandate
          and h.expires_at_ms > paid.at_ms
          and paid.terms = h.agent_id || ' ' || h.amount_text || ' ' || h.currency || ' ' || h.resource_url),
      spent as (
        update mandates m set spent_micro = m.spent_micro + paid.micro, held_micro = m.held_micro - paid.micro
        from (select account_id, mandate_id, sum(amount_micro)::bigint as micro, count(*) as payments,
                min(allowed_sellers collate "C") as allowed_sellers, max(allowed_sellers collate "C") as others
              from open group by account_id, mandate_id order by account_id, mandate_id) paid
        where m.account_id = paid.account_id and m.id = paid.mandate_id and m.held_micro >= paid.micro
          and m.allowed_sellers = paid.allowed_sellers and m.allowed_sellers = paid.others
        returning paid.payments),
      captured as (
        update holds h set status = 'captured', transaction_id = open.transaction_id, captured_by = open.captured_by,
          merchant_domain = open.merchant_domain, idempotency_key = open.idempotency_key
        from open
        -- asked first, so that all mandates are locked before a hold is touched
        where (select sum(payments) from spent) > 0 and h.ctid = open.place and h.xmin = open.version
        returning open.transaction_id),
      recorded as (
        insert into transactions (account_id, id, environment, side, status, agent_id, mandate_id, amount_text,
          amount_micro, currency, resource_url, merchant_domain, seller_account_id, seller_id, nonce, created_at_ms,
          collected_by)
        select account_id, transaction_id, environment, 'payer', 'paid', agent_id, mandate_id, amount_text,
          amount_micro, currency, resource_url, merchant_domain, seller_account_id, seller_id, nonce, at_ms, captured_by
        from open),
      queued as (
        insert into activity_queue (account_id, id, transaction_ids)
        select account_id, min(transaction_id), string_agg(transaction_id, ',') from open group by account_id)
      select coalesce(array_agg(transaction_id), '{}') as ids,
        -- all that was open has been spent and captured, or this divides by zero
        1 / (count(*) = (select count(*) from open)
          and count(*) = (select coalesce(sum(payments), 0) from spent))::int as whole
      from captured`,
    values: [
      textArray(captures.map(({ capture }) => capture.accountId)),
      textArray(captures.map(({ capture }) => capture.nonce)),
      textArray(captures.map(({ capture }) => capture.caller.environment)),
      textArray(captures.map(({ capture }) => capture.mandateId)),
      textArray(captures.map(({ allowedSellers }) => allowedSellers)),
      textArray(captures.map(({ capture }) => capture.transactionId)),
      textArray(captures.map(({ capture }) => capture.caller.keyId)),
      textArray(captures.map(({ merchantDomain }) => merchantDomain)),
      textArray(captures.map(({ capture }) => capture.idempotencyKey)),
      textArray(captures.map(({ seller }) => seller?.accountId ?? null)),
      textArray(captures.map(({ seller }) => seller?.id ?? null)),
      intArray(captures.map(({ capture }) => capture.nowMs)),
      textArray(expected.map(({ capture }) => capture.caller.environment)),
      textArray(expected.map(({ merchantDomain }) => merchantDomain)),
      textArray(expected.map(({ registered }) => registered?.accountId ?? null)),
      textArray(expected.map(({ registered }) => registered?.id ?? null)),
      textArray(keys.map(({ accountId }) => accountId)),
      textArray(keys.map(({ keyId }) => keyId)),
      textArray(captures.map(({ terms }) => terms)),
    ],
  }
}

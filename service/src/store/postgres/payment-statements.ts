import type { QueryConfig } from 'pg'

import type { Environment } from '@purser/wire/fields'

import type { GrantedHold } from '../payment-records.ts'
import type { HoldRow, MandateRow, TransactionRow } from '../rows.ts'
import type { Capture, RequestKey } from '../store.ts'
import { intArray, textArray } from './columns.ts'

// The statements of a batch of payments. All but one have names, so that the server plans them once for each
// connection, and they take their rows as arrays, so that a batch costs one execution.

/** A statement whose answer has rows of this form. */
export interface Question<Row> extends QueryConfig {
  /** Never there: it lets the compiler know the rows. */
  readonly formOfRows?: Row
}

/** Written so that no plan goes through the index of all open holds to find the few that are named. */
export const isOpen = `h.status || '' = 'open'`

/** A mandate to be locked. */
export interface WantedMandate {
  readonly accountId: string
  readonly id: string
}

export interface LockedMandate {
  account_id: string
  id: string
  environment: Environment
  allowed_sellers: string
}

/**
 * Locks mandates in one order for all, so that batches wait for each other in line and never in a ring.
 * Holds change only under the lock of their mandate, so what is read after this stays as it is.
 */
export function lockMandates(mandates: readonly WantedMandate[]): Question<LockedMandate> {
  return {
    name: 'purser_lock_mandates',
    text: `
      select m.account_id, m.id, m.environment, m.allowed_sellers
      from unnest($1::text[], $2::text[]) as wanted (account_id, id)
        join mandates m on m.account_id = wanted.account_id and m.id = wanted.id
      order by m.account_id, m.id
      for no key update of m`,
    values: [textArray(mandates.map((one) => one.accountId)), textArray(mandates.map((one) => one.id))],
  }
}

/** Whose policy is asked: an agent and a mandate of a scope. */
export interface WantedFacts {
  readonly accountId: string
  readonly environment: Environment
  readonly agentId: string
  readonly mandateId: string
}

/** An agent, and the mandate beside it; either may be missing. */
export type FactsRow = { [Column in keyof MandateRow]: MandateRow[Column] | null } & {
  wanted: number
  agent_found: string | null
  agent_name: string
  agent_description: string | null
  agent_capabilities: string
  agent_status: 'active' | 'revoked'
  agent_created_at_ms: string
  agent_revoked_at_ms: string | null
}

export function readFacts(facts: readonly WantedFacts[]): Question<FactsRow> {
  return {
    name: 'purser_read_facts',
    text: `
      select wanted.position::int - 1 as wanted, a.id as agent_found, a.name as agent_name,
        a.description as agent_description, a.capabilities as agent_capabilities, a.status as agent_status,
        a.created_at_ms as agent_created_at_ms, a.revoked_at_ms as agent_revoked_at_ms, m.*
      from unnest($1::text[], $2::text[], $3::text[], $4::text[]) with ordinality
          as wanted (account_id, environment, agent_id, mandate_id, position)
        left join agents a on a.account_id = wanted.account_id and a.id = wanted.agent_id
          and a.environment = wanted.environment
        left join mandates m on m.account_id = wanted.account_id and m.id = wanted.mandate_id
          and m.environment = wanted.environment`,
    values: [
      textArray(facts.map((one) => one.accountId)),
      textArray(facts.map((one) => one.environment)),
      textArray(facts.map((one) => one.agentId)),
      textArray(facts.map((one) => one.mandateId)),
    ],
  }
}

/** A hold that nobody has captured in time. */
export type ExpiredHold = Pick<
  HoldRow,
  'account_id' | 'nonce' | 'mandate_id' | 'amount_micro' | 'expires_at_ms'
>

/**
 * The open holds of mandates that have expired by a moment. It has no name, so it is planned each time: while
 * holds are few, the primary key looks as good as the index of open holds, and a plan that was kept from
 * then would go through every hold of an account.
 */
export function readExpired(mandates: readonly WantedMandate[], nowMs: number): Question<ExpiredHold> {
  return {
    text: `
      select h.account_id, h.nonce, h.mandate_id, h.amount_micro, h.expires_at_ms
      from unnest($1::text[], $2::text[]) as wanted (account_id, mandate_id)
        cross join lateral (
          select * from holds own
          where own.account_id = wanted.account_id and own.mandate_id = wanted.mandate_id
            and own.status = 'open' and own.expires_at_ms <= $3
          offset 0) h`,
    values: [
      textArray(mandates.map((one) => one.accountId)),
      textArray(mandates.map((one) => one.id)),
      nowMs,
    ],
  }
}

/** A proof whose hold is looked for. */
export interface WantedHold {
  readonly accountId: string
  readonly environment: Environment
  readonly nonce: string
}

/** A hold, and the place of the proof that it was found for. */
export type FoundHold = HoldRow & { wanted: number }

/** The holds of proofs, each with the place of the proof that it was found for. */
export function readHolds(holds: readonly WantedHold[]): Question<FoundHold> {
  return {
    name: 'purser_read_holds',
    text: `
      select wanted.position::int - 1 as wanted, h.*
      from unnest($1::text[], $2::text[], $3::text[]) with ordinality
          as wanted (account_id, environment, nonce, position)
        join holds h on h.account_id = wanted.account_id and h.nonce = wanted.nonce
          and h.environment = wanted.environment`,
    values: [
      textArray(holds.map((one) => one.accountId)),
      textArray(holds.map((one) => one.environment)),
      textArray(holds.map((one) => one.nonce)),
    ],
  }
}

/** A request for a proof that carries an `Idempotency-Key`. */
export interface WantedRequest extends RequestKey {
  readonly accountId: string
  readonly environment: Environment
}

/** The holds that earlier requests with the same keys made. */
export function readRequested(requests: readonly WantedRequest[]): Question<FoundHold> {
  return {
    name: 'purser_read_requested',
    text: `
      select wanted.position::int - 1 as wanted, h.*
      from unnest($1::text[], $2::text[], $3::text[], $4::text[]) with ordinality
          as wanted (account_id, environment, requested_by, request_key, position)
        join holds h on h.account_id = wanted.account_id and h.environment = wanted.environment
          and h.requested_by = wanted.requested_by and h.request_key = wanted.request_key`,
    values: [
      textArray(requests.map((one) => one.accountId)),
      textArray(requests.map((one) => one.environment)),
      textArray(requests.map((one) => one.callerId)),
      textArray(requests.map((one) => one.idempotencyKey)),
    ],
  }
}

/** Those of the accounts that are disabled. */
export function readDisabled(accountIds: readonly string[]): Question<{ id: string }> {
  return {
    name: 'purser_read_disabled',
    text: `select id from accounts where id = any ($1::text[]) and disabled_at_ms is not null`,
    values: [textArray(accountIds)],
  }
}

export interface SellerDomainRow {
  environment: Environment
  domain: string
  account_id: string
  seller_id: string
}

export interface WantedDomain {
  readonly environment: Environment
  readonly domain: string
}

/** Who is registered under domains. */
export function readSellers(domains: readonly WantedDomain[]): Question<SellerDomainRow> {
  return {
    name: 'purser_read_sellers',
    text: `
      select s.environment, s.domain, s.account_id, s.seller_id
      from unnest($1::text[], $2::text[]) as wanted (environment, domain)
        join seller_domains s on s.environment = wanted.environment and s.domain = wanted.domain`,
    values: [textArray(domains.map((one) => one.environment)), textArray(domains.map((one) => one.domain))],
  }
}

/** Which of the evaluations have been recorded already. */
export function readRecorded(
  proposals: readonly { accountId: string; id: string }[],
): Question<TransactionRow> {
  return {
    name: 'purser_read_recorded',
    text: `
      select t.* from unnest($1::text[], $2::text[]) as wanted (account_id, id)
        join transactions t on t.account_id = wanted.account_id and t.id = wanted.id`,
    values: [textArray(proposals.map((one) => one.accountId)), textArray(proposals.map((one) => one.id))],
  }
}

/** Ends holds that have expired, and gives back the amounts of those that did end. */
export function endExpired(holds: readonly ExpiredHold[]): QueryConfig {
  return {
    name: 'purser_end_expired',
    text: `
      with ended as (
        update holds h set status = 'expired'
        from unnest($1::text[], $2::text[]) as wanted (account_id, nonce)
        where h.account_id = wanted.account_id and h.nonce = wanted.nonce and ${isOpen}
        returning h.account_id, h.mandate_id, h.amount_micro)
      update mandates m set held_micro = m.held_micro - given.micro
      from (select account_id, mandate_id, sum(amount_micro)::bigint as micro from ended
            group by account_id, mandate_id) given
      where m.account_id = given.account_id and m.id = given.mandate_id`,
    values: [textArray(holds.map((one) => one.account_id)), textArray(holds.map((one) => one.nonce))],
  }
}

/**
 * Leaves holds as they are, but in another version: a capture as expected that has looked at them before, and waits for a
 * lock, fails. Every later one finds what is committed now.
 */
export function overtakeCaptures(holds: readonly Pick<HoldRow, 'account_id' | 'nonce'>[]): QueryConfig {
  return {
    name: 'purser_overtake_captures',
    text: `
      update holds h set status = h.status
      from unnest($1::text[], $2::text[]) as wanted (account_id, nonce)
      where h.account_id = wanted.account_id and h.nonce = wanted.nonce`,
    values: [textArray(holds.map((one) => one.account_id)), textArray(holds.map((one) => one.nonce))],
  }
}

/** Writes granted holds, and holds their amounts. The keys of their requests are written only where there are any. */
export function insertHolds(holds: readonly GrantedHold[]): QueryConfig {
  const isKeyed = holds.some(({ requestKey }) => requestKey)
  const ofRequest = isKeyed ? ', requested_by, request_key' : ''
  return {
    name: isKeyed ? 'purser_insert_keyed_holds' : 'purser_insert_holds',
    text: `
      with granted as (
        insert into holds (account_id, nonce, environment, agent_id, mandate_id, amount_text, amount_micro,
          currency, resource_url, status, issued_at_ms, expires_at_ms, spent_before_micro,
          held_before_micro${ofRequest})
        select account_id, nonce, environment, agent_id, mandate_id, amount_text, amount_micro,
          currency, resource_url, 'open', issued_at_ms, expires_at_ms, spent_before_micro,
          held_before_micro${ofRequest}
        from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[],
          $8::text[], $9::text[], $10::bigint[], $11::bigint[], $12::bigint[],
          $13::bigint[]${isKeyed ? ', $14::text[], $15::text[]' : ''})
          as hold (account_id, nonce, environment, agent_id, mandate_id, amount_text, amount_micro,
            currency, resource_url, issued_at_ms, expires_at_ms, spent_before_micro, held_before_micro${ofRequest})
        returning account_id, mandate_id, amount_micro)
      update mandates m set held_micro = m.held_micro + taken.micro
      from (select account_id, mandate_id, sum(amount_micro)::bigint as micro from granted
            group by account_id, mandate_id) taken
      where m.account_id = taken.account_id and m.id = taken.mandate_id`,
    values: [
      textArray(holds.map((one) => one.accountId)),
      textArray(holds.map((one) => one.nonce)),
      textArray(holds.map((one) => one.environment)),
      textArray(holds.map((one) => one.agentId)),
      textArray(holds.map((one) => one.mandateId)),
      textArray(holds.map((one) => one.amountText)),
      intArray(holds.map((one) => one.amountMicro)),
      textArray(holds.map((one) => one.currency)),
      textArray(holds.map((one) => one.resourceUrl)),
      intArray(holds.map((one) => one.issuedAtMs)),
      intArray(holds.map((one) => one.expiresAtMs)),
      intArray(holds.map((one) => one.spentBeforeMicro)),
      intArray(holds.map((one) => one.heldBeforeMicro)),
      ...(isKeyed
        ? [
            textArray(holds.map(({ requestKey }) => requestKey?.callerId ?? null)),
            textArray(holds.map(({ requestKey }) => requestKey?.idempotencyKey ?? null)),
          ]
        : []),
    ],
  }
}

/** A capture that was decided, and what it writes. */
export interface CapturedPayment {
  readonly capture: Capture
  readonly hold: HoldRow
  readonly merchantDomain: string
  readonly payer: TransactionRow
}

/**
 * Steps 5 to 8 of verifications. All of it follows from the holds that were open and now are captured:
 * for a hold that was not, nothing is spent and nothing recorded.
 */
export function captureHolds(payments: readonly CapturedPayment[]): QueryConfig {
  return {
    name: 'purser_capture_holds',
    text: `
      with captured as (
        update holds h set status = 'captured', transaction_id = paid.transaction_id,
          captured_by = paid.captured_by, merchant_domain = paid.merchant_domain,
          idempotency_key = paid.idempotency_key
        from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
          $8::text[], $9::bigint[])
          as paid (account_id, nonce, transaction_id, captured_by, merchant_domain, idempotency_key,
            seller_account_id, seller_id, at_ms)
        where h.account_id = paid.account_id and h.nonce = paid.nonce and ${isOpen}
        returning h.*, paid.seller_account_id, paid.seller_id, paid.at_ms),
      spent as (
        update mandates m set spent_micro = m.spent_micro + paid.micro, held_micro = m.held_micro - paid.micro
        from (select account_id, mandate_id, sum(amount_micro)::bigint as micro from captured
              group by account_id, mandate_id) paid
        where m.account_id = paid.account_id and m.id = paid.mandate_id)
      insert into transactions (account_id, id, environment, side, status, agent_id, mandate_id, amount_text,
        amount_micro, currency, resource_url, merchant_domain, seller_account_id, seller_id, nonce, created_at_ms,
        collected_by)
      select account_id, transaction_id, environment, 'payer', 'paid', agent_id, mandate_id, amount_text,
        amount_micro, currency, resource_url, merchant_domain, seller_account_id, seller_id, nonce, at_ms, captured_by
      from captured
      union all
      -- a payment between two accounts stands in both
      select seller_account_id, transaction_id, environment, 'payee', 'paid', agent_id, mandate_id, amount_text,
        amount_micro, currency, resource_url, merchant_domain, seller_account_id, seller_id, nonce, at_ms, null
      from captured where seller_account_id <> account_id`,
    values: [
      textArray(payments.map(({ hold }) => hold.account_id)),
      textArray(payments.map(({ hold }) => hold.nonce)),
      textArray(payments.map(({ capture }) => capture.transactionId)),
      textArray(payments.map(({ capture }) => capture.caller.keyId)),
      textArray(payments.map(({ merchantDomain }) => merchantDomain)),
      textArray(payments.map(({ capture }) => capture.idempotencyKey)),
      textArray(payments.map(({ payer }) => payer.seller_account_id)),
      textArray(payments.map(({ payer }) => payer.seller_id)),
      intArray(payments.map(({ capture }) => capture.nowMs)),
    ],
  }
}

/** A payment whose seller belongs into the list of those that its mandate has paid. */
export interface PaidSeller {
  readonly accountId: string
  readonly transactionId: string
  readonly mandateId: string
  readonly merchantDomain: string
}

/** The seller of a payment, for that list. */
export function paidSellerOf({ payer, merchantDomain }: CapturedPayment): PaidSeller {
  return { accountId: payer.account_id, transactionId: payer.id, mandateId: payer.mandate_id, merchantDomain }
}

/** Writes the sellers of payments into the lists of those that their mandates have paid. */
export function insertPaidSellers(payments: readonly PaidSeller[]): QueryConfig {
  return {
    name: 'purser_insert_paid_sellers',
    text: `
      insert into paid_sellers (account_id, mandate_id, merchant_domain)
      select t.account_id, t.mandate_id, t.merchant_domain
      from unnest($1::text[], $2::text[]) as paid (account_id, id)
        join transactions t on t.account_id = paid.account_id and t.id = paid.id
      on conflict do nothing`,
    values: [
      textArray(payments.map(({ accountId }) => accountId)),
      textArray(payments.map(({ transactionId }) => transactionId)),
    ],
  }
}

/** Writes evaluations with their outcomes. */
export function insertEvaluations(rows: readonly TransactionRow[]): QueryConfig {
  return {
    name: 'purser_insert_evaluations',
    text: `
      insert into transactions (account_id, id, environment, side, status, agent_id, mandate_id, amount_text,
        amount_micro, currency, resource_url, merchant_domain, seller_account_id, seller_id, category,
        reason_code, reason_detail, created_at_ms, failed_check, spent_before_micro)
      select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
        $8::text[], $9::bigint[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[],
        $16::text[], $17::text[], $18::bigint[], $19::bigint[], $20::bigint[])`,
    values: [
      textArray(rows.map((row) => row.account_id)),
      textArray(rows.map((row) => row.id)),
      textArray(rows.map((row) => row.environment)),
      textArray(rows.map((row) => row.side)),
      textArray(rows.map((row) => row.status)),
      textArray(rows.map((row) => row.agent_id)),
      textArray(rows.map((row) => row.mandate_id)),
      textArray(rows.map((row) => row.amount_text)),
      intArray(rows.map((row) => row.amount_micro)),
      textArray(rows.map((row) => row.currency)),
      textArray(rows.map((row) => row.resource_url)),
      textArray(rows.map((row) => row.merchant_domain)),
      textArray(rows.map((row) => row.seller_account_id)),
      textArray(rows.map((row) => row.seller_id)),
      textArray(rows.map((row) => row.category)),
      textArray(rows.map((row) => row.reason_code)),
      textArray(rows.map((row) => row.reason_detail)),
      intArray(rows.map((row) => row.created_at_ms)),
      intArray(rows.map((row) => row.failed_check)),
      intArray(rows.map((row) => row.spent_before_micro)),
    ],
  }
}

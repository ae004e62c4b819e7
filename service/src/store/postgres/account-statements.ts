import type { QueryConfig } from 'pg'

import type { GrantedHold } from '../payment-records.ts'
import type { AgentRow, HoldRow, MandateRow, TransactionRow } from '../rows.ts'
import { intArray, textArray } from './columns.ts'
import { storable } from '../ledger/postgres/connection.ts'
import type {
  CapturedPayment,
  ExpiredHold,
  PaidSeller,
  Question,
  WantedRequest,
} from './payment-statements.ts'

// The statements of a batch of one account. Each names the account by a plain `account_id = $1` and looks at
// one table, so that an engine that spreads accounts over machines sends it to one of them, unchanged, and
// keeps its plan. What differs from row to row is found by the place of the row's key in an array.

/** Locks mandates in one order for all. Holds change only under the lock of their mandate. */
export function lockMandatesOf(accountId: string, ids: readonly string[]): Question<MandateRow> {
  return {
    name: 'purser_account_lock_mandates',
    text: `select * from mandates where account_id = $1 and id = any ($2::text[]) order by id for no key update`,
    values: [accountId, textArray(ids)],
  }
}

/** Locks those of the mandates that nobody is using. */
export function lockIdleMandatesOf(
  accountId: string,
  ids: readonly string[],
): Question<Pick<MandateRow, 'id'>> {
  return {
    name: 'purser_account_lock_idle_mandates',
    text: `
      select id from mandates where account_id = $1 and id = any ($2::text[])
      order by id for no key update skip locked`,
    values: [accountId, textArray(ids)],
  }
}

export function readMandatesOf(accountId: string, ids: readonly string[]): Question<MandateRow> {
  return {
    name: 'purser_account_read_mandates',
    text: `select * from mandates where account_id = $1 and id = any ($2::text[])`,
    values: [accountId, textArray(ids)],
  }
}

export function readAgentsOf(accountId: string, ids: readonly string[]): Question<AgentRow> {
  return {
    name: 'purser_account_read_agents',
    text: `select * from agents where account_id = $1 and id = any ($2::text[])`,
    values: [accountId, textArray(ids)],
  }
}

/** The open holds of mandates that have expired by a moment. */
export function readExpiredOf(
  accountId: string,
  mandateIds: readonly string[],
  { nowMs, atMost = null }: { readonly nowMs: number; readonly atMost?: number | null },
): Question<ExpiredHold> {
  return {
    name: 'purser_account_read_expired',
    text: `
      select account_id, nonce, mandate_id, amount_micro, expires_at_ms from holds
      where account_id = $1 and mandate_id = any ($2::text[]) and status = 'open' and expires_at_ms <= $3
      limit $4`,
    values: [accountId, textArray(mandateIds), nowMs, atMost],
  }
}

export function readHoldsOf(accountId: string, nonces: readonly string[]): Question<HoldRow> {
  return {
    name: 'purser_account_read_holds',
    text: `select * from holds where account_id = $1 and ${isAmong('nonce', '$2', '$3')}`,
    values: [accountId, textArray(nonces), textArray(endsOf(nonces))],
  }
}

/** The holds that earlier requests with the same keys made, and perhaps others with some of their parts. */
export function readRequestedOf(accountId: string, requests: readonly WantedRequest[]): Question<HoldRow> {
  return {
    name: 'purser_account_read_requested',
    text: `
      select * from holds
      where account_id = $1 and environment = any ($2::text[]) and requested_by = any ($3::text[])
        and request_key = any ($4::text[])`,
    values: [
      accountId,
      textArray([...new Set(requests.map((one) => one.environment))]),
      textArray([...new Set(requests.map((one) => one.callerId))]),
      textArray([...new Set(requests.map((one) => one.idempotencyKey))]),
    ],
  }
}

/** Which of the evaluations have been recorded already. */
export function readRecordedOf(accountId: string, ids: readonly string[]): Question<TransactionRow> {
  return {
    name: 'purser_account_read_recorded',
    text: `select * from transactions where account_id = $1 and id = any ($2::text[])`,
    values: [accountId, textArray(ids)],
  }
}

/** A statement that must change a number of rows; a batch in which one does not is undone. */
export interface Write extends QueryConfig {
  /** Left out where a row may be there already. */
  readonly expectedRows?: number
}

export function expireHoldsOf(accountId: string, holds: readonly ExpiredHold[]): Write {
  const nonces = holds.map(({ nonce }) => nonce)
  return {
    name: 'purser_account_expire_holds',
    text: `
      update holds set status = 'expired'
      where account_id = $1 and ${isAmong('nonce', '$2', '$3')} and ${isOpen}`,
    values: [accountId, textArray(nonces), textArray(endsOf(nonces))],
    expectedRows: holds.length,
  }
}

export function captureHoldsOf(accountId: string, payments: readonly CapturedPayment[]): Write {
  const nonces = payments.map(({ hold }) => hold.nonce)
  return {
    name: 'purser_account_capture_holds',
    text: `
      update holds set status = 'captured', transaction_id = ${given('$3')}, captured_by = ${given('$4')},
        merchant_domain = ${given('$5')}, idempotency_key = ${given('$6')}
      where account_id = $1 and ${isAmong('nonce', '$2', '$7')} and ${isOpen}`,
    values: [
      accountId,
      textArray(nonces),
      textArray(payments.map(({ capture }) => capture.transactionId)),
      textArray(payments.map(({ capture }) => capture.caller.keyId)),
      textArray(payments.map(({ merchantDomain }) => merchantDomain)),
      textArray(payments.map(({ capture }) => capture.idempotencyKey)),
      textArray(endsOf(nonces)),
    ],
    expectedRows: payments.length,
  }
}

/** Written so that no plan goes through the index of all open holds to find the few that are named. */
const isOpen = `status || '' = 'open'`

/**
 * Whether a key is one of an array. Keys grow with time, so those of a batch lie close together; between which
 * ends is said besides, or a plan made without statistics goes through all rows of the account.
 */
function isAmong(key: string, keys: string, ends: string): string {
  return `${key} = any (${keys}::text[]) and ${key} between (${ends}::text[])[1] and (${ends}::text[])[2]`
}

function endsOf(keys: readonly string[]): string[] {
  const [first = '', ...others] = keys
  return others.reduce(
    ([least = first, greatest = first], key) => [key < least ? key : least, key > greatest ? key : greatest],
    [first, first],
  )
}

/** Not the bare element of the array: a server with Citus 13.2 dies of that in an update. */
function given(texts: string): string {
  return `${atPlaceOf('nonce', `${texts}::text[]`)} || ''`
}

/** What a batch adds to the sums of a mandate. */
export interface SumsChange {
  readonly mandateId: string
  readonly spentMicro: bigint
  readonly heldMicro: bigint
}

export function changeSumsOf(accountId: string, changes: readonly SumsChange[]): Write {
  return {
    name: 'purser_account_change_sums',
    text: `
      update mandates set spent_micro = spent_micro + ${atPlaceOf('id', '$3::bigint[]')}, held_micro = held_micro + ${atPlaceOf('id', '$4::bigint[]')}
      where account_id = $1 and id = any ($2::text[])`,
    values: [
      accountId,
      textArray(changes.map((one) => one.mandateId)),
      intArray(changes.map((one) => one.spentMicro)),
      intArray(changes.map((one) => one.heldMicro)),
    ],
    expectedRows: changes.length,
  }
}

/** The value of an array for the row whose key has the same place among the keys of `$2`. */
function atPlaceOf(key: string, values: string): string {
  return `(${values})[array_position($2::text[], ${key})]`
}

export function insertHoldsOf(accountId: string, holds: readonly GrantedHold[]): Write {
  const rows = holds.map((hold) => ({
    nonce: hold.nonce,
    environment: hold.environment,
    agent_id: hold.agentId,
    mandate_id: hold.mandateId,
    amount_text: hold.amountText,
    amount_micro: hold.amountMicro,
    currency: hold.currency,
    resource_url: hold.resourceUrl,
    status: 'open',
    issued_at_ms: hold.issuedAtMs,
    expires_at_ms: hold.expiresAtMs,
    spent_before_micro: hold.spentBeforeMicro,
    held_before_micro: hold.heldBeforeMicro,
    requested_by: hold.requestKey?.callerId ?? null,
    request_key: hold.requestKey?.idempotencyKey ?? null,
  }))
  return { ...insertRows(accountId, 'holds', rows), expectedRows: holds.length }
}

export function insertTransactionsOf(accountId: string, transactions: readonly TransactionRow[]): Write {
  return { ...insertRows(accountId, 'transactions', transactions), expectedRows: transactions.length }
}

export function insertPaidSellersOf(accountId: string, payments: readonly PaidSeller[]): Write {
  const rows = payments.map(({ mandateId, merchantDomain }) => ({
    mandate_id: mandateId,
    merchant_domain: merchantDomain,
  }))
  const insert = insertRows(accountId, 'paid_sellers', rows)
  return { ...insert, text: `${insert.text} on conflict do nothing` }
}

type Value = string | number | bigint | null

/** More rows than this are written as arrays. */
const mostWrittenOut = 8

/**
 * Rows of one account, all with the same columns. A few are written out, which Citus commits in one phase, and
 * plans once for each number of rows. Many are arrays, which cost less to read than a thousand parameters.
 */
function insertRows(accountId: string, table: string, rows: readonly object[]): NamedStatement {
  const columns = Object.keys(rows[0] ?? {}).filter((column) => column !== 'account_id')
  const valuesOf = rows.map((row) => {
    const valueOf = row as Readonly<Record<string, Value>>
    return columns.map((column) => valueOf[column] ?? null)
  })
  const into = `insert into ${table} (account_id, ${columns.join(', ')})`
  const name = `purser_account_insert_${table}`
  if (rows.length > mostWrittenOut) {
    const places = columns.map((column, index) => `$${index + 2}::${typeOf(column)}[]`)
    const arrays = columns.map((column, index) =>
      arrayOf(
        column,
        valuesOf.map((values) => values[index] ?? null),
      ),
    )
    return {
      name,
      text: `${into} select $1, given.* from unnest(${places.join(', ')}) as given`,
      values: [accountId, ...arrays],
    }
  }
  let place = 1
  const writtenOut = valuesOf.map(
    () => `($1, ${columns.map((column) => `$${++place}::${typeOf(column)}`).join(', ')})`,
  )
  return {
    name: `${name}_${rows.length}`,
    text: `${into} values ${writtenOut.join(', ')}`,
    values: [accountId, ...valuesOf.flat().map(storable)],
  }
}

interface NamedStatement {
  readonly name: string
  readonly text: string
  readonly values: unknown[]
}

function typeOf(column: string): 'bigint' | 'text' {
  return /_(micro|ms|check)$/.test(column) ? 'bigint' : 'text'
}

function arrayOf(column: string, values: readonly Value[]): string {
  return typeOf(column) === 'text'
    ? textArray(values.map((value) => (value === null ? null : String(value))))
    : intArray(values)
}

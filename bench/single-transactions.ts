import type { PoolClient, QueryConfig } from 'pg'

import { checkCollection } from '../service/src/domain/collection.ts'
import { normalizeHostName } from '../service/src/domain/host-name.ts'
import { idBytes, idText, type IdKind } from '../service/src/domain/type-id.ts'
import { openPool } from '../service/src/store/ledger/postgres/connection.ts'
import { idFrom, rowOf } from '../service/src/store/ledger/reads/rows.ts'
import { payments, type PaymentRow } from '../service/src/store/ledger/tables.ts'
import type { Capture, CaptureOutcome, Store } from '../service/src/store/store.ts'
import { noOptionalTerms } from '../service/src/domain/records.ts'

/** How a capture in its own transaction wins its race. */
export const singleForms = ['guarded update', 'select for update'] as const
export type SingleForm = (typeof singleForms)[number]

/** Max concurrent captures; the others wait for a connection. */
export const singleConnections = 16

/**
 * The store, except that each capture is a separate transaction, as most services do it: a connection from
 * the pool, `begin`, one named statement after the other, `commit`.
 */
export function withSingleTransactions(
  store: Store,
  { url, form }: { readonly url: string; readonly form: SingleForm },
): Store {
  const pool = openPool(url, { max: singleConnections })
  const capture = form === 'guarded update' ? captureByGuardedUpdate : captureByLock
  return {
    ...store,
    confirmsCallers: false,
    capture: async (call) => {
      const client = await pool.connect()
      try {
        await client.query('begin')
        const outcome = await capture(client, call)
        await client.query(outcome.outcome === 'captured' ? 'commit' : 'rollback')
        client.release()
        return outcome
      } catch (error) {
        client.release(true)
        throw error
      }
    },
    close: async () => {
      await pool.end()
      await store.close()
    },
  }
}

/** Captures the payment if it is open; a loser reads the row to find out why. */
async function captureByGuardedUpdate(client: PoolClient, call: Capture): Promise<CaptureOutcome> {
  const [taken] = await ask(client, takeOpenPayment(call))
  const refusal = refusalOf(call, taken ?? (await ask(client, readPayment(call, 'purser_bench_read')))[0])
  if (taken === undefined || refusal) return refusal ?? lost
  for (const statement of recordPayment(call, taken.payment)) await client.query(statement)
  return { outcome: 'captured', transactionId: call.transactionId }
}

/** Locks the payment and its mandate before the decision. */
async function captureByLock(client: PoolClient, call: Capture): Promise<CaptureOutcome> {
  const lock = 'for no key update of p, m'
  const [found] = await ask(client, readPayment(call, 'purser_bench_lock', lock))
  const refusal = refusalOf(call, found)
  if (found?.payment.status !== 'open' || refusal) return refusal ?? lost
  for (const statement of [capturePayment(call, found.payment), ...recordPayment(call, found.payment)]) {
    await client.query(statement)
  }
  return { outcome: 'captured', transactionId: call.transactionId }
}

const lost = { outcome: 'failed', reason: 'nonce_reused' } as const

/** A payment, with the facts that decide who may collect. */
interface Found {
  readonly payment: PaymentRow
  readonly allowedSellers: readonly string[]
  readonly sellerAccountId: string | undefined
  readonly sellerId: string | undefined
}

async function ask(client: PoolClient, statement: QueryConfig): Promise<Found[]> {
  const { rows } = await client.query<Record<string, unknown>>(statement)
  return rows.map((row) => ({
    payment: rowOf(payments, row),
    allowedSellers: JSON.parse(row['allowed_sellers'] as string) as string[],
    sellerAccountId: row['domain_account_id'] ? idFrom('account', row['domain_account_id']) : undefined,
    sellerId: row['domain_seller_id'] ? idFrom('seller', row['domain_seller_id']) : undefined,
  }))
}

function refusalOf(call: Capture, found: Found | undefined): CaptureOutcome | undefined {
  if (!found) return { outcome: 'failed', reason: 'proof_expired' }
  const { payment, allowedSellers, sellerAccountId: accountId, sellerId: id } = found
  if (payment.amountText !== call.amountText || payment.resourceUrl !== call.resourceUrl) {
    return { outcome: 'failed', reason: 'invalid_signature' }
  }
  const seller = accountId === undefined || id === undefined ? undefined : { accountId, id }
  const mandate = { ...noOptionalTerms, accountId: payment.accountId, allowedSellers, allowedCategories: [] }
  const code = checkCollection({ ...call, mandate, seller, category: null, collectedCategory: null })
  return code && { outcome: 'refused', code }
}

/**
 * Finds the payment of the proof `$1` under the mandate `$2`, by its key even if the planner has no
 * statistics.
 */
const paymentOfProof = `p.account_id = (select d.account_id from mandate_accounts d where d.mandate_id = $2)
        and p.nonce = $1 and p.environment = $3`

const collection = `m.allowed_sellers, s.account_id as domain_account_id, s.seller_id as domain_seller_id`

function takeOpenPayment(call: Capture): QueryConfig {
  return {
    name: 'purser_bench_take',
    text: `
      update payments p set status = 'captured', transaction_id = $5, captured_by = $6, captured_at_ms = $8,
        merchant_domain = $4, idempotency_key = $7
      from mandates m left join seller_domains s on s.environment = $3 and s.domain = $4
      where ${paymentOfProof} and p.status || '' = 'open' and m.account_id = p.account_id and m.id = p.mandate_id
        and p.epoch = m.epoch
      returning p.*, ${collection}`,
    values: [
      ...keysOf(call),
      uuid('transaction', call.transactionId),
      call.caller.keyId,
      call.idempotencyKey,
      call.nowMs,
    ],
  }
}

function readPayment(call: Capture, name: string, lock = ''): QueryConfig {
  return {
    name,
    text: `
      select p.*, ${collection}
      from payments p join mandates m on m.account_id = p.account_id and m.id = p.mandate_id and m.epoch = p.epoch
        left join seller_domains s on s.environment = $3 and s.domain = $4
      where ${paymentOfProof}
      ${lock}`,
    values: keysOf(call),
  }
}

function keysOf({ nonce, mandateId, caller, merchantDomain }: Capture): string[] {
  return [nonce, uuid('mandate', mandateId), caller.environment, normalizeHostName(merchantDomain)]
}

/** The first of the three writes: captures the payment, once. */
export function capturePayment(
  call: Capture,
  { accountId, nonce }: Pick<PaymentRow, 'accountId' | 'nonce'>,
): QueryConfig {
  return {
    name: 'purser_bench_payment',
    text: `
      update payments set status = 'captured', transaction_id = $3, captured_by = $4, merchant_domain = $5,
        idempotency_key = $6, captured_at_ms = $7
      where account_id = $1 and nonce = $2 and status || '' = 'open'`,
    values: [
      uuid('account', accountId),
      nonce,
      uuid('transaction', call.transactionId),
      call.caller.keyId,
      normalizeHostName(call.merchantDomain),
      call.idempotencyKey,
      call.nowMs,
    ],
  }
}

/** The other writes. The mandate comes last, so that its lock is held as briefly as possible. */
export function recordPayment(
  call: Capture,
  payment: Pick<PaymentRow, 'accountId' | 'nonce' | 'mandateId' | 'amountMicro' | 'environment'>,
): QueryConfig[] {
  const account = uuid('account', payment.accountId)
  const mandate = uuid('mandate', payment.mandateId)
  return [
    {
      name: 'purser_bench_entry',
      text: `
        insert into entries (account_id, id, environment, kind, payer_id, nonce, mandate_id, amount_micro, count, at_ms)
        values ($1, $2, $3, 'paid', $1, $4, $5, $6, 1, $7)`,
      values: [
        account,
        uuid('transaction', call.transactionId),
        payment.environment,
        payment.nonce,
        mandate,
        payment.amountMicro,
        call.nowMs,
      ],
    },
    {
      name: 'purser_bench_mandate',
      text: `
        update mandates set spent_micro = spent_micro + $3, held_micro = held_micro - $3,
          open_payments = open_payments - 1
        where account_id = $1 and id = $2`,
      values: [account, mandate, payment.amountMicro],
    },
  ]
}

function uuid(kind: IdKind, id: string): string {
  const bytes = idBytes(kind, id)
  if (!bytes) throw new Error(`${id} is not the id of a ${kind}`)
  return idText('nonce', bytes)
}

import type { PoolClient, QueryConfig } from 'pg'

import { normalizeHostName } from '../service/src/domain/host-name.ts'
import type { CollectedMandate, RegisteredSeller } from '../service/src/domain/records.ts'
import { decideCapture, recordOfPayment, type CaptureFacts } from '../service/src/store/payment-records.ts'
import { openPool } from '../service/src/store/ledger/postgres/connection.ts'
import type { HoldRow, TransactionRow } from '../service/src/store/rows.ts'
import type { Capture, CaptureOutcome, Store } from '../service/src/store/store.ts'

/** How a capture wins its race when it is a transaction of its own. */
export const singleForms = ['guarded update', 'select for update'] as const
export type SingleForm = (typeof singleForms)[number]

/** How many captures are under way at once; the others wait for a connection. */
export const singleConnections = 16

/**
 * The store, but each capture is a transaction of its own, as a service is most often written: a connection
 * from the pool, `begin`, one named statement after the other, `commit`. It decides and writes the same.
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

/** The hold is captured if it is open, and who lost sees why in what it finds then. */
async function captureByGuardedUpdate(client: PoolClient, call: Capture): Promise<CaptureOutcome> {
  const [taken] = await ask<CaptureFactsRow>(client, takeOpenHold(call))
  const facts = taken
    ? factsOf({ ...taken, status: 'open', transaction_id: null })
    : factsOf((await ask<CaptureFactsRow>(client, readCaptureFacts(call, 'purser_bench_read')))[0])
  const decision = decideCapture(call, facts)
  if ('outcome' in decision) return decision.outcome
  if (!taken) throw new Error(`the hold ${call.nonce} is open and could not be captured`)
  for (const statement of recordPayment(call, decision)) await client.query(statement)
  return { outcome: 'captured', transactionId: call.transactionId }
}

/** The hold and its mandate are locked before anything is decided on them. */
async function captureByLock(client: PoolClient, call: Capture): Promise<CaptureOutcome> {
  const [locked] = await ask<CaptureFactsRow>(
    client,
    readCaptureFacts(call, 'purser_bench_lock', 'for no key update of h, m'),
  )
  const decision = decideCapture(call, factsOf(locked))
  if ('outcome' in decision) return decision.outcome
  for (const statement of [captureHold(call, decision.hold), ...recordPayment(call, decision)]) {
    await client.query(statement)
  }
  return { outcome: 'captured', transactionId: call.transactionId }
}

async function ask<Row>(client: PoolClient, statement: QueryConfig): Promise<Row[]> {
  const { rows } = await client.query(statement)
  return rows as Row[]
}

/** A hold, and beside it what decides who may collect. */
type CaptureFactsRow = HoldRow & {
  allowed_sellers: string
  domain_account_id: string | null
  domain_seller_id: string | null
}

/** The callers of a bench are never disabled. */
const isDisabled = () => false

function factsOf(row: CaptureFactsRow | undefined): CaptureFacts<HoldRow, CollectedMandate> {
  if (!row) return { hold: undefined, mandate: undefined, seller: undefined, isDisabled }
  const { domain_account_id: accountId, domain_seller_id: id } = row
  return {
    hold: row,
    mandate: { accountId: row.account_id, allowedSellers: JSON.parse(row.allowed_sellers) as string[] },
    seller: accountId === null || id === null ? undefined : { accountId, id },
    isDisabled,
  }
}

/** What finds the hold of `$1` under the mandate `$2`; by its key, also while the planner knows no figures. */
const holdOfProof = `h.account_id = (select r.account_id from record_accounts r where r.id = $2)
        and h.nonce = $1 and h.environment = $3`

const collection = `m.allowed_sellers, s.account_id as domain_account_id, s.seller_id as domain_seller_id`

function takeOpenHold(call: Capture): QueryConfig {
  return {
    name: 'purser_bench_take',
    text: `
      update holds h set status = 'captured', transaction_id = $5, captured_by = $6, merchant_domain = $4,
        idempotency_key = $7
      from mandates m left join seller_domains s on s.environment = $3 and s.domain = $4
      where ${holdOfProof} and h.status || '' = 'open' and m.account_id = h.account_id and m.id = h.mandate_id
      returning h.*, ${collection}`,
    values: [...keysOf(call), call.transactionId, call.caller.keyId, call.idempotencyKey],
  }
}

function readCaptureFacts(call: Capture, name: string, lock = ''): QueryConfig {
  return {
    name,
    text: `
      select h.*, ${collection}
      from holds h join mandates m on m.account_id = h.account_id and m.id = h.mandate_id
        left join seller_domains s on s.environment = $3 and s.domain = $4
      where ${holdOfProof}
      ${lock}`,
    values: keysOf(call),
  }
}

function keysOf({ nonce, mandateId, caller, merchantDomain }: Capture): string[] {
  return [nonce, mandateId, caller.environment, normalizeHostName(merchantDomain)]
}

/** The first of the three writes: the hold is captured, once. */
export function captureHold(call: Capture, hold: HoldRow): QueryConfig {
  return {
    name: 'purser_bench_hold',
    text: `
      update holds set status = 'captured', transaction_id = $3, captured_by = $4, merchant_domain = $5,
        idempotency_key = $6
      where account_id = $1 and nonce = $2 and status || '' = 'open'`,
    values: [
      hold.account_id,
      hold.nonce,
      call.transactionId,
      call.caller.keyId,
      normalizeHostName(call.merchantDomain),
      call.idempotencyKey,
    ],
  }
}

/** The other writes. The mandate comes last, so that it is locked for the shortest time. */
export function recordPayment(
  call: Capture,
  { hold, seller }: { readonly hold: HoldRow; readonly seller: RegisteredSeller | undefined },
): QueryConfig[] {
  const payer = recordOfPayment(call, hold, seller)
  const { seller_account_id: payee } = payer
  const isBetweenAccounts = payee !== null && payee !== hold.account_id
  return [
    insertTransaction(payer),
    ...(isBetweenAccounts
      ? [insertTransaction({ ...payer, account_id: payee, side: 'payee', collected_by: null })]
      : []),
    {
      name: 'purser_bench_mandate',
      text: `
        update mandates set spent_micro = spent_micro + $3, held_micro = held_micro - $3
        where account_id = $1 and id = $2`,
      values: [hold.account_id, hold.mandate_id, hold.amount_micro],
    },
  ]
}

function insertTransaction(row: TransactionRow): QueryConfig {
  return {
    name: 'purser_bench_transaction',
    text: `
      insert into transactions (account_id, id, environment, side, status, agent_id, mandate_id, amount_text,
        amount_micro, currency, resource_url, merchant_domain, seller_account_id, seller_id, nonce, created_at_ms,
        collected_by)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
    values: [
      row.account_id,
      row.id,
      row.environment,
      row.side,
      row.status,
      row.agent_id,
      row.mandate_id,
      row.amount_text,
      row.amount_micro,
      row.currency,
      row.resource_url,
      row.merchant_domain,
      row.seller_account_id,
      row.seller_id,
      row.nonce,
      row.created_at_ms,
      row.collected_by,
    ],
  }
}

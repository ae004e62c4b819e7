import assert from 'node:assert/strict'

import type { Pool, PoolClient, QueryConfig } from 'pg'

import type { MicroUsdc } from '../service/src/domain/money.ts'
import { decideCapture } from '../service/src/store/payment-records.ts'
import { openPool } from '../service/src/store/ledger/postgres/connection.ts'
import { insertHolds } from '../service/src/store/postgres/payment-statements.ts'
import { openPostgresStore } from '../service/src/store/postgres/postgres-store.ts'
import type { HoldRow } from '../service/src/store/rows.ts'
import type { Capture } from '../service/src/store/store.ts'
import { answerParent } from './child.ts'
import type { BlockOrder, BlockReport } from './client.ts'
import { amount, merchantDomain, type Purchase } from './flows.ts'
import { Histogram } from './histogram.ts'
import { reportLedger, type LedgerReport } from './ledger.ts'
import type { RawLedger } from './ledgers.ts'
import { captureHold, recordPayment, singleConnections } from './single-transactions.ts'

let ledger: (RawLedger & { readonly pool: Pool; made: number }) | undefined

export const rawSqlActs = {
  /** Turns to the ledger of a database; it holds the mandates already. */
  open(order: RawLedger): void {
    ledger = { ...order, pool: openPool(order.url, { max: singleConnections }), made: 0 }
  },

  /** Lets go of the ledger, so that it can be taken away. */
  async close(): Promise<void> {
    await ledger?.pool.end()
    ledger = undefined
  },

  /**
   * What pgbench would do: so many connections write the three writes of a verification in one transaction
   * each, over and over, with no service before them and nothing to be decided.
   */
  async block({
    clients,
    spread,
    seconds,
    count,
  }: BlockOrder & { readonly count: number }): Promise<BlockReport> {
    const { pool, purchases } = opened()
    const payments = await preparePayments(spread === 'hot' ? purchases.slice(0, 1) : purchases, count)
    const connections = await Promise.all(Array.from({ length: clients }, () => pool.connect()))
    const latency = new Histogram()
    const cpu = process.cpuUsage()
    const startMs = performance.now()
    const endMs = startMs + seconds * 1000
    let next = 0

    async function keepBusy(connection: PoolClient): Promise<void> {
      while (performance.now() < endMs) {
        const statements = payments[next++]
        if (!statements) return
        const sentMs = performance.now()
        await connection.query('begin')
        for (const statement of statements) await connection.query(statement)
        await connection.query('commit')
        latency.record((performance.now() - sentMs) * 1000)
      }
    }

    await Promise.all(connections.map(keepBusy))
    const tookMs = performance.now() - startMs
    const { user, system } = process.cpuUsage(cpu)
    for (const connection of connections) connection.release()
    return {
      seconds: tookMs / 1000,
      operations: latency.total,
      captured: latency.total,
      latency: latency.counts,
      clientShare: (user + system) / 1000 / tookMs,
      unexpected: 0,
      sample: undefined,
    }
  },

  cpu: (): NodeJS.CpuUsage => process.cpuUsage(),

  async ledger(): Promise<LedgerReport> {
    const { url, caller, purchases } = opened()
    const store = await openPostgresStore({ url })
    try {
      return await reportLedger(store, caller, purchases.length)
    } finally {
      await store.close()
    }
  },
}

answerParent(rawSqlActs, async () => ledger?.pool.end())

function opened() {
  assert(ledger, 'no ledger is open')
  return ledger
}

/** Grants so many holds, and makes the three writes of each ready, before the clock starts. */
async function preparePayments(purchases: readonly Purchase[], count: number): Promise<QueryConfig[][]> {
  const current = opened()
  const { caller, pool } = current
  const { accountId, environment } = caller
  const nowMs = Date.now()
  const expiresAtMs = nowMs + 300_000
  const payments: QueryConfig[][] = []
  for (let made = 0; made < count; made += holdsAtOnce) {
    const holds = Array.from({ length: Math.min(holdsAtOnce, count - made) }, (_, index) => {
      const purchase = purchases[(made + index) % purchases.length]
      assert(purchase)
      const nonce = `raw_${String(current.made++).padStart(12, '0')}`
      return {
        accountId,
        environment,
        ...purchase,
        nonce,
        amountText: amount,
        amountMicro: 1_000_000n as MicroUsdc,
        currency: 'USDC' as const,
        status: 'open' as const,
        transactionId: null,
        resourceUrl: `https://${merchantDomain}/v1/reports/2026-11`,
        issuedAtMs: nowMs,
        expiresAtMs,
        spentBeforeMicro: 0n,
        heldBeforeMicro: 0n,
      }
    })
    await pool.query(insertHolds(holds))
    for (const { nonce, agentId, mandateId, resourceUrl } of holds) {
      const call: Capture = {
        caller,
        nonce,
        agentId,
        mandateId,
        amountText: amount,
        currency: 'USDC',
        resourceUrl,
        merchantDomain,
        idempotencyKey: null,
        transactionId: `txn_${nonce}`,
        nowMs,
      }
      const hold: HoldRow = {
        account_id: accountId,
        environment,
        nonce,
        agent_id: agentId,
        mandate_id: mandateId,
        amount_text: amount,
        amount_micro: 1_000_000n,
        currency: 'USDC',
        resource_url: resourceUrl,
        status: 'open',
        issued_at_ms: nowMs,
        expires_at_ms: expiresAtMs,
        transaction_id: null,
        captured_by: null,
        merchant_domain: null,
        idempotency_key: null,
        spent_before_micro: null,
        held_before_micro: null,
        requested_by: null,
        request_key: null,
      }
      const mandate = { accountId, allowedSellers: [merchantDomain] }
      const decision = decideCapture(call, { hold, mandate, seller: undefined, isDisabled: () => false })
      assert('hold' in decision)
      payments.push([captureHold(call, hold), ...recordPayment(call, decision)])
    }
  }
  return payments
}

const holdsAtOnce = 500

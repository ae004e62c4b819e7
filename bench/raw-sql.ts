import assert from 'node:assert/strict'

import type { Pool, PoolClient, QueryConfig } from 'pg'

import type { MicroUsdc } from '../service/src/domain/money.ts'
import { holdDefaults } from '../service/src/domain/new-records.ts'
import type { Hold } from '../service/src/domain/records.ts'
import { createIds, createIdsOfTimes } from '../service/src/ids.ts'
import { openPool } from '../service/src/store/ledger/postgres/connection.ts'
import { openPostgresLedgerStore } from '../service/src/store/ledger/postgres/postgres-ledger-store.ts'
import type { Capture, Store } from '../service/src/store/store.ts'
import { answerParent } from './child.ts'
import type { BlockOrder, BlockReport } from './client.ts'
import { amount, merchantDomain, type Purchase } from './flows.ts'
import { Histogram } from './histogram.ts'
import { reportLedger, type LedgerReport } from './ledger.ts'
import type { RawLedger } from './ledgers.ts'
import { capturePayment, recordPayment, singleConnections } from './single-transactions.ts'

let ledger: (RawLedger & { readonly pool: Pool; readonly store: Store }) | undefined

export const rawSqlActs = {
  /** Switches to the ledger of a database, which already has the mandates. */
  async open(order: RawLedger): Promise<void> {
    const store = await openPostgresLedgerStore({ url: order.url, nextId: createIdsOfTimes() })
    ledger = { ...order, store, pool: openPool(order.url, { max: singleConnections }) }
  },

  /** Disconnects from the ledger, so that it can be removed. */
  async close(): Promise<void> {
    await ledger?.pool.end()
    await ledger?.store.close()
    ledger = undefined
  },

  /**
   * Like pgbench: this many connections repeat the three writes of a verification in one transaction each,
   * without a service and without decisions.
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
    const { store, caller, purchases } = opened()
    return reportLedger(store, caller, purchases.length)
  },
}

answerParent(rawSqlActs, async () => ledger?.pool.end())

function opened() {
  assert(ledger, 'no ledger is open')
  return ledger
}

/** Issues this many proofs and prepares the three writes of each before the clock starts. */
async function preparePayments(purchases: readonly Purchase[], count: number): Promise<QueryConfig[][]> {
  const { caller, store } = opened()
  const { accountId, environment } = caller
  const nowMs = Date.now()
  const payments: QueryConfig[][] = []
  for (let made = 0; made < count; made += proofsAtOnce) {
    const some = Array.from({ length: Math.min(proofsAtOnce, count - made) }, (_, index) => made + index)
    await Promise.all(
      some.map(async (index) => {
        const purchase = purchases[index % purchases.length]
        assert(purchase)
        const hold: Hold = {
          accountId,
          environment,
          ...purchase,
          nonce: ids.nonce(),
          amountText: amount,
          amountMicro: 1_000_000n as MicroUsdc,
          currency: 'USDC',
          ...holdDefaults,
          resourceUrl: `https://${merchantDomain}/v1/reports/2026-11`,
          issuedAtMs: nowMs,
          expiresAtMs: nowMs + 300_000,
        }
        const { decision } = await store.issueProof(hold)
        assert.equal(decision, 'approved')
        const { nonce, agentId, mandateId, resourceUrl } = hold
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
          transactionId: ids.next('transaction'),
          nowMs,
        }
        payments.push([capturePayment(call, hold), ...recordPayment(call, hold)])
      }),
    )
  }
  return payments
}

const ids = createIds(Date.now)
const proofsAtOnce = 500

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { LedgerTenant } from '../../../testing/ledger-tenant.ts'
import { hourMs, openMemoryLedger } from '../../../testing/memory-ledger.ts'
import { parseAmount } from '../../domain/money.ts'
import { createIds } from '../../ids.ts'
import { StoreUnavailableError } from '../store.ts'
import { Ledger, type LedgerOptions } from './ledger.ts'
import { MemoryDatabase } from '../../../testing/memory/memory-database.ts'
import { add, lock, look, put, unchanged, type Operation, type Read } from './operation.ts'
import { amendMandate } from './operations/amendments.ts'
import { evaluate } from './operations/evaluations.ts'
import { issueProof } from './operations/payments.ts'
import { mandatesVoidedAtOnce, voidPayments, voidProof } from './operations/voids.ts'
import { listMandatesOf, releaseExpiredPayments } from './operations/mandates.ts'
import { activity, budgetUsage, mandates } from './tables.ts'
import { changeTransactions } from '../../../testing/transactions.ts'

test('Calls for more locked rows than the ledger waits for at once are retried, not refused', async () => {
  const { tenant, lockOf, holdLocks } = await openTenant({ maxBlockedRows: 2 })
  const ids = await Promise.all(Array.from({ length: 8 }, () => tenant.mandate()))
  const release = await holdLocks(ids.map(lockOf))
  const proofs = Promise.all(ids.map((id) => tenant.proof(id)))
  await sleep(30)
  release()
  assert.equal((await proofs).length, ids.length)
})

test('A call whose row stays locked is refused at its deadline, even while it is postponed', async () => {
  const { tenant, lockOf, holdLocks } = await openTenant({ maxBlockedRows: 1, patienceMs: 100 })
  const ids = await Promise.all([1, 2].map(() => tenant.mandate()))
  const release = await holdLocks(ids.map(lockOf))
  const startedAtMs = performance.now()
  // A lane waits for the first; the other is postponed again and again.
  void tenant.proof(ids[0] as string).catch(() => undefined)
  await sleep(1)
  await assert.rejects(tenant.proof(ids[1] as string), StoreUnavailableError)
  assert.ok(performance.now() - startedAtMs < 500)
  release()
})

test('Two lanes never read the same row at once', async () => {
  const { tenant, counts } = await openTenant({ lanes: 2, maxBatch: 4 })
  const ids = await Promise.all(Array.from({ length: 12 }, () => tenant.mandate()))
  counts.max = 0
  await Promise.all(Array.from({ length: 200 }, (_, index) => tenant.proof(ids[index % 12] as string)))
  assert.deepEqual({ ...counts, now: 0 }, { now: 0, max: 2, blocked: 0 })
})

test('What several calls add to one row is added up, within a batch and with what is there; reading it is a bug', async () => {
  const database = new MemoryDatabase()
  const ledger = new Ledger({
    driver: database,
    stopwatch: { nowMs: () => performance.now(), sleep },
    random: Math.random,
  })
  const key = {
    accountId: 'acct_1',
    environment: 'sandbox',
    dimension: 'all',
    subject: '',
    startsAtMs: 0,
  } as const
  const none = { approvedCount: 0, deniedCount: 0, refundedCount: 0, refundedHigh: 0n, refundedLow: 0n }
  const count: Operation<number, void> = {
    name: 'count',
    reads: () => [],
    decide: (paidCount) => ({
      outcome: undefined,
      changes: [add(activity, { ...key, ...none, paidCount, paidHigh: 0n, paidLow: BigInt(paidCount) })],
    }),
  }
  await Promise.all([ledger.run(count, 1), ledger.run(count, 2)])
  await ledger.run(count, 4)
  assert.deepEqual(database.rowsOf(activity), [{ ...key, ...none, paidCount: 7, paidHigh: 0n, paidLow: 7n }])

  const readBack: Operation<null, void> = {
    name: 'readBack',
    reads: () => [look(activity, key)],
    decide: () => unchanged(undefined),
  }
  await assert.rejects(ledger.run(readBack, null), /never read/)
})

test('A call that adds a row without having read it fails alone and soon if the row is there', async () => {
  const { ledger, tenant } = await openTenant({})
  const mandateId = await tenant.mandate()
  const usage = { ...tenant.caller, budgetId: 'budget_1', counted: {}, bookedAtMs: 0, reported: null }
  const writeBlindly: Operation<null, void> = {
    name: 'writeBlindly',
    reads: () => [],
    decide: () => ({ outcome: undefined, changes: [put(budgetUsage, usage)] }),
  }
  await ledger.run(writeBlindly, null)
  const blind = ledger.run(writeBlindly, null)
  const proofs = Array.from({ length: 8 }, () => tenant.proof(mandateId))
  await assert.rejects(
    blind,
    (error: Error) => error instanceof StoreUnavailableError && /its row exists/.test(error.message),
  )
  assert.equal((await Promise.all(proofs)).length, 8)
})

test('A second lane writes only if many calls wait or the first one hangs', async () => {
  const sleepers: (() => void)[] = []
  const stopwatch = {
    nowMs: () => performance.now(),
    sleep: () => new Promise<void>((wake) => sleepers.push(wake)),
  }
  const { tenant, counts, hangNext } = await openTenant({
    lanes: 2,
    beside: { least: 40, stalledAfterMs: 30 },
    maxBatch: 4,
    stopwatch,
  })
  const ids = await Promise.all(Array.from({ length: 12 }, () => tenant.mandate()))
  const proveAll = () => Promise.all(ids.map((id) => tenant.proof(id)))
  counts.max = 0
  await Promise.all([proveAll(), proveAll(), proveAll()])
  assert.equal(counts.max, 1)

  await Promise.all([proveAll(), proveAll(), proveAll(), proveAll()])
  assert.equal(counts.max, 2)

  counts.max = 0
  const release = hangNext()
  const hanging = tenant.proof(ids[0] as string)
  await sleep(1)
  const behind = tenant.proof(ids[0] as string)
  const others = Promise.all(ids.slice(1).map((id) => tenant.proof(id)))
  const goOn = setInterval(() => sleepers.splice(0).forEach((wake) => wake()), 1)
  assert.equal((await others).length, 11)
  assert.equal(counts.max, 2)
  // A call for the row that hangs is left to its lane.
  assert.equal(await Promise.race([behind, sleep(20, 'waiting')]), 'waiting')
  release()
  await Promise.all([hanging, behind])
  clearInterval(goOn)

  counts.max = 0
  await Promise.all([proveAll(), proveAll(), proveAll()])
  assert.equal(counts.max, 1)
})

test('A second lane leaves many calls for one row to the first lane', async () => {
  const { tenant, counts } = await openTenant({
    lanes: 2,
    beside: { least: 4, stalledAfterMs: 30 },
    maxBatch: 8,
  })
  const [hot, other] = [await tenant.mandate(), await tenant.mandate()]
  const proofs = Array.from({ length: 100 }, () => tenant.proof(hot))
  assert.equal((await Promise.all([...proofs, tenant.proof(other)])).length, 101)
  assert.equal(counts.blocked, 0)
})

test('A lane leaves calls for a shared budget to the lane that writes it', async () => {
  const { tenant, counts } = await openTenant({
    lanes: 2,
    beside: { least: 4, stalledAfterMs: 30 },
    maxBatch: 8,
  })
  const budgetPath = [await tenant.budget()]
  const ids = await Promise.all(Array.from({ length: 12 }, () => tenant.mandate(undefined, { budgetPath })))
  // Now the ledger knows the budget of each mandate.
  for (const id of ids) await tenant.proof(id)
  const proofs = Array.from({ length: 100 }, (_, index) => tenant.proof(ids[index % 12] as string))
  assert.equal((await Promise.all(proofs)).length, 100)
  assert.equal(counts.blocked, 0)
})

test('A locked shared budget delays neither captures nor mandates that have left it', async () => {
  const { tenant, ledger, holdLocks } = await openTenant({ lanes: 2 })
  const [old, next] = [await tenant.budget(), await tenant.budget()]
  const ofOld = () => tenant.mandate(undefined, { budgetPath: [old] })
  const [staying, moving, asking] = [await ofOld(), await ofOld(), await ofOld()]
  const held = await tenant.proof(staying)
  await tenant.proof(moving)
  const { accountId, environment } = tenant.caller
  const key = { accountId, environment, id: moving }
  const amendment = { terms: { budgetPath: [next] }, expectedVersion: 1, mayWiden: true, endsHolds: true }
  const amended = tenant.event('mandate.amended', moving)
  const moved = await ledger.run(amendMandate, [key, {}, amendment, amended])
  assert.equal(moved.outcome, 'amended')
  await tenant.proof(moving)

  const release = await holdLocks([lock(budgetUsage, { accountId, budgetId: old })])
  const waiting = tenant.proof(asking)
  await sleep(20)
  const free = Promise.all([tenant.capture(held), tenant.proof(moving)])
  const answered = await Promise.race([free, sleep(2_000, 'delayed')])
  release()
  await waiting
  assert.notEqual(answered, 'delayed')
})

test('A call locks its range of rows also if another call of its batch only reads it', async () => {
  const { tenant, ledger, counts, lockOf, holdLocks } = await openTenant({})
  const mandateId = await tenant.mandate()
  await tenant.proof(mandateId)
  const release = await holdLocks([lockOf(mandateId)])
  const event = tenant.event('proofs.voided', tenant.caller.accountId)
  const listed = ledger.run(listMandatesOf, { of: tenant.caller, afterId: '', limit: mandatesVoidedAtOnce })
  const voided = ledger.run(voidPayments, { scope: tenant.caller, afterId: '', event })
  assert.equal((await listed).length, 1)
  assert.equal(counts.blocked, 1)
  release()
  await voided
  assert.equal(
    (await ledger.run(listMandatesOf, { of: tenant.caller, afterId: '', limit: 1 }))[0]?.heldMicro,
    0n,
  )
})

test('Batches of one account group contain no call of another group', async () => {
  const { tenant, another, batches } = await openTenant({ groupOf: (accountId) => accountId })
  const tenants = [tenant, await another()]
  const ids = await Promise.all(tenants.map((one) => one.mandate()))
  batches.length = 0
  const proofs = Array.from({ length: 20 }, () =>
    tenants.map((one, index) => one.proof(ids[index] as string)),
  )
  await Promise.all(proofs.flat())
  assert.deepEqual(
    batches.map(({ size }) => size),
    batches.map(() => 1),
  )
  assert.ok(batches.length < 6, `${batches.length} batches`)
})

test('Calls that each need two reads share one transaction', async () => {
  const ledger = await openMemoryLedger()
  const own = await Promise.all(Array.from({ length: 60 }, () => ledger.mandate()))
  const holds = await Promise.all(own.map((mandate) => ledger.proof(mandate, '1.00')))
  const before = ledger.transactions()
  await Promise.all(
    holds.map((hold) => ledger.run(voidProof, [hold, {}, ledger.event('proof.voided', hold.nonce)])),
  )
  assert.equal(ledger.transactions() - before, 1)
})

test('Concurrent proofs under a budget that is full of expired ones take a few transactions', async () => {
  const ledger = await openMemoryLedger()
  const mandate = await ledger.mandate({ maxTotalMicro: parseAmount('20.00') })
  // One read of expired payments finds only a fraction of them.
  for (let held = 0; held < 50; held++) {
    await Promise.all(Array.from({ length: 100 }, () => ledger.proof(mandate, '0.004')))
    ledger.clock.nowMs += 1
  }
  ledger.clock.nowMs += 2 * hourMs
  const before = ledger.transactions()
  const decided = Array.from({ length: 100 }, () => {
    ledger.clock.nowMs += 1
    return ledger.decide(mandate, '1.00')
  })
  const outcomes = (await Promise.all(decided)).map(({ decision }) => decision)
  assert.equal(outcomes.filter((decision) => decision === 'approved').length, 20)
  assert.ok(ledger.transactions() - before < 10, `${ledger.transactions() - before} transactions`)
})

test('Proofs, captures and evaluations take one read, and two if they count in shared budgets', async () => {
  const { tenant, ledger, batches } = await openTenant({})
  const readsOf = async (work: Promise<unknown>) => {
    const before = batches.length
    await work
    return batches.length - before
  }
  for (const [budgetPath, reads] of [[null, 1] as const, [[await tenant.budget()], 2] as const]) {
    const ids = await Promise.all(Array.from({ length: 8 }, () => tenant.mandate(undefined, { budgetPath })))
    const holds = ids.map((id) => tenant.hold(id))
    const counts = [
      await readsOf(Promise.all(holds.map((hold) => ledger.run(issueProof, { hold })))),
      await readsOf(Promise.all(holds.map((hold) => tenant.capture(hold)))),
      await readsOf(Promise.all(ids.map((id) => ledger.run(evaluate, tenant.proposal(id))))),
    ]
    assert.deepEqual(counts, [reads, reads, reads])
  }
})

test('Calls whose reads depend on earlier reads are written in one batch', async () => {
  const { tenant, ledger, clock, batches } = await openTenant({})
  const ids = await Promise.all(Array.from({ length: 60 }, () => tenant.mandate()))
  await Promise.all(ids.map((id) => tenant.proof(id)))
  clock.ms += 24 * 3_600_000
  batches.length = 0
  const { accountId } = tenant.caller
  const swept = await Promise.all(
    ids.map((mandateId) =>
      ledger.run(releaseExpiredPayments, { accountId, mandateId, nowMs: clock.ms, countId: 'unused' }),
    ),
  )
  assert.deepEqual(
    swept.map(({ released }) => released),
    ids.map(() => 1),
  )
  // One read for the mandates, and one for their payments.
  assert.equal(batches.length, 2)
})

test('A decision that fails on cached rows is made again at once, on rows of the database', async () => {
  const avoided: (boolean | undefined)[] = []
  let isStale = false
  const ledger = await openMemoryLedger({
    changeDriver: (driver) => ({
      begin(options) {
        avoided.push(options?.avoidsCache)
        const stale = changeTransactions(driver, () => ({
          read: (reads) => ({ found: reads.map(() => []), blocked: new Set(), mayBeStale: true }),
        }))
        return (isStale && !options?.avoidsCache ? stale : driver).begin(options)
      },
    }),
  })
  const { accountId, id } = await ledger.mandate()
  const findMandate: Operation<undefined, string> = {
    name: 'findMandate',
    reads: () => [look(mandates, { accountId, id })],
    decide(_, facts) {
      const row = facts.row(mandates, { accountId, id })
      assert(row, 'the cached rows contradict each other')
      return unchanged(row.id)
    },
  }
  avoided.length = 0
  isStale = true
  assert.equal(await ledger.run(findMandate, undefined), id)
  assert.deepEqual(avoided, [false, true])
})

test('A call with a shorter time limit is not reported to have waited longer', async () => {
  const waits = new Set<number>()
  const onWritten: LedgerOptions['onWritten'] = ({ waitedMs }) => waits.add(waitedMs)
  const { ledger } = await openTenant({ onWritten, stopwatch: { nowMs: () => 0, sleep } })
  const noChange: Operation<null, null> = { name: 'noChange', reads: () => [], decide: unchanged }
  await ledger.run(noChange, null, { patienceMs: 2_000 })
  assert.deepEqual([...waits], [0])
})

async function openTenant(options: Partial<LedgerOptions>) {
  const driver = new MemoryDatabase()
  const counts = { now: 0, max: 0, blocked: 0 }
  /** The accounts whose rows each transaction has locked. */
  const batches: Set<unknown>[] = []
  let hanging: Promise<unknown> | undefined
  const watched = changeTransactions(driver, (transaction) => {
    counts.max = Math.max(counts.max, ++counts.now)
    const before = hanging
    hanging = undefined
    return {
      read: async (reads, options) => {
        await before
        const locked = reads.flatMap((read) => (read.isLocked && read.kind === 'row' ? [read.key] : []))
        batches.push(new Set(locked.map(({ accountId }) => accountId)))
        const answer = await transaction.read(reads, options)
        // As slow as a database, so that transactions overlap.
        await sleep(1)
        counts.blocked += answer.blocked.size
        return answer
      },
      commit: async (changes) => {
        await transaction.commit(changes)
        counts.now -= 1
      },
      rollBack: async () => {
        await transaction.rollBack()
        counts.now -= 1
      },
    }
  })
  const stopwatch = { nowMs: () => performance.now(), sleep }
  const ledger = new Ledger({ driver: watched, stopwatch, random: Math.random, ...options })
  const clock = { ms: Date.now() }
  const ids = createIds(() => clock.ms)
  const another = () => LedgerTenant.create({ ledger, ids, clock })
  const tenant = await another()
  return {
    tenant,
    ledger,
    clock,
    another,
    batches,
    counts,
    /** Makes the next transaction hang; the returned function releases it. */
    hangNext: () => {
      const { promise, resolve } = Promise.withResolvers<undefined>()
      hanging = promise
      return () => resolve(undefined)
    },
    lockOf: (id: string) => lock(mandates, { accountId: tenant.caller.accountId, id }),
    /** Locks rows like another process would; the returned function releases them. */
    holdLocks: async (reads: readonly Read[]) => {
      const holder = driver.begin()
      await holder.read(reads, { waitsForLocks: true })
      return () => holder.rollBack()
    },
  }
}

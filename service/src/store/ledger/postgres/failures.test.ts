import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { Client } from 'pg'

import { openCommitThief } from '../../../../testing/commit-thief.ts'
import { postgres18 } from '../../../../testing/postgres.ts'
import { StoreLedger } from '../../../../testing/store-ledger.ts'
import { hashApiKey } from '../../../domain/api-key.ts'
import type { Hold, Mandate } from '../../../domain/records.ts'
import { StoreUnavailableError } from '../../store.ts'
import { createIdsOfTimes } from '../../../ids.ts'
import { openPostgresLedgerStore, type PostgresLedgerStoreOptions } from './postgres-ledger-store.ts'
import { uuidOf } from './postgres-reader.ts'
import { withRetries } from './retries.ts'

for (const code of ['40001', '40P01']) {
  test(`An operation that PostgreSQL aborts with ${code} is retried and takes effect once`, async (context) => {
    const { ledger, admin } = await open(context)
    const { caller, mandate, hold } = await preparePurchase(ledger)
    await admin.query(`
      create sequence injected;
      create function fail() returns trigger language plpgsql as $$
      begin
        if nextval('injected') % 3 <> 0 then raise exception 'injected' using errcode = '${code}'; end if;
        return null;
      end $$;
      create trigger fail before insert on entries for each statement execute function fail();
      create trigger fail before insert on audit_events for each statement execute function fail()`)
    await ledger.pay(caller, hold)
    const agents = await Promise.all(Array.from({ length: 10 }, () => ledger.agent(caller)))
    for (const agent of agents) assert.equal((await ledger.eventsAbout(agent, agent.id)).length, 1)
    assert.deepEqual(await ledger.sums(mandate), { spent: '1.00', held: '0.00' })
    assert.deepEqual(await ledger.store.findLedgerFaults(), [])
  })
}

test('Conflicts are retried a bounded number of times, with jittered pauses', async () => {
  const pauses: number[] = []
  let attempts = 0
  let lastMs = performance.now()
  const collide = async () => {
    attempts += 1
    pauses.push(performance.now() - lastMs)
    lastMs = performance.now()
    throw Object.assign(new Error('collision'), { code: '40P01' })
  }
  const deadlineMs = performance.now() + 150
  await assert.rejects(withRetries({ deadlineMs, random: () => 0 }, collide), {
    name: 'StoreUnavailableError',
  })
  assert.ok(performance.now() < deadlineMs + 100)
  assert.ok(attempts > 2 && attempts < 10, `${attempts} attempts`)
  assert.ok((pauses.at(-1) ?? 0) > (pauses[1] ?? 0), 'pauses grow')
})

test('Errors that a retry cannot fix are not retried', async () => {
  let attempts = 0
  const fault = Object.assign(new Error('a bug'), { code: '22P02' })
  const run = withRetries({ deadlineMs: performance.now() + 1_000, random: Math.random }, async () => {
    attempts += 1
    throw fault
  })
  await assert.rejects(run, fault)
  assert.equal(attempts, 1)
})

test('Connections that the server closes are replaced, and no operation is lost', async (context) => {
  const { ledger, admin } = await open(context)
  const { caller, mandate } = await preparePurchase(ledger)
  const holds = await Promise.all(Array.from({ length: 40 }, () => ledger.hold(mandate)))
  const outcomes = holds.map((hold) => ledger.capture(caller, hold))
  for (let round = 0; round < 5; round++) {
    await admin.query(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`)
  }
  for (const outcome of await Promise.all(outcomes)) assert.equal(outcome.outcome, 'captured')
  assert.equal((await ledger.sums(mandate)).spent, '40.00')
  assert.deepEqual(await ledger.store.findLedgerFaults(), [])
})

test('Without a server every operation and read is unavailable within its time limit, and works once the server is back', async (context) => {
  const { ledger, database } = await open(context)
  const { caller, hold, mandate } = await preparePurchase(ledger)
  const way = await openCommitThief(database.url)
  const store = await openPostgresLedgerStore({ url: way.url, nextId: createIdsOfTimes(), patienceMs: 300 })
  context.after(() => store.close())
  await way.close()
  const startMs = performance.now()
  const attempts = [
    () => store.capture(ledger.newCapture(caller, hold)),
    () => store.findMandate(mandate),
    () => store.authenticate(Buffer.alloc(32)),
    () => store.listAgents(caller, {}, { limit: 1 }),
    () => store.createAgent(ledger.newAgent(caller), ledger.newEvent(caller, 'agent.created', 'x')),
    () => store.releaseExpiredHolds(ledger.clock.nowMs, 10),
    () => store.checkReady(),
  ]
  for (const result of await Promise.allSettled(attempts.map(async (attempt) => attempt()))) {
    assert(
      result.status === 'rejected' && result.reason instanceof StoreUnavailableError,
      JSON.stringify(result),
    )
    assert.ok(result.reason.retryAfterSeconds > 0)
  }
  assert.ok(performance.now() - startMs < 2_000)
  assert.deepEqual(await ledger.sums(mandate), { spent: '0.00', held: '1.00' })
  await ledger.pay(caller, hold)
})

test('An operation that waits too long for a lock is unavailable, changes nothing, and delays no other', async (context) => {
  const { ledger, admin } = await open(context, { patienceMs: 400 })
  const { caller, hold, mandate } = await preparePurchase(ledger)
  const other = await preparePurchase(ledger)
  await admin.query('begin')
  await admin.query('select 1 from mandates where id = $1 for update', [uuidOf('mandate', mandate.id)])
  const blocked = ledger.capture(caller, hold)
  await assert.rejects(blocked, { name: 'StoreUnavailableError' })
  await ledger.pay(other.caller, other.hold)
  await admin.query('rollback')
  await ledger.pay(caller, hold)
  assert.deepEqual(await ledger.sums(mandate), { spent: '1.00', held: '0.00' })
})

test('While every payment waits for a lock, agents are still stopped at once', async (context) => {
  const { ledger, admin } = await open(context)
  const { caller, hold, mandate } = await preparePurchase(ledger)
  const other = await ledger.agent(caller)
  await ledger.pay(caller, hold)
  const holds = await Promise.all(Array.from({ length: 8 }, () => ledger.hold(mandate)))
  await admin.query('begin')
  await admin.query('select 1 from mandates where id = $1 for update', [uuidOf('mandate', mandate.id)])
  const blocked: Promise<unknown>[] = []
  for (const one of holds) {
    blocked.push(ledger.capture(caller, one), ledger.hold(mandate))
    await sleep(20)
  }
  const startMs = performance.now()
  const revoked = await ledger.revokeAgent(other)
  assert(typeof revoked === 'object' && revoked.status === 'revoked')
  assert.ok(performance.now() - startMs < 2_000, 'and not when the statements of the payments have timed out')
  await admin.query('rollback')
  await Promise.all(blocked)
  assert.deepEqual(await ledger.sums(mandate), { spent: '9.00', held: '8.00' })
})

test('A read that the server never answers is unavailable, and works once the server answers', async (context) => {
  const { ledger, admin } = await open(context, { patienceMs: 400 })
  const { caller, mandate, hold } = await preparePurchase(ledger)
  const proposal = ledger.newProposal(mandate)
  const key = hashApiKey(caller.keyId)
  await admin.query('begin')
  await admin.query('lock table api_keys, mandates, agents, payments, entries, mandate_accounts, sessions')
  const capture = ledger.newCapture(caller, hold, { idempotencyKey: 'order-1' })
  const reads = [
    () => ledger.store.authenticate(key),
    () => ledger.store.findMandate(mandate),
    () => ledger.store.listAgents(caller, {}, { limit: 1 }),
    () => ledger.store.settleLate(capture),
    () => ledger.store.findSession({ accountId: caller.accountId, tokenHash: key }),
    () => ledger.store.readAgentFacts({ caller, ...proposal, nowMs: ledger.clock.nowMs }),
  ]
  for (const result of await Promise.allSettled(reads.map(async (read) => read()))) {
    assert(
      result.status === 'rejected' && result.reason instanceof StoreUnavailableError,
      JSON.stringify(result, (_, value: unknown) => (value instanceof Error ? String(value) : value)),
    )
  }
  await admin.query('rollback')
  assert.deepEqual(await ledger.store.authenticate(key), caller)
  for (const read of reads) await read()
})

test("Operations beyond the queue's limit are rejected at once", async (context) => {
  const { ledger, admin } = await open(context, { patienceMs: 20_000 })
  const { caller, mandate } = await preparePurchase(ledger)
  await admin.query('begin')
  await admin.query('select 1 from mandates for update')
  const proofs = Array.from({ length: 9_000 }, () =>
    ledger.store.issueProof(ledger.newHold(mandate, '0.000001')),
  )
  const settled = Promise.allSettled(proofs)
  const first = await Promise.race(proofs.slice(8_600)).catch((error: unknown) => error)
  assert(first instanceof StoreUnavailableError, String(first))
  await admin.query('rollback')
  const answered = (await settled).filter(({ status }) => status === 'fulfilled').length
  assert.ok(answered >= 8_192 && answered < 9_000, `${answered} answered`)
  assert.equal((await ledger.store.findMandate(mandate))?.heldMicro, BigInt(answered) + 1_000_000n)
  assert.ok(caller)
})

test('A store on a server that has become read-only is not ready, even before it writes', async (context) => {
  const { ledger, admin, database } = await open(context)
  const name = new URL(database.url).pathname.slice(1)
  const disconnect = () =>
    admin.query(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`)
  await ledger.store.checkReady()
  await admin.query(`alter database ${name} set default_transaction_read_only = on`)
  await disconnect()
  for (let attempt = 0; attempt < 3; attempt++) {
    await assert.rejects(ledger.store.checkReady(), {
      name: 'StoreUnavailableError',
      message: 'the database is read-only, like a standby',
    })
  }
  await admin.query(`alter database ${name} reset default_transaction_read_only`)
  await disconnect()
  await ledger.store.checkReady()
  await ledger.tenant()
})

async function open(context: TestContext, options: Partial<PostgresLedgerStoreOptions> = {}) {
  const database = await postgres18.createEmptyDatabase()
  const store = await openPostgresLedgerStore({ url: database.url, nextId: createIdsOfTimes(), ...options })
  const admin = new Client({ connectionString: database.url })
  await admin.connect()
  const ledger = new StoreLedger({
    store,
    close: async () => {
      await store.close()
      await admin.end()
      await database.drop()
    },
  })
  context.after(() => ledger.close())
  return { ledger, admin, database }
}

async function preparePurchase(ledger: StoreLedger) {
  const { sandbox: caller } = await ledger.tenant()
  const mandate: Mandate = await ledger.mandate(caller, { maxTotalText: '1000.00' })
  const hold: Hold = await ledger.hold(mandate)
  return { caller, mandate, hold }
}

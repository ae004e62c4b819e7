import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { openCommitThief, type CommitThief } from '../../../../testing/commit-thief.ts'
import { postgres18 } from '../../../../testing/postgres.ts'
import { holdLifeMs, StoreLedger } from '../../../../testing/store-ledger.ts'
import { hashApiKey } from '../../../domain/api-key.ts'
import type { Agent, Caller, Hold, Mandate } from '../../../domain/records.ts'
import { createIdsOfTimes } from '../../../ids.ts'
import { StoreUnavailableError } from '../../store.ts'
import { openPostgresLedgerStore } from './postgres-ledger-store.ts'

interface Fixture {
  readonly ledger: StoreLedger
  readonly thief: CommitThief
}

interface Act {
  readonly name: string
  /** Sets up what the operation needs. */
  readonly prepare?: (ledger: StoreLedger) => Promise<unknown>
  /** The operation; throws unless its outcome is a success. */
  readonly run: (ledger: StoreLedger, prepared: never) => Promise<unknown>
}

const acts: readonly Act[] = [
  { name: 'a new account', run: (ledger) => ledger.tenant() },
  {
    name: 'a new key',
    prepare: (ledger) => ledger.tenant(),
    run: async (ledger, { sandbox }: Awaited<ReturnType<StoreLedger['tenant']>>) => {
      const caller = await ledger.key(sandbox, 'merchant')
      assert.deepEqual(await ledger.store.authenticate(hashApiKey(caller.keyId)), caller)
    },
  },
  {
    name: 'a revoked key',
    prepare: async (ledger) => ledger.key((await ledger.tenant()).sandbox, 'merchant'),
    run: async (ledger, caller: Awaited<ReturnType<StoreLedger['key']>>) => {
      const revoked = await ledger.revokeKey(caller, caller.environment)
      assert(typeof revoked === 'object' && revoked.revokedAtMs === ledger.clock.nowMs)
    },
  },
  {
    name: 'a new agent',
    prepare: (ledger) => ledger.tenant(),
    run: (ledger, { sandbox }: Awaited<ReturnType<StoreLedger['tenant']>>) => ledger.agent(sandbox),
  },
  {
    name: 'a revoked agent',
    prepare: preparePurchase,
    run: async (ledger, { agent, hold }: Purchase) => {
      const revoked = await ledger.revokeAgent(agent)
      assert(typeof revoked === 'object' && revoked.status === 'revoked')
      assert.equal((await ledger.store.findProof(hold))?.status, 'voided')
    },
  },
  {
    name: 'a new mandate',
    prepare: async (ledger) => ledger.agent((await ledger.tenant()).sandbox),
    run: (ledger, agent: Agent) => ledger.mandate(agent),
  },
  {
    name: 'a paused mandate',
    prepare: preparePurchase,
    run: async (ledger, { mandate }: Purchase) => {
      const moved = await ledger.moveMandate(mandate, 'paused')
      assert(typeof moved === 'object' && moved.status === 'paused' && moved.heldMicro === 0n)
    },
  },
  {
    name: 'a new seller',
    prepare: (ledger) => ledger.tenant(),
    run: (ledger, { sandbox }: Awaited<ReturnType<StoreLedger['tenant']>>) => ledger.seller(sandbox),
  },
  {
    name: 'a proof',
    prepare: preparePurchase,
    run: async (ledger, { mandate }: Purchase) => {
      await ledger.hold(mandate, '2.00')
      assert.deepEqual(await ledger.sums(mandate), { spent: '0.00', held: '3.00' })
    },
  },
  {
    name: 'a voided proof',
    prepare: preparePurchase,
    run: async (ledger, { mandate, hold }: Purchase) => {
      assert.equal((await ledger.voidProof(hold))?.status, 'voided')
      assert.deepEqual(await ledger.sums(mandate), { spent: '0.00', held: '0.00' })
    },
  },
  {
    name: 'a proof whose request carries an Idempotency-Key',
    prepare: preparePurchase,
    run: async (ledger, { caller, mandate }: Purchase) => {
      const requestKey = { callerId: caller.keyId, idempotencyKey: 'order-1' }
      const hold = ledger.newHold(mandate, '2.00')
      assert.deepEqual(await ledger.store.issueProof(hold, requestKey), { decision: 'approved' })
      const again = await ledger.store.issueProof(ledger.newHold(mandate, '2.00'), requestKey)
      assert.deepEqual(again, { decision: 'replayed', hold })
      assert.deepEqual(await ledger.sums(mandate), { spent: '0.00', held: '3.00' })
    },
  },
  {
    name: 'a capture',
    prepare: preparePurchase,
    run: async (ledger, { caller, mandate, hold }: Purchase) => {
      await ledger.pay(caller, hold)
      assert.deepEqual(await ledger.sums(mandate), { spent: '1.00', held: '0.00' })
    },
  },
  {
    name: 'an approved evaluation',
    prepare: preparePurchase,
    run: async (ledger, { mandate, caller }: Purchase) => {
      const decision = await ledger.store.evaluate(ledger.newProposal(mandate))
      assert.deepEqual(decision, { decision: 'approved' })
      assert.equal((await ledger.store.listTransactions(caller, {}, { limit: 10 })).items.length, 1)
    },
  },
  {
    name: 'a denied evaluation',
    prepare: preparePurchase,
    run: async (ledger, { mandate, caller }: Purchase) => {
      const decision = await ledger.store.evaluate(ledger.newProposal(mandate, { amountText: '99.00' }))
      const { items } = await ledger.store.listTransactions(caller, {}, { limit: 10 })
      assert.deepEqual(
        items.map(({ reasonCode: code, reasonDetail: detail }) => ({
          decision: 'denied',
          code,
          detail,
          check: 8,
        })),
        [decision],
      )
    },
  },
  {
    name: 'a sweep',
    prepare: async (ledger) => {
      const purchase = await preparePurchase(ledger)
      ledger.clock.nowMs += holdLifeMs
      return purchase
    },
    run: async (ledger, { mandate }: Purchase) => {
      await ledger.sweep()
      assert.deepEqual(await ledger.sums(mandate), { spent: '0.00', held: '0.00' })
    },
  },
]

for (const { name, prepare, run } of acts) {
  test(`The answer to ${name} is correct whatever happens to its commit`, async (context) => {
    for (const theft of ['answer', 'commit', 'late'] as const) {
      const { ledger, thief } = await open(context)
      const prepared = await prepare?.(ledger)
      const eventsBefore = await countEvents(ledger, prepared)
      thief.steal(theft)
      const done = run(ledger, prepared as never)
      if (theft === 'late') {
        while (thief.stolen() === 0) await new Promise(setImmediate)
        await thief.deliver()
      }
      await done
      assert.equal(thief.stolen(), 1, 'the fault hit the operation')
      assert.ok((await countEvents(ledger, prepared)) - eventsBefore <= 1, 'one change, one event')
      assert.deepEqual(await ledger.store.findLedgerFaults(), [])
    }
  })
}

for (const { name, prepare, run } of acts.filter((act) => /^a new (account|seller)$/.test(act.name))) {
  test(`The answer to ${name} is correct if its first commit arrives during a retry`, async (context) => {
    const { ledger, thief } = await open(context)
    const prepared = await prepare?.(ledger)
    const eventsBefore = await countEvents(ledger, prepared)
    thief.steal('late')
    const done = run(ledger, prepared as never)
    while (thief.stolen() === 0) await new Promise(setImmediate)
    // By now other attempts have found the rows of the first one, several times.
    await sleep(100)
    await thief.deliver()
    await done
    assert.equal(thief.stolen(), 1, 'the fault hit the operation')
    assert.ok((await countEvents(ledger, prepared)) - eventsBefore <= 1, 'one change, one event')
    assert.deepEqual(await ledger.store.findLedgerFaults(), [])
  })
}

for (const name of ['stop', 'resumption'] as const) {
  test(`A ${name} is reported as it was done, whatever happens to one of its commits`, async (context) => {
    for (const theft of ['answer', 'commit', 'late'] as const) {
      for (const earlierCommits of [0, 1]) {
        const { ledger, thief } = await open(context)
        const { caller, agent, mandate } = await preparePurchase(ledger)
        const mandates = [mandate, await ledger.mandate(agent), await ledger.mandate(agent)]
        const ids = mandates.map(({ id }) => id)
        const call = {
          stopId: ledger.ids.ofStop(caller, 'first'),
          actor: 'key_1',
          now: () => ledger.clock.nowMs,
          nextEventId: () => ledger.ids.next('auditEvent'),
        }
        const stop = async () => {
          const stopped = await ledger.store.stopMandates(caller, call)
          return { ...stopped, mandateIds: stopped.mandateIds.toSorted() }
        }
        const resume = async () => (await ledger.store.resumeMandates(caller, call)).mandateIds.toSorted()
        if (name === 'resumption') await stop()
        const eventsBefore = await countEvents(ledger, { caller })
        thief.steal(theft, { after: earlierCommits })
        const done = name === 'stop' ? stop() : resume()
        if (theft === 'late') {
          while (thief.stolen() === 0) await new Promise(setImmediate)
          await thief.deliver()
        }
        const outstanding = { count: 0, amountMicro: 0n }
        const whole = { mandateIds: ids, pausedNow: ids.length, voidedHolds: 1, failedIds: [], outstanding }
        assert.deepEqual(await done, name === 'stop' ? whole : ids)
        assert.equal(thief.stolen(), 1, 'it was robbed')
        const moved = await Promise.all(mandates.map((one) => ledger.store.findMandate(one)))
        const status = name === 'stop' ? 'paused' : 'active'
        assert.deepEqual(new Set(moved.map((one) => one?.status)), new Set([status]))
        assert.equal((await countEvents(ledger, { caller })) - eventsBefore, ids.length)
        if (name === 'stop') assert.deepEqual(await stop(), { ...whole, pausedNow: 0 })
        assert.deepEqual(await ledger.store.findLedgerFaults(), [])
      }
    }
  })
}

/** Calls of a merchant's key for a proof, or for what an earlier call has made of it. */
const merchantActs: readonly {
  readonly name: string
  readonly prepare?: (ledger: StoreLedger, caller: Caller, hold: Hold) => Promise<unknown>
  readonly run: (
    ledger: StoreLedger,
    caller: Caller,
    hold: Hold,
    prepared: never,
  ) => Promise<{ readonly outcome: string }>
  readonly succeeds: string
  /** Commits before its own. */
  readonly earlierCommits?: number
}[] = [
  { name: 'a capture', run: (ledger, caller, hold) => ledger.capture(caller, hold), succeeds: 'captured' },
  {
    name: 'an authorization',
    run: (ledger, caller, hold) => ledger.authorize(caller, hold),
    succeeds: 'authorized',
  },
  {
    name: 'a capture of an authorized payment',
    prepare: (ledger, caller, hold) => ledger.authorized(caller, hold),
    run: (ledger, caller, hold) => ledger.settle(caller, hold),
    succeeds: 'captured',
  },
  {
    name: 'a void of an authorized payment',
    prepare: (ledger, caller, hold) => ledger.authorized(caller, hold),
    run: (ledger, caller, hold) => ledger.voidAuthorized(caller, hold),
    succeeds: 'ended',
  },
  {
    name: 'a refund',
    prepare: (ledger, caller, hold) => ledger.pay(caller, hold),
    run: (ledger, caller, _hold, transactionId: string) => ledger.refund(caller, transactionId, '0.50'),
    succeeds: 'refunded',
    // That of finding who paid.
    earlierCommits: 1,
  },
]

for (const { name, prepare, run, succeeds, earlierCommits = 0 } of merchantActs) {
  test(`The answer to ${name} is correct if its key is revoked before its first commit arrives`, async (context) => {
    const { ledger, thief } = await open(context)
    const { caller: owner, hold } = await preparePurchase(ledger)
    const caller = await ledger.key(owner, 'merchant')
    const prepared = await prepare?.(ledger, caller, hold)
    const revoked = Promise.withResolvers<void>()
    thief.steal('late', { after: earlierCommits, breaks: revoked.promise })
    const done = run(ledger, caller, hold, prepared as never)
    while (thief.stolen() === 0) await new Promise(setImmediate)
    await ledger.revokeKey(caller, caller.environment)
    revoked.resolve()
    // By now another attempt has seen that the key is revoked.
    await sleep(100)
    await thief.deliver()
    assert.equal((await done).outcome, succeeds)
    assert.deepEqual(await ledger.store.findLedgerFaults(), [])
  })
}

test('A capture with an unknown outcome is unavailable, and a retry gets the outcome', async (context) => {
  const { ledger, thief } = await open(context, { patienceMs: 400 })
  const { caller, hold, mandate } = await preparePurchase(ledger)
  thief.steal('answer')
  thief.steal('commit', { count: 100 })
  const first = ledger.newCapture(caller, hold, { idempotencyKey: 'order-1' })
  const settled = await ledger.store.capture(first).catch((error: unknown) => error)
  thief.stop()
  if (settled instanceof Error) {
    assert(settled instanceof StoreUnavailableError, String(settled))
    assert.ok(settled.retryAfterSeconds > 0)
  }
  const direct = await openPostgresLedgerStore({
    url: ledgerUrls.get(ledger) ?? assert.fail(),
    nextId: createIdsOfTimes(),
  })
  context.after(() => direct.close())
  const second = ledger.newCapture(caller, hold, { idempotencyKey: 'order-1' })
  const replayed = { outcome: 'replayed', transactionId: first.transactionId }
  assert.deepEqual(await direct.capture(second), replayed)
  assert.deepEqual(await direct.findMandate(mandate).then((found) => found?.spentMicro), hold.amountMicro)
})

test('While commits get lost, each of many payments is made once and reported correctly', async (context) => {
  const { ledger, thief } = await open(context)
  const { caller, mandate } = await preparePurchase(ledger)
  const holds = await Promise.all(Array.from({ length: 60 }, () => ledger.hold(mandate, '0.50')))
  for (const theft of ['answer', 'commit', 'answer'] as const) thief.steal(theft)
  const outcomes = await Promise.all([...holds, ...holds].map((hold) => ledger.capture(caller, hold)))
  const captured = outcomes.flatMap((one) => (one.outcome === 'captured' ? [one.transactionId] : []))
  assert.equal(captured.length, 60)
  const { items } = await ledger.store.listTransactions(caller, { status: 'paid' }, { limit: 200 })
  assert.deepEqual(items.map(({ id }) => id).toSorted(), captured.toSorted())
  assert.deepEqual(await ledger.sums(mandate), { spent: '30.00', held: '1.00' })
  assert.deepEqual(await ledger.store.findLedgerFaults(), [])
})

const ledgerUrls = new WeakMap<StoreLedger, string>()

async function open(context: TestContext, options: { readonly patienceMs?: number } = {}): Promise<Fixture> {
  const database = await postgres18.createDatabase()
  const thief = await openCommitThief(database.url)
  const store = await openPostgresLedgerStore({ url: thief.url, nextId: createIdsOfTimes(), ...options })
  const close = async () => {
    await store.close()
    await thief.close()
    await database.drop()
  }
  const ledger = new StoreLedger({ store, close })
  ledgerUrls.set(ledger, database.url)
  context.after(() => ledger.close())
  return { ledger, thief }
}

interface Purchase {
  readonly caller: Awaited<ReturnType<StoreLedger['key']>>
  readonly agent: Agent
  readonly mandate: Mandate
  readonly hold: Hold
}

async function preparePurchase(ledger: StoreLedger): Promise<Purchase> {
  const { sandbox: caller } = await ledger.tenant()
  const agent = await ledger.agent(caller)
  const mandate = await ledger.mandate(agent)
  return { caller, agent, mandate, hold: await ledger.hold(mandate) }
}

async function countEvents(ledger: StoreLedger, prepared: unknown): Promise<number> {
  const accountId = accountOf(prepared)
  if (accountId === undefined) return 0
  const { items } = await ledger.store.listAuditEvents(
    { accountId, environment: 'sandbox' },
    {},
    { limit: 50 },
  )
  return items.length
}

function accountOf(prepared: unknown): string | undefined {
  if (typeof prepared !== 'object' || prepared === null) return undefined
  if ('accountId' in prepared) return String(prepared.accountId)
  if ('account' in prepared) return accountOf({ accountId: (prepared.account as { id: string }).id })
  return 'caller' in prepared ? accountOf(prepared.caller) : undefined
}

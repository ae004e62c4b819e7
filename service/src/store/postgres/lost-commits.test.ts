import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { Client } from 'pg'

import { openCommitThief, type CommitThief } from '../../../testing/commit-thief.ts'
import { execute } from '../../../testing/postgres-databases.ts'
import { postgres18 } from '../../../testing/postgres.ts'
import { holdLifeMs, StoreLedger } from '../../../testing/store-ledger.ts'
import { hashApiKey } from '../../domain/api-key.ts'
import type { Agent, Hold, Mandate, Scope } from '../../domain/records.ts'
import type { MoveProgress, StopStep } from '../console/store.ts'
import { StoreUnavailableError } from '../store.ts'
import { openPostgresStore } from './postgres-store.ts'

interface Fixture {
  readonly ledger: StoreLedger
  readonly thief: CommitThief
}

interface Act {
  readonly name: string
  /** What there is before the act. */
  readonly prepare?: (ledger: StoreLedger) => Promise<unknown>
  /** The act; it throws unless its outcome is that of an act that went well. */
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
    name: 'an evaluation that is approved',
    prepare: preparePurchase,
    run: async (ledger, { mandate, caller }: Purchase) => {
      const decision = await ledger.store.evaluate(ledger.newProposal(mandate))
      assert.deepEqual(decision, { decision: 'approved' })
      assert.equal((await ledger.store.listTransactions(caller, {}, { limit: 10 })).items.length, 1)
    },
  },
  {
    name: 'an evaluation that is denied',
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
  test(`The answer to ${name} is the truth, whatever becomes of its commit [decision.61]`, async (context) => {
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
      assert.equal(thief.stolen(), 1, 'the act was robbed')
      assert.ok((await countEvents(ledger, prepared)) - eventsBefore <= 1, 'one change, one event')
      assert.deepEqual(await ledger.store.findLedgerFaults(), [])
    }
  })
}

for (const { name, prepare, run } of acts.filter((act) => /^a new (account|seller)$/.test(act.name))) {
  test(`The answer to ${name} is the truth when its commit arrives while it is written again [decision.61]`, async (context) => {
    const { ledger, thief } = await open(context)
    const prepared = await prepare?.(ledger)
    const eventsBefore = await countEvents(ledger, prepared)
    thief.steal('late')
    const done = run(ledger, prepared as never)
    await untilWaiting(ledger, [/^\s*insert into/])
    await thief.deliver()
    await done
    assert.equal(thief.stolen(), 1, 'the act was robbed')
    assert.ok((await countEvents(ledger, prepared)) - eventsBefore <= 1, 'one change, one event')
    assert.deepEqual(await ledger.store.findLedgerFaults(), [])
  })
}

test('An act that meets its own late commit while it is written again is run once more, and told truthfully [decision.61] [decision.65]', async (context) => {
  const { ledger, thief } = await open(context)
  const { agent } = await preparePurchase(ledger)
  const mandate = ledger.newMandate(agent)
  const [ofRerun, ofFirst] = await Promise.all([connect(context, ledger), connect(context, ledger)])
  // The second attempt is kept from looking whether the first was written, and the first from its end.
  await ofRerun.query('begin; lock table recorded_events')
  await ofFirst.query('begin')
  await ofFirst.query('insert into record_accounts (id, account_id) values ($1, $2)', [
    mandate.id,
    mandate.accountId,
  ])
  thief.steal('late')
  const creating = ledger.createMandate(mandate)
  const outcome = Promise.allSettled([creating])
  await untilWaiting(ledger, [/from recorded_events/])
  const delivered = thief.deliver()
  await untilWaiting(ledger, [/from recorded_events/, /insert into record_accounts/])
  await ofRerun.query('rollback')
  await untilWaiting(ledger, [/insert into mandates/, /insert into record_accounts/])
  await ofFirst.query('rollback')
  await delivered
  assert.deepEqual(await outcome, [{ status: 'fulfilled', value: 'created' }])
  assert.equal((await ledger.eventsAbout(mandate, mandate.id)).length, 1)
  assert.equal(thief.stolen(), 1)
})

for (const [name, take] of [
  [
    'stop',
    (ledger, scope, step) =>
      ledger.store.stopMandates(scope, { ...step, stopId: 'stop_1', tellsEarlier: true }),
  ],
  ['resumption', (ledger, scope, step) => ledger.store.resumeMandates(scope, { ...step, stopId: 'stop_1' })],
] as readonly [string, (ledger: StoreLedger, scope: Scope, step: Step) => Promise<MoveProgress>][]) {
  test(`A step of a ${name} is told as it was taken, whatever becomes of its commit [decision.61] [decision.113]`, async (context) => {
    for (const theft of ['answer', 'commit', 'late'] as const) {
      const { ledger, thief } = await open(context)
      const { caller, agent, mandate } = await preparePurchase(ledger)
      // More than one step moves.
      const mandates = [mandate, await ledger.mandate(agent), await ledger.mandate(agent)]
      if (name === 'resumption') {
        await ledger.store.stopMandates(caller, {
          ...stepOf(ledger, 3),
          stopId: 'stop_1',
          tellsEarlier: false,
        })
      }
      const eventsBefore = await countEvents(ledger, { caller })
      thief.steal(theft)
      const taken = take(ledger, caller, stepOf(ledger, 2))
      if (theft === 'late') {
        while (thief.stolen() === 0) await new Promise(setImmediate)
        await thief.deliver()
      }
      const voidedHolds = name === 'stop' ? 1 : 0
      const [one, two] = mandates.map(({ id }) => id)
      const told = { movedIds: [one, two], voidedHolds, lastId: two }
      const earlier = { mandateIds: [], holds: 0 }
      assert.deepEqual(await taken, name === 'stop' ? { ...told, earlier } : told)
      const [paused, active] = name === 'stop' ? ['paused', 'active'] : ['active', 'paused']
      const moved = await Promise.all(mandates.map((one) => ledger.store.findMandate(one)))
      assert.deepEqual(
        moved.map((one) => one?.status),
        [paused, paused, active],
      )
      assert.equal((await countEvents(ledger, { caller })) - eventsBefore, 2)
      assert.deepEqual(await ledger.store.findLedgerFaults(), [])
    }
  })
}

test('A step of a stop that is repeated tells each mandate once, whatever becomes of its commit [decision.61] [decision.113]', async (context) => {
  for (const theft of ['answer', 'commit', 'late'] as const) {
    const { ledger, thief } = await open(context)
    const { caller, agent, mandate } = await preparePurchase(ledger)
    const mandates = [mandate]
    while (mandates.length < 4) mandates.push(await ledger.mandate(agent))
    const [, second, third, fourth] = mandates
    assert.ok(second && third && fourth)
    const stop = (step: Step) =>
      ledger.store.stopMandates(caller, { ...step, stopId: 'stop_1', tellsEarlier: true })
    await stop(stepOf(ledger, 4))
    for (const one of [second, fourth]) await ledger.moveMandate(one, 'active')
    thief.steal(theft)
    const taken = stop(stepOf(ledger, 2))
    if (theft === 'late') {
      while (thief.stolen() === 0) await new Promise(setImmediate)
      await thief.deliver()
    }
    const first = {
      movedIds: [second.id],
      voidedHolds: 0,
      lastId: second.id,
      earlier: { mandateIds: [mandate.id], holds: 1 },
    }
    assert.deepEqual(await taken, first)
    const rest = {
      movedIds: [fourth.id],
      voidedHolds: 0,
      lastId: fourth.id,
      earlier: { mandateIds: [third.id], holds: 0 },
    }
    assert.deepEqual(await stop({ ...stepOf(ledger, 2), afterId: second.id }), rest)
    assert.deepEqual(await ledger.store.findLedgerFaults(), [])
  }
})

test('A capture whose fate stays unknown is unavailable, and the retry gets the truth [decision.61] [decision.13]', async (context) => {
  const { ledger, thief } = await open(context, { patienceMs: 400 })
  const { caller, hold, mandate } = await preparePurchase(ledger)
  thief.steal('answer', 1)
  thief.steal('commit', 100)
  const first = ledger.newCapture(caller, hold, { idempotencyKey: 'order-1' })
  const settled = await ledger.store.capture(first).catch((error: unknown) => error)
  thief.stop()
  if (settled instanceof Error) {
    assert(settled instanceof StoreUnavailableError, String(settled))
    assert.ok(settled.retryAfterSeconds > 0)
  }
  const direct = await openPostgresStore({ url: ledgerUrls.get(ledger) ?? assert.fail() })
  context.after(() => direct.close())
  const second = ledger.newCapture(caller, hold, { idempotencyKey: 'order-1' })
  const replayed = { outcome: 'replayed', transactionId: first.transactionId }
  assert.deepEqual(await direct.capture(second), replayed)
  assert.deepEqual(await direct.findMandate(mandate).then((found) => found?.spentMicro), hold.amountMicro)
})

test('Of many payments while commits get lost each is made once and told truthfully [decision.61]', async (context) => {
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

type Step = Omit<StopStep, 'stopId' | 'tellsEarlier'>

function stepOf(ledger: StoreLedger, atMost: number): Step {
  const eventIds = Array.from({ length: atMost }, () => ledger.ids.next('auditEvent'))
  return { actor: 'key_1', atMs: ledger.clock.nowMs, afterId: '', eventIds }
}

const ledgerUrls = new WeakMap<StoreLedger, string>()

async function open(context: TestContext, options: { readonly patienceMs?: number } = {}): Promise<Fixture> {
  const database = await postgres18.createDatabase()
  const thief = await openCommitThief(database.url)
  const store = await openPostgresStore({ url: thief.url, ...options })
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

/** Resolves when a statement like each of these waits for a lock. */
async function untilWaiting(ledger: StoreLedger, statements: readonly RegExp[]): Promise<void> {
  const url = ledgerUrls.get(ledger) ?? assert.fail()
  let waiting: string[] = []
  for (const untilMs = performance.now() + 4_000; performance.now() < untilMs; await sleep(10)) {
    const rows = await execute<{ query: string }>(
      url,
      `select query from pg_stat_activity
       where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0`,
    )
    waiting = rows.map(({ query }) => query)
    if (statements.every((statement) => waiting.some((text) => statement.test(text)))) return
  }
  assert.fail(`what waits is ${JSON.stringify(waiting)}`)
}

/** A connection that no commit is stolen from. */
async function connect(context: TestContext, ledger: StoreLedger): Promise<Client> {
  const client = new Client({ connectionString: ledgerUrls.get(ledger) ?? assert.fail() })
  await client.connect()
  context.after(() => client.end())
  return client
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

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { Client } from 'pg'

import { openCommitThief } from '../../../testing/commit-thief.ts'
import { postgres18 } from '../../../testing/postgres.ts'
import { holdLifeMs, shopDomain, StoreLedger } from '../../../testing/store-ledger.ts'
import { validityWindowMs } from '../../domain/proof.ts'
import type { Caller, Hold, Mandate } from '../../domain/records.ts'
import { captureAsExpected } from './expected-captures.ts'
import { openPostgresStore } from './postgres-store.ts'

// Decision 125: a capture takes one round trip, by a statement that looks itself whether all is as expected. Each of
// these tests changes something behind the back of the service that expects it.

test('A capture takes one round trip once all is known that it must find [decision.125]', async (context) => {
  const { ledger, caller, mandate, roundTrips } = await open(context)
  const holds = [await ledger.hold(mandate), await ledger.hold(mandate)]
  const [first, second] = holds as [Hold, Hold]
  assert.equal(
    await roundTrips(() => ledger.pay(caller, first)),
    3,
    'the account, the facts, what is written',
  )
  assert.equal(await roundTrips(() => ledger.pay(caller, second)), 1)
  assert.deepEqual(await ledger.sums(mandate), { spent: '2.00', held: '0.00' })
})

test('What an expected capture writes is what any capture writes [decision.125]', async (context) => {
  const { ledger, caller, mandate, client } = await open(context)
  await ledger.seller(caller)
  const ids = await payTwice(ledger, caller, mandate)
  const read = (table: string, key: string) =>
    Promise.all(
      ids.map(async (id) => {
        const { rows } = await client.query<Record<string, unknown>>(
          `select * from ${table} where ${key} = $1`,
          [id],
        )
        assert.equal(rows.length, 1)
        const { id: _, nonce: __, transaction_id: ___, held_before_micro: ____, ...same } = rows[0] ?? {}
        return same
      }),
    )
  for (const [table, key] of [
    ['transactions', 'id'],
    ['holds', 'transaction_id'],
  ] as const) {
    const [first, second] = await read(table, key)
    assert.deepEqual(second, { ...first, spent_before_micro: second?.['spent_before_micro'] })
  }
  const { rows: queued } = await client.query('select * from activity_queue order by id')
  assert.deepEqual(
    queued,
    ids.map((id) => ({ account_id: caller.accountId, id, transaction_ids: id })),
  )
  const { rows: paid } = await client.query('select merchant_domain from paid_sellers')
  assert.deepEqual(paid, [{ merchant_domain: shopDomain }])
})

test('A seller that was registered since is the one of the payment [decision.125]', async (context) => {
  const { ledger, other, caller, mandate } = await open(context)
  await ledger.pay(caller, await ledger.hold(mandate))
  const hold = await ledger.hold(mandate)
  const seller = other.newSeller(caller)
  assert.equal(await other.createSeller(seller), 'created')
  const id = await ledger.pay(caller, hold)
  assert.equal((await ledger.store.findTransaction({ ...caller, id }, {}))?.sellerId, seller.id)
})

test('Captures of one batch that expect different sellers of a domain all get the one that is registered [decision.125]', async (context) => {
  const { ledger, other, caller, mandate, client } = await open(context)
  const free = await ledger.mandate(caller)
  await ledger.pay(caller, await ledger.hold(mandate))
  const holds = await Promise.all(Array.from({ length: 6 }, () => ledger.hold(mandate)))
  const [before, after] = await Promise.all([ledger.hold(free), ledger.hold(free)])
  await client.query('begin')
  await client.query('select 1 from mandates where id = $1 for no key update', [mandate.id])
  const paying: Promise<string>[] = []
  for (const hold of holds) {
    paying.push(ledger.pay(caller, hold))
    await sleep(20)
  }
  paying.push(ledger.pay(caller, before))
  await sleep(20)
  const seller = ledger.newSeller(caller)
  assert.equal(await other.createSeller(seller), 'created')
  // Of a mandate that this service does not know, so it looks and remembers the seller.
  const agent = ledger.newAgent(caller)
  await other.store.createAgent(agent, ledger.newEvent(agent, 'agent.created', agent.id))
  const strange = ledger.newMandate(agent)
  await other.store.createMandate(strange, ledger.newEvent(strange, 'mandate.created', strange.id))
  const hold = ledger.newHold(strange)
  await other.store.issueProof(hold)
  await ledger.pay(caller, hold)
  paying.push(ledger.pay(caller, after))
  await client.query('commit')
  const ids = await Promise.all(paying)
  for (const id of ids.slice(6)) {
    assert.equal((await ledger.store.findTransaction({ ...caller, id }, {}))?.sellerId, seller.id)
  }
})

test('A mandate that admits the seller no longer pays nothing [decision.125]', async (context) => {
  const { ledger, caller, mandate, client } = await open(context)
  await ledger.pay(caller, await ledger.hold(mandate))
  const hold = await ledger.hold(mandate)
  await client.query(`update mandates set allowed_sellers = '["other.example"]' where id = $1`, [mandate.id])
  const refused = { outcome: 'refused', code: 'merchant_not_allowed' }
  assert.deepEqual(await ledger.capture(caller, hold), refused)
  assert.deepEqual(await ledger.sums(mandate), { spent: '1.00', held: '1.00' })
})

test('A hold that cannot be captured any more is not, and says why [decision.125]', async (context) => {
  const { ledger, caller, mandate } = await open(context)
  await ledger.pay(caller, await ledger.hold(mandate))

  const paid = await ledger.hold(mandate)
  const id = await ledger.pay(caller, paid, { idempotencyKey: 'order-1' })
  assert.deepEqual(await ledger.capture(caller, paid), { outcome: 'failed', reason: 'nonce_reused' })
  const again = await ledger.capture(caller, paid, { idempotencyKey: 'order-1' })
  assert.deepEqual(again, { outcome: 'replayed', transactionId: id })

  const late = await ledger.hold(mandate)
  const nowMs = ledger.clock.nowMs + holdLifeMs
  const expired = { outcome: 'failed', reason: 'proof_expired' }
  assert.deepEqual(await ledger.capture(caller, late, { nowMs }), expired)
  assert.deepEqual(await ledger.capture(caller, { ...late, nonce: ledger.ids.nonce() }), expired)
  const strange = await ledger.mandate(caller)
  await ledger.pay(caller, await ledger.hold(strange))
  const forged = { outcome: 'failed', reason: 'invalid_signature' }
  assert.deepEqual(await ledger.capture(caller, { ...late, mandateId: strange.id }), forged)
  assert.deepEqual(await ledger.sums(mandate), { spent: '2.00', held: '1.00' })
})

test('A hold is looked at again also by servers that find a row by its place and do not look at that again [decision.125]', async (context) => {
  const { client } = await open(context)
  for (const plan of ['seqscan', 'hashjoin', 'mergejoin']) await client.query(`set enable_${plan} = off`)
  const { text } = captureAsExpected([])
  const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain (generic_plan, costs off) ${text}`)
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
  assert.match(plan, /Tid Scan on holds h_1\n\s+TID Cond: .*\n\s+Filter: .*\bxmin\b/)
})

test('A hold that a stop ends while its capture waits for the mandate is not captured [decision.125]', async (context) => {
  const { ledger, caller, mandate, client } = await open(context)
  await ledger.pay(caller, await ledger.hold(mandate))
  const holds = await Promise.all(Array.from({ length: 5 }, () => ledger.hold(mandate)))
  await client.query('begin')
  await client.query('select 1 from mandates where id = $1 for no key update', [mandate.id])
  const outcomes = holds.map((hold) => ledger.capture(caller, hold))
  await waitsForLock(client)
  await client.query(`update holds set status = 'voided' where status = 'open'`)
  await client.query(`update mandates set status = 'revoked', held_micro = 0 where id = $1`, [mandate.id])
  await client.query('commit')
  for (const outcome of await Promise.all(outcomes)) {
    assert.deepEqual(outcome, { outcome: 'failed', reason: 'proof_expired' })
  }
  assert.deepEqual(await ledger.sums(mandate), { spent: '1.00', held: '0.00' })
  assert.deepEqual(await ledger.store.findLedgerFaults(), [])
})

test('What a stop ends while a batch waits keeps none of its neighbours from being captured [decision.125]', async (context) => {
  const { ledger, caller, mandate, client } = await open(context)
  const free = await ledger.mandate(caller)
  for (const known of [mandate, free]) await ledger.pay(caller, await ledger.hold(known))
  const ended = await Promise.all(Array.from({ length: 3 }, () => ledger.hold(mandate)))
  const good = await Promise.all(Array.from({ length: 3 }, () => ledger.hold(free)))
  await client.query('begin')
  await client.query('select 1 from mandates where id = $1 for no key update', [mandate.id])
  const outcomes = [...ended, ...good].map((hold) => ledger.capture(caller, hold))
  await waitsForLock(client)
  // The holds have moved, and the sums would still allow to take what they held.
  await client.query(`update holds set status = 'voided' where status = 'open' and mandate_id = $1`, [
    mandate.id,
  ])
  await client.query('commit')
  const codes = (await Promise.all(outcomes)).map(({ outcome }) => outcome)
  assert.deepEqual(codes, [...ended.map(() => 'failed'), ...good.map(() => 'captured')])
  assert.deepEqual(await ledger.sums(mandate), { spent: '1.00', held: '3.00' })
  assert.deepEqual(await ledger.sums(free), { spent: '4.00', held: '0.00' })
})

test('One hold that is captured twice at once sends no neighbour the longer way [decision.125]', async (context) => {
  const { ledger, caller, mandate, roundTrips } = await open(context)
  await ledger.pay(caller, await ledger.hold(mandate))
  const holds = await Promise.all(Array.from({ length: 4 }, () => ledger.hold(mandate)))
  const [first] = holds as [Hold]
  let codes: string[] = []
  const trips = await roundTrips(async () => {
    const outcomes = await Promise.all([...holds, first].map((hold) => ledger.capture(caller, hold)))
    codes = outcomes.map(({ outcome }) => outcome)
  })
  assert.equal(codes.filter((code) => code === 'captured').length, 4)
  assert.equal(codes.filter((code) => code === 'failed').length, 1)
  // A busy machine may split the batch of the four.
  assert.ok(trips <= 4 + 2, `one for each batch, and two for the other capture, but there were ${trips}`)
  assert.deepEqual(await ledger.sums(mandate), { spent: '5.00', held: '0.00' })
})

test('A batch that waits for a mandate keeps captures under others waiting for a moment only [decision.126]', async (context) => {
  const { ledger, caller, mandate, client } = await open(context)
  const free = await ledger.mandate(caller)
  for (const known of [mandate, free]) await ledger.pay(caller, await ledger.hold(known))
  const [held, ...others] = await Promise.all([mandate, free, free, free].map((of) => ledger.hold(of)))
  assert(held)
  await client.query('begin')
  await client.query('select 1 from mandates where id = $1 for no key update', [mandate.id])
  const waiting = ledger.pay(caller, held)
  await waitsForLock(client)
  await sleep(30)
  for (const hold of others) await ledger.pay(caller, hold)
  assert.deepEqual(await ledger.sums(free), { spent: '4.00', held: '0.00' })
  await client.query('commit')
  await waiting
  assert.deepEqual(await ledger.sums(mandate), { spent: '2.00', held: '0.00' })
})

test('What a neighbour spent while a capture waits for the mandate is kept [decision.125]', async (context) => {
  const { ledger, caller, mandate, client } = await open(context)
  await ledger.pay(caller, await ledger.hold(mandate))
  const hold = await ledger.hold(mandate)
  await client.query('begin')
  await client.query('update mandates set spent_micro = spent_micro + 5000000 where id = $1', [mandate.id])
  const paying = ledger.pay(caller, hold)
  await waitsForLock(client)
  await client.query('commit')
  await paying
  assert.deepEqual(await ledger.sums(mandate), { spent: '7.00', held: '0.00' })
})

for (const theft of ['answer', 'commit', 'late', 'unheard'] as const) {
  test(`An expected capture whose ${theft === 'answer' ? 'answer is lost' : `commit is lost (${theft})`} is done once [decision.125] [decision.65]`, async (context) => {
    const { ledger: outside, caller, mandate, url } = await open(context)
    const { ledger, thief } = await openRobbed(context, { url, outside })
    await ledger.pay(caller, await outside.hold(mandate))
    const capture = ledger.newCapture(caller, await outside.hold(mandate))
    const { transactionId } = capture
    thief.steal(theft)
    assert.deepEqual(await ledger.store.capture(capture), { outcome: 'captured', transactionId })
    await thief.deliver()
    assert.equal(thief.stolen(), 1)
    assert.deepEqual(await outside.sums(mandate), { spent: '2.00', held: '0.00' })
    assert.deepEqual(await outside.store.findLedgerFaults(), [])
  })
}

test('A key is refused only when no attempt can still capture, also one that waits for another mandate [decision.125] [decision.65]', async (context) => {
  const { ledger: outside, other, caller, mandate: first, client, url } = await open(context)
  const second = await outside.mandate(caller)
  const { ledger, thief } = await openRobbed(context, { url, outside })
  for (const mandate of [first, second]) await ledger.pay(caller, await outside.hold(mandate))
  const key = await outside.key(caller, 'merchant')
  const [held, disputed] = [await outside.hold(first), await outside.hold(second)]
  await client.query('begin')
  await client.query('select 1 from mandates where id = $1 for no key update', [first.id])
  thief.steal('unheard')
  const capturing = ledger.store.capture(ledger.newCapture(caller, held))
  const refused = ledger.store.capture(ledger.newCapture(key, disputed), async () => {
    await waitsForLock(client)
    await other.revokeKey(key, 'sandbox')
    return false
  })
  assert.deepEqual(await refused, { outcome: 'refused', code: 'invalid_api_key' })
  assert.deepEqual(await outside.sums(second), { spent: '1.00', held: '1.00' })
  await client.query('commit')
  assert.equal((await capturing).outcome, 'captured')
  assert.equal(thief.stolen(), 1)
  assert.deepEqual(await outside.sums(first), { spent: '2.00', held: '0.00' })
  assert.deepEqual(await outside.sums(second), { spent: '1.00', held: '1.00' })
  await outside.pay(caller, disputed)
})

test('A capture that arrives after its proof was answered with proof_expired is not made [decision.129] [decision.65]', async (context) => {
  const { ledger: outside, caller, mandate, url } = await open(context)
  const { ledger, thief } = await openRobbed(context, { url, outside, patienceMs: 300 })
  await ledger.pay(caller, await outside.hold(mandate))
  const attempt = ledger.newCapture(caller, await outside.hold(mandate), { idempotencyKey: 'order-1' })
  thief.steal('late')
  thief.steal('commit', { count: 50 })
  await assert.rejects(ledger.store.capture(attempt), { name: 'StoreUnavailableError' })
  thief.stop()
  const nowMs = attempt.nowMs + validityWindowMs + 1
  const late = { outcome: 'failed', reason: 'proof_expired' }
  assert.deepEqual(await ledger.store.settleLate({ ...attempt, nowMs }), late)
  await thief.deliver()
  assert.deepEqual(await outside.sums(mandate), { spent: '1.00', held: '0.00' })
  assert.deepEqual(await ledger.store.settleLate({ ...attempt, nowMs }), late)
})

test('Captures with a revoked key, which wait for nothing, hold up no stop [decision.65] [decision.125]', async (context) => {
  const { ledger, caller, mandate, client } = await open(context)
  const other = await ledger.agent((await ledger.tenant()).sandbox)
  await ledger.pay(caller, await ledger.hold(mandate))
  const key = await ledger.key(caller, 'merchant')
  const holds = await Promise.all(Array.from({ length: 12 }, () => ledger.hold(mandate)))
  await client.query('begin')
  await client.query('select 1 from mandates where id = $1 for update', [mandate.id])
  await ledger.revokeKey(key, 'sandbox')
  for (const hold of holds) {
    const refused = ledger.store.capture(ledger.newCapture(key, hold), () => Promise.resolve(false))
    assert.deepEqual(await refused, { outcome: 'refused', code: 'invalid_api_key' })
  }
  assert.equal(typeof (await ledger.revokeAgent(other)), 'object')
  await client.query('rollback')
})

test('A store that is closed still decides what it accepted and was not as expected [decision.125] [decision.28]', async (context) => {
  const { ledger, caller, mandate, client, url } = await open(context)
  const store = await openPostgresStore({ url })
  await ledger.pay(caller, await ledger.hold(mandate))
  const holds = [await ledger.hold(mandate), await ledger.hold(mandate)]
  const [first, second] = holds.map((hold) => ledger.newCapture(caller, hold))
  assert(first && second)
  await store.capture(first)
  await client.query(`update mandates set allowed_sellers = '["other.example","${shopDomain}"]'`)
  const capturing = store.capture(
    second,
    async () => (await store.authenticate(Buffer.alloc(32))) === undefined,
  )
  const closing = store.close()
  await assert.rejects(store.capture(second), { name: 'StoreUnavailableError' })
  assert.equal((await capturing).outcome, 'captured')
  await closing
  await assert.rejects(store.authenticate(Buffer.alloc(32)), { name: 'StoreUnavailableError' })
})

for (const isDone of [true, false]) {
  test(`A key that was revoked is refused only when no attempt of before can still capture: one that ${isDone ? 'is done' : 'ends'} is waited for [decision.125] [decision.65]`, async (context) => {
    const { ledger: outside, other, caller, mandate, client, url } = await open(context)
    const { ledger, thief } = await openRobbed(context, { url, outside })
    await ledger.pay(caller, await outside.hold(mandate))
    const key = await outside.key(caller, 'merchant')
    const call = ledger.newCapture(key, await outside.hold(mandate))
    const { transactionId } = call
    await client.query('begin')
    await client.query('select 1 from mandates where id = $1 for no key update', [mandate.id])
    thief.steal('unheard')
    const capturing = ledger.store.capture(call, async () => {
      await waitsForLock(client)
      await other.revokeKey(key, 'sandbox')
      return false
    })
    await waitsForLock(client, 2)
    if (!isDone) {
      await client.query(`select pg_terminate_backend(pid) from pg_stat_activity
        where wait_event_type = 'Lock' and datname = current_database() order by query_start limit 1`)
    }
    await client.query('commit')
    assert.deepEqual(
      await capturing,
      isDone ? { outcome: 'captured', transactionId } : { outcome: 'refused', code: 'invalid_api_key' },
    )
    assert.deepEqual(await outside.sums(mandate), {
      spent: isDone ? '2.00' : '1.00',
      held: isDone ? '0.00' : '1.00',
    })
  })
}

test('A payment that cannot be written keeps none of its neighbours from being captured [decision.125]', async (context) => {
  const { ledger, caller, mandate, client } = await open(context)
  await ledger.pay(caller, await ledger.hold(mandate))
  const holds = await Promise.all(Array.from({ length: 6 }, () => ledger.hold(mandate)))
  const captures = holds.map((hold) => ledger.newCapture(caller, hold))
  await client.query(`
    create function fail() returns trigger language plpgsql as $$
    begin
      if new.id = '${captures[0]?.transactionId}' then raise exception 'no' using errcode = '22P02'; end if;
      return new;
    end $$;
    create trigger fail before insert on transactions for each row execute function fail()`)
  const [first, ...others] = await Promise.allSettled(captures.map((call) => ledger.store.capture(call)))
  assert(first?.status === 'rejected')
  for (const other of others) {
    assert(other.status === 'fulfilled' && other.value.outcome === 'captured', JSON.stringify(other))
  }
  assert.deepEqual(await ledger.sums(mandate), { spent: '6.00', held: '1.00' })
  assert.deepEqual(await ledger.store.findLedgerFaults(), [])
})

async function payTwice(ledger: StoreLedger, caller: Caller, mandate: Mandate): Promise<string[]> {
  const holds = [await ledger.hold(mandate), await ledger.hold(mandate)]
  const ids: string[] = []
  for (const hold of holds) ids.push(await ledger.pay(caller, hold, { idempotencyKey: 'order-1' }))
  return ids
}

/** Two services on one database, of which the first is asked and the second acts behind its back. */
/** A service whose commits can be stolen, over the ledger of another. */
async function openRobbed(
  context: TestContext,
  { url, outside, ...options }: { url: string; outside: StoreLedger; patienceMs?: number },
) {
  const thief = await openCommitThief(url)
  const store = await openPostgresStore({ url: thief.url, ...options })
  context.after(async () => {
    await store.close()
    await thief.close()
  })
  const ledger = new StoreLedger({ store, close: () => store.close() })
  Object.assign(ledger, { ids: outside.ids, clock: outside.clock })
  return { ledger, thief }
}

async function open(context: TestContext) {
  const { url, drop } = await postgres18.createEmptyDatabase()
  const store = await openPostgresStore({ url })
  const neighbour = await openPostgresStore({ url })
  const client = new Client({ connectionString: url })
  await client.connect()
  context.after(async () => {
    await store.close()
    await neighbour.close()
    await client.end()
    await drop()
  })
  const ledger = new StoreLedger({ store, close: () => store.close() })
  const other = new StoreLedger({ store: neighbour, close: () => neighbour.close() })
  const { sandbox: caller } = await ledger.tenant()
  const mandate = await ledger.mandate(caller)

  /** How many times a server was asked something meanwhile. */
  async function roundTrips(act: () => Promise<unknown>): Promise<number> {
    const { mock } = context.mock.method(Client.prototype, 'query')
    await act()
    const count = mock.callCount()
    mock.restore()
    return count
  }
  return { ledger, other, caller, mandate, client, url, roundTrips }
}

/** Resolves when so many wait for a lock. */
async function waitsForLock(client: Client, count = 1): Promise<void> {
  for (;;) {
    // Within a transaction the server would show again what it showed first.
    await client.query('select pg_stat_clear_snapshot()')
    const { rows } = await client.query(
      `select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
    )
    if (rows.length >= count) return
    await sleep(5)
  }
}

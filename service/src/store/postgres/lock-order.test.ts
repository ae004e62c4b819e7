import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { Client } from 'pg'

import { postgres18 } from '../../../testing/postgres.ts'
import { StoreLedger } from '../../../testing/store-ledger.ts'
import type { Caller, Hold, Mandate } from '../../domain/records.ts'
import { openPostgresStore } from './postgres-store.ts'

// Batches lock mandates by account and id, so that two of them wait for each other in line, and never in a ring. An
// outsider holds one mandate after the other: a batch that waits for it has those before it, and none of those after it.

test('A batch of proofs locks its mandates in one order, whatever order they come in [decision.60] [decision.65]', async (context) => {
  const { ledger, owned, outsider, watcher } = await open(context)
  for (const { mandate: held } of owned) {
    await lock(outsider, held)
    const asking = owned.toReversed().map(({ mandate }) => ledger.hold(mandate))
    assert.match(await statementBehind(outsider, watcher), /for no key update of m$/)
    await assertLockedUpTo(held, { owned, watcher })
    await outsider.query('rollback')
    await Promise.all(asking)
  }
  assert.deepEqual(await ledger.store.findLedgerFaults(), [])
})

test('A batch of captures that are as expected locks its mandates in one order, whatever order they come in [decision.125] [decision.65]', async (context) => {
  const { ledger, owned, outsider, watcher } = await open(context)
  const holdOfEach = () =>
    Promise.all(owned.map(async ({ caller, mandate }) => ({ caller, hold: await ledger.hold(mandate) })))
  const pay = ({ caller, hold }: { readonly caller: Caller; readonly hold: Hold }) => ledger.pay(caller, hold)
  // From then on all is known that the captures must find.
  await Promise.all((await holdOfEach()).map(pay))
  for (const { mandate: held } of owned) {
    const holds = await holdOfEach()
    await lock(outsider, held)
    const paying = holds.toReversed().map(pay)
    assert.match(await statementBehind(outsider, watcher), /^\s*with paid as materialized/)
    await assertLockedUpTo(held, { owned, watcher })
    await outsider.query('rollback')
    await Promise.all(paying)
  }
  assert.deepEqual(await ledger.store.findLedgerFaults(), [])
})

interface Owned {
  readonly caller: Caller
  readonly mandate: Mandate
}

async function lock(outsider: Client, { id }: Mandate): Promise<void> {
  await outsider.query('begin')
  await outsider.query('select 1 from mandates where id = $1 for no key update', [id])
}

/** The statement that waits for the outsider, once one does. */
async function statementBehind(outsider: Client, watcher: Client): Promise<string> {
  const { rows: own } = await outsider.query<{ pid: number }>('select pg_backend_pid() as pid')
  for (const untilMs = performance.now() + 4_000; performance.now() < untilMs; await sleep(5)) {
    const { rows } = await watcher.query<{ query: string }>(
      'select query from pg_stat_activity where $1 = any (pg_blocking_pids(pid))',
      [own[0]?.pid],
    )
    const [waiting] = rows
    if (waiting) return waiting.query
  }
  return assert.fail('nothing waits for the mandate')
}

/** Looks which mandates are locked: those that come before the one that is held, this one, and no other. */
async function assertLockedUpTo(
  held: Mandate,
  { owned, watcher }: { readonly owned: readonly Owned[]; readonly watcher: Client },
): Promise<void> {
  const { rows } = await watcher.query<{ id: string }>(
    'select id from mandates for no key update skip locked',
  )
  const free = new Set(rows.map(({ id }) => id))
  const ids = owned.map(({ mandate }) => mandate.id)
  assert.deepEqual(
    ids.filter((id) => !free.has(id)),
    ids.slice(0, ids.indexOf(held.id) + 1),
  )
}

/**
 * A service, and mandates of two accounts in the order in which they are to be locked; they were made in another one.
 * The outsider locks, and the watcher looks on.
 */
async function open(context: TestContext) {
  const { url, drop } = await postgres18.createEmptyDatabase()
  const store = await openPostgresStore({ url })
  const ledger = new StoreLedger({ store, close: () => store.close() })
  const [outsider, watcher] = [new Client({ connectionString: url }), new Client({ connectionString: url })]
  for (const client of [outsider, watcher]) await client.connect()
  context.after(async () => {
    for (const client of [outsider, watcher]) await client.end()
    await store.close()
    await drop()
  })
  const callers = [(await ledger.tenant()).sandbox, (await ledger.tenant()).sandbox]
  const owned: Owned[] = []
  for (const caller of [...callers, ...callers, ...callers].toReversed()) {
    owned.push({ caller, mandate: await ledger.mandate(caller) })
  }
  const keyOf = ({ mandate }: Owned) => `${mandate.accountId} ${mandate.id}`
  owned.sort((left, right) => (keyOf(left) < keyOf(right) ? -1 : 1))
  return { ledger, owned, outsider, watcher }
}

import assert from 'node:assert/strict'
import { mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'

import { QueryThread } from './query-thread.ts'
import { createIdsOfTimes } from '../../../ids.ts'
import { openSqliteLedgerStore } from './sqlite-ledger-store.ts'

const nextId = createIdsOfTimes()

const endless = `
  with recursive numbers (n) as (select 1 union all select n + 1 from numbers where in_time())
  select count(*) as counted from numbers`

test('A query that takes too long is aborted for its caller and in the thread, and the next one is answered', async (t) => {
  const { queries } = prepare(t, { timeoutMs: 200, maxWaiting: 10 })
  const slow = queries.query(endless, [])
  const behind = queries.query('select 1 as one', [])
  await assert.rejects(slow, { name: 'QueryTooSlowError' })
  // It waited as long behind the slow one; it may or may not be in time.
  await behind.catch((error: Error) => assert.equal(error.name, 'QueryTooSlowError'))
  assert.deepEqual(await answered(queries), [{ one: 1n }])
})

test('The ledger writes while a console query is running', async (t) => {
  const { queries, store } = prepare(t, { timeoutMs: 500, maxWaiting: 10 })
  const slow = assert.rejects(queries.query(endless, []), { name: 'QueryTooSlowError' })
  assert.equal(await store.isEmpty(), true)
  await store.addTallies({
    refusals: [],
    keyUses: [{ accountId: nextId('account', 0), keyId: nextId('apiKey', 0), usedAtMs: 1 }],
  })
  await slow
})

test('A bounded number of queries wait, and none can write', async (t) => {
  const { queries } = prepare(t, { timeoutMs: 5_000, maxWaiting: 2 })
  const waiting = [queries.query('select 1', []), queries.query('select 2', [])]
  await assert.rejects(queries.query('select 3', []), { name: 'QueryTooSlowError' })
  await Promise.all(waiting)
  await assert.rejects(queries.query('delete from agents returning id', []), /readonly/)
})

test('A closed thread gets no more queries', async (t) => {
  const { queries } = prepare(t, { timeoutMs: 5_000, maxWaiting: 2 })
  await queries.query('select 1', [])
  await queries.close()
  await queries.close()
  await assert.rejects(queries.query('select 1', []), { name: 'QueryTooSlowError' })
})

test('Replies left over by a thread that dies never reach callers of the next thread', async (t) => {
  const { store, queries, path } = prepare(t, { timeoutMs: 5_000, maxWaiting: 10 })
  // The store's threads would create a new file in its place.
  await store.close()
  // Without its file the thread ends as it starts.
  renameSync(path, `${path}.away`)
  await assert.rejects(queries.query("select 'first' as asked", []), /unable to open/)
  renameSync(`${path}.away`, path)
  const asked = ['second', 'third', 'fourth']
  const answers = await Promise.all(
    asked.map((word) => queries.query('select ? as asked', [word]).catch((error: Error) => error.message)),
  )
  assert.deepEqual(
    [...answers, await queries.query("select 'last' as asked", [])],
    [...asked, 'last'].map((word) => [{ asked: word }]),
  )
})

/** The answer to the next query that succeeds in time. */
async function answered(queries: QueryThread): Promise<unknown[]> {
  for (;;) {
    const rows = await queries.query('select 1 as one', []).catch((error: Error) => error)
    if (!(rows instanceof Error)) return rows
    assert.equal(rows.name, 'QueryTooSlowError')
  }
}

function prepare(t: TestContext, limits: { timeoutMs: number; maxWaiting: number }) {
  const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
  const path = join(folder, 'purser.db')
  const store = openSqliteLedgerStore({ path, nextId: createIdsOfTimes() })
  const queries = new QueryThread({ path, ...limits })
  t.after(async () => {
    await queries.close()
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return { store, queries, path }
}

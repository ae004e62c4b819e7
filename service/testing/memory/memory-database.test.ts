import assert from 'node:assert/strict'
import { test } from 'node:test'

import { lock, range } from '../../src/store/ledger/operation.ts'
import { activityParts } from '../../src/store/ledger/tables.ts'
import { MemoryDatabase } from './memory-database.ts'

const accountId = 'acct_1'
const partOf = (id: string) => ({
  table: activityParts,
  before: undefined,
  now: { accountId, id, parts: [] },
})

test('A locked range has no row that was added while its locks were waited for, because that row is not locked', async () => {
  const database = new MemoryDatabase()
  database.write([partOf('txn_1')])
  const holder = database.begin()
  await holder.read([lock(activityParts, { accountId, id: 'txn_1' })], { waitsForLocks: true })
  const waiter = database.begin()
  const parts = range(activityParts, { where: { accountId }, orderBy: 'id', limit: 10, isLocked: true })
  const reading = waiter.read([parts], { waitsForLocks: true })
  database.write([partOf('txn_2')])
  holder.rollBack()
  const { found } = await reading
  assert.deepEqual(
    found[0]?.map(({ id }) => id),
    ['txn_1'],
  )
})

test('A missing row is not locked: one that is added while other locks are waited for blocks its read', async () => {
  const database = new MemoryDatabase()
  database.write([partOf('txn_1')])
  const reads = ['txn_0', 'txn_1'].map((id) => lock(activityParts, { accountId, id }))
  const holder = database.begin()
  assert.equal((await holder.read(reads, { waitsForLocks: true })).blocked.size, 0)
  const reading = database.begin().read(reads, { waitsForLocks: true })
  database.write([partOf('txn_0')])
  holder.rollBack()
  assert.deepEqual([...(await reading).blocked], reads.slice(0, 1))
})

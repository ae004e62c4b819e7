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

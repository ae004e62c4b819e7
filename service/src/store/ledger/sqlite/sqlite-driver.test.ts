import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

import { inTransaction } from '../../../../testing/transactions.ts'
import { createIds } from '../../../ids.ts'
import { range } from '../operation.ts'
import { sellers } from '../tables.ts'
import { openSqliteFile } from './open.ts'
import { createSqliteDriver } from './sqlite-driver.ts'

test('A transaction reads each range from the file once, and the next one reads it again', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'purser-sqlite-driver-'))
  const { database, close } = openSqliteFile(join(folder, 'ledger.db'))
  context.after(() => {
    close()
    rmSync(folder, { recursive: true })
  })
  const driver = createSqliteDriver({ database })
  const ids = createIds(() => 1_000)
  const where = { accountId: ids.next('account'), environment: 'sandbox', domain: 'shop.example' } as const
  const own = range(sellers, { where, orderBy: 'id', limit: 5 })
  const readTwice = () =>
    inTransaction(driver, async (transaction) => {
      const first = await transaction.read([own], { waitsForLocks: true })
      const second = await transaction.read([own], { waitsForLocks: true })
      return [first.found[0], second.found[0]]
    })

  const [none, noneAgain] = await readTwice()
  assert.deepEqual(none, [])
  assert.equal(noneAgain, none)
  const now = { ...where, id: ids.next('seller'), name: 'Shop', priceConfig: '{}', createdAtMs: 1_000 }
  await inTransaction(driver, ({ commit }) => commit([{ table: sellers, before: undefined, now }]))
  const [found, foundAgain] = await readTwice()
  assert.deepEqual(found, [now])
  assert.equal(foundAgain, found)
})

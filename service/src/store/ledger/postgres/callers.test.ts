import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'

import type { Pool } from 'pg'

import { createIdsOfTimes } from '../../../ids.ts'
import { postgres18 } from '../../../../testing/postgres.ts'
import { lookUpCallers, lookUpDistributedCallers, prepareCallers } from './callers.ts'
import { openPool } from './connection.ts'
import { createPostgresDriver } from './postgres-driver.ts'
import type { Table, TableRow } from '../table.ts'
import { accounts, apiKeys, keyHashes } from '../tables.ts'
import { inTransaction } from '../../../../testing/transactions.ts'

const [first, second, third] = ['1', '2', '3'].map((key) => createHash('sha256').update(key).digest())

test('Keys that arrive together share one query, and while it hangs another key is still looked up', async (context) => {
  const { url, drop } = await postgres18.createDatabase()
  const pool = openPool(url, { max: 2 })
  context.after(async () => {
    await pool.end()
    await drop()
  })
  assert(first && second && third)
  const keyId = await addKey(pool, third)
  const asked: number[] = []
  const hangs = Promise.withResolvers<void>()
  const callers = prepareCallers(pool, {
    maxWaiting: 16,
    retry: (work) => work(),
    lookUp: async (onPool, hashes) => {
      if (asked.push(hashes.length) === 1) await hangs.promise
      return lookUpCallers(onPool, hashes)
    },
  })
  const together = [callers.find(first), callers.find(second)]
  await turnOfTheLoop()
  const caller = await callers.find(third)
  assert.deepEqual([caller?.keyId, caller?.role], [keyId, 'owner'])
  assert.deepEqual(asked, [2, 1])
  // The other way to look up callers finds the same, also when it has cached the keys.
  const lookUpElsewhere = lookUpDistributedCallers(() => 0)
  const hashes = [first, third].map((hash) => hash.toString('hex'))
  for (let time = 0; time < 2; time++) {
    assert.deepEqual(await lookUpElsewhere(pool, hashes), new Map([[hashes[1], caller]]))
  }
  hangs.resolve()
  assert.deepEqual(await Promise.all(together), [undefined, undefined])
})

test('A known key is found also when the cache of keys overflows', async (context) => {
  const { url, drop } = await postgres18.createDatabase()
  const pool = openPool(url, { max: 2 })
  context.after(async () => {
    await pool.end()
    await drop()
  })
  assert(first && second)
  await addKey(pool, first)
  await addKey(pool, second)
  const lookUp = lookUpDistributedCallers(() => 0, 1)
  const hashes = [first, second].map((hash) => hash.toString('hex'))
  assert.equal((await lookUp(pool, hashes.slice(0, 1))).size, 1)
  assert.deepEqual(await lookUp(pool, hashes), await lookUpCallers(pool, hashes))
})

const nextId = createIdsOfTimes()

/** Adds an account with one key; returns the id of the key. */
async function addKey(pool: Pool, secretHash: Buffer): Promise<string> {
  const [accountId, keyId] = [nextId('account', 0), nextId('apiKey', 0)]
  await inTransaction(createPostgresDriver(pool), ({ commit }) =>
    commit([
      add(accounts, {
        id: accountId,
        name: '',
        email: '',
        idpUserId: '',
        createdAtMs: 0,
        disabledAtMs: null,
        ownerKeys: 1,
        clockOffsetMs: null,
      }),
      add(keyHashes, { secretHash, accountId, keyId }),
      add(apiKeys, {
        accountId,
        id: keyId,
        environment: 'sandbox',
        role: 'owner',
        agentId: null,
        label: null,
        hint: '…',
        secretHash,
        createdAtMs: 0,
        revokedAtMs: null,
      }),
    ]),
  )
  return keyId
}

function add<Of extends Table>(table: Of, now: TableRow<Of>) {
  return { table, before: undefined, now }
}

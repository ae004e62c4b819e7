import assert from 'node:assert/strict'
import { test } from 'node:test'

import { postgres18 } from '../../../../testing/postgres.ts'
import { shopDomain, StoreLedger } from '../../../../testing/store-ledger.ts'
import { createIdsOfTimes } from '../../../ids.ts'
import { prepareAgentFacts } from './agent-facts.ts'
import { openPool } from './connection.ts'
import { openPostgresLedgerStore } from './postgres-ledger-store.ts'

test('The statements of verify-agent for distributed accounts find the same facts as the others', async (context) => {
  const database = await postgres18.createDatabase()
  context.after(database.drop)
  const store = await openPostgresLedgerStore({ url: database.url, nextId: createIdsOfTimes() })
  const ledger = new StoreLedger({ store, close: () => store.close() })
  context.after(() => store.close())
  const pool = openPool(database.url, { max: 1 })
  context.after(() => pool.end())
  const readDistributed = prepareAgentFacts(pool, {
    maxWaiting: 10,
    retry: (work) => work(),
    isDistributed: true,
  })
  const [customer, shop, stranger] = [await ledger.tenant(), await ledger.tenant(), await ledger.tenant()]
  await ledger.seller(shop.sandbox)
  const mandate = await ledger.mandate(customer.sandbox)
  for (const { sandbox: caller } of [customer, shop, stranger]) {
    const { agentId, id: mandateId } = mandate
    const question = { caller, agentId, mandateId, merchantDomain: shopDomain, nowMs: ledger.clock.nowMs }
    const found = await readDistributed(question)
    assert.equal(found.mandate?.id, caller === stranger.sandbox ? undefined : mandateId)
    assert.deepEqual(found, await store.readAgentFacts(question))
  }
})

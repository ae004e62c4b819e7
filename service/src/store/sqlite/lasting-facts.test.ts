import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

import { shopDomain, StoreLedger } from '../../../testing/store-ledger.ts'
import { openSqliteStore } from './sqlite-store.ts'

test('A payment that is written again after its batch was undone leaves its seller among the paid ones [decision.26] [decision.42]', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  const store = openSqliteStore({ path: join(folder, 'purser.db') })
  context.after(() => store.close())
  const ledger = new StoreLedger({ store, close: () => store.close() })
  const { sandbox } = await ledger.tenant()
  const mandate = await ledger.mandate(sandbox)
  const hold = await ledger.hold(mandate)
  const agent = await ledger.agent(sandbox)
  const hasPaid = async () => {
    const question = { agentId: mandate.agentId, mandateId: mandate.id, merchantDomain: shopDomain }
    const facts = await store.readAgentFacts({ caller: sandbox, ...question, nowMs: ledger.clock.nowMs })
    return facts.risk?.hasPaidThisSeller
  }
  assert.equal(await hasPaid(), false)

  // The two are one batch, and the second throws: an agent of this id is there.
  const paid = ledger.pay(sandbox, hold)
  const refused = store.createAgent(agent, ledger.newEvent(sandbox, 'agent.created', agent.id))
  await assert.rejects(refused, { code: 'SQLITE_CONSTRAINT_PRIMARYKEY' })
  await paid

  assert.equal(await hasPaid(), true)
  assert.deepEqual(await store.findLedgerFaults(), [])
})

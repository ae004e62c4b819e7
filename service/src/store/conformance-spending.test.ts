import assert from 'node:assert/strict'
import { test } from 'node:test'

import { storeConformance } from '../../testing/stores.ts'
import { quarterMs } from './ledger/activity.ts'

const hourMs = 4 * quarterMs

storeConformance(({ openEmpty }) => {
  test('The subjects with most spending are those since a time, whatever they spent earlier that day', async (context) => {
    const ledger = await openEmpty(context)
    const { sandbox: caller } = await ledger.tenant()
    const dayStartsAtMs = Math.ceil(ledger.clock.nowMs / (24 * hourMs)) * 24 * hourMs
    const [early, late, later] = [await spender(), await spender(), await spender()]
    const fromMs = dayStartsAtMs + 9 * hourMs
    await early('5.00', fromMs - 1)
    await late('2.00', fromMs)
    await later('1.00', dayStartsAtMs + 24 * hourMs)
    const top = (limit: number, sinceMs = fromMs) =>
      ledger.store.topSubjects(caller, { dimension: 'agent', fromMs: sinceMs, limit })
    const check = async () => {
      assert.deepEqual(await top(1), [late.agentId])
      assert.deepEqual(await top(5), [late.agentId, later.agentId])
      assert.deepEqual(await top(2, dayStartsAtMs), [early.agentId, late.agentId])
    }
    await check()
    while (await ledger.store.addUpActivity());
    await check()

    /** Pays as an agent with a mandate of its own. */
    async function spender() {
      const agent = await ledger.agent(caller)
      const mandate = await ledger.mandate(agent)
      const pay = async (amount: string, atMs: number) => {
        ledger.clock.nowMs = atMs
        const hold = await ledger.hold(mandate, amount, { issuedAtMs: atMs, expiresAtMs: atMs + hourMs })
        const { outcome } = await ledger.store.capture(ledger.newCapture(caller, hold, { nowMs: atMs }))
        assert.equal(outcome, 'captured')
      }
      return Object.assign(pay, { agentId: agent.id })
    }
  })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { storeConformance } from '../../testing/stores.ts'

const dayMs = 24 * 3_600_000

storeConformance(({ open }) => {
  test('A stop that is continued after a crash has the time of the test clock, and is due by that of the service', async (context) => {
    const ledger = await open(context)
    const { sandbox: caller } = await ledger.tenant()
    const mandate = await ledger.mandate(caller)
    const advanced = ledger.newEvent(caller, 'test_clock.advanced', caller.accountId)
    await ledger.store.advanceClock(caller, 2 * dayMs, advanced)
    const stopId = ledger.ids.ofStop(caller, 'first')
    const now = () => ledger.clock.nowMs
    const call = { stopId, actor: caller.keyId, now, nextEventId: crash }
    await assert.rejects(ledger.store.stopMandates(caller, call), /the process ends/)
    assert.equal(await ledger.store.continueStops(now), 0, 'another process may still be working on it')

    ledger.clock.nowMs += 31_000
    assert.equal(await ledger.store.continueStops(now), 1)
    const { items } = await ledger.store.listAuditEvents(caller, {}, { limit: 10 })
    const createdAtMs = ledger.clock.nowMs + 2 * dayMs
    for (const type of ['agents.stopped', 'mandate.paused'] as const) {
      const found = await ledger.store.listAuditEvents(caller, { type }, { limit: 10 })
      assert.deepEqual(
        found.items.map((event) => [event.subjectId, event.createdAtMs]),
        [[type === 'agents.stopped' ? stopId : mandate.id, createdAtMs]],
        type,
      )
    }
    assert.equal(items[0]?.type, 'agents.stopped')
  })
})

function crash(): never {
  throw new Error('the process ends')
}

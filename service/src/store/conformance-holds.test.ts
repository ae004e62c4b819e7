import assert from 'node:assert/strict'
import { test } from 'node:test'

import { hashApiKey } from '../domain/api-key.ts'
import type { Hold, Mandate } from '../domain/records.ts'
import { holdLifeMs, type StoreLedger } from '../../testing/store-ledger.ts'
import { storeConformance } from '../../testing/stores.ts'

// How holds end without a payment: they expire, or an owner stops them.
storeConformance(({ open, openEmpty, openOwn }) => {
  test("A hold outlives the proof's window by 60 s, to the millisecond", async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const mandate = await ledger.mandate(owner.sandbox)
    const inTime = await ledger.hold(mandate)
    const tooLate = await ledger.hold(mandate)
    assert.equal(inTime.expiresAtMs - inTime.issuedAtMs, 6 * 60_000)
    ledger.clock.nowMs = inTime.expiresAtMs - 1
    assert.equal((await ledger.capture(owner.sandbox, inTime)).outcome, 'captured')
    ledger.clock.nowMs = tooLate.expiresAtMs
    assert.deepEqual(await ledger.capture(owner.sandbox, tooLate), {
      outcome: 'failed',
      reason: 'proof_expired',
    })
    await ledger.sweep()
    assert.deepEqual(await ledger.sums(mandate), { spent: '1.00', held: '0.00' })
  })

  test('The sweep releases holds and authorizations by the test clock of their account, and of no other', async (context) => {
    const ledger = await open(context)
    const [ahead, other] = [(await ledger.tenant()).sandbox, (await ledger.tenant()).sandbox]
    const [mandate, theirs] = [await ledger.mandate(ahead), await ledger.mandate(other)]
    for (const [owner, one] of [
      [ahead, mandate],
      [other, theirs],
    ] as const) {
      await ledger.hold(one, '4.00')
      await ledger.authorized(owner, await ledger.hold(one, '2.00'))
    }
    const event = ledger.newEvent(ahead, 'test_clock.advanced', ahead.accountId)
    assert.equal((await ledger.store.advanceClock(ahead, 24 * 3_600_000, event)).outcome, 'advanced')
    await ledger.sweep()
    assert.deepEqual(await ledger.allSums(mandate), { spent: '0.00', held: '0.00', authorized: '0.00' })
    assert.deepEqual(await ledger.allSums(theirs), { spent: '0.00', held: '4.00', authorized: '2.00' })
    assert.deepEqual(
      [await ledger.store.readClock(ahead), await ledger.store.readClock(other)],
      [24 * 3_600_000, 0],
    )
    const caller = await ledger.store.authenticate(hashApiKey(ahead.keyId))
    assert.deepEqual(caller, { ...ahead, clockOffsetMs: 24 * 3_600_000 })
  })

  test('A sweep closes no minute of denials before it is over by the test clock', async (context) => {
    const ledger = await open(context)
    const { sandbox } = await ledger.tenant()
    const mandate = await ledger.mandate(sandbox)
    const dayMs = 24 * 3_600_000
    const event = ledger.newEvent(sandbox, 'test_clock.advanced', sandbox.accountId)
    await ledger.store.advanceClock(sandbox, dayMs, event)
    const serviceMs = ledger.clock.nowMs
    ledger.clock.nowMs += dayMs
    for (let count = 0; count < 11; count++) {
      const { decision } = await ledger.store.issueProof(ledger.newHold(mandate, '99.00'))
      assert.equal(decision, 'denied')
      if (count === 9) await ledger.store.releaseExpiredHolds(serviceMs, 100)
    }
    const { items } = await ledger.store.listTransactions(sandbox, {}, { limit: 100 })
    assert.equal(items.length, 10)
  })

  test('Denials of unknown mandates beyond the limit of a minute are counted once it is over', async (context) => {
    const ledger = await open(context)
    const { sandbox } = await ledger.tenant()
    const mandate = await ledger.mandate(sandbox)
    const dayMs = 24 * 3_600_000
    const event = ledger.newEvent(sandbox, 'test_clock.advanced', sandbox.accountId)
    await ledger.store.advanceClock(sandbox, dayMs, event)
    const serviceMs = ledger.clock.nowMs
    ledger.clock.nowMs += dayMs
    for (let count = 0; count < 13; count++) {
      const hold = ledger.newHold({ ...mandate, id: ledger.ids.next('mandate') }, '1.00')
      assert.equal((await ledger.store.issueProof(hold)).decision, 'denied')
    }
    const countedAt = async (nowMs: number) => {
      await ledger.store.releaseExpiredHolds(nowMs, 100)
      const [all] = await ledger.store.readActivity(sandbox, { dimension: 'all', subjects: [''], fromMs: 0 })
      return all?.deniedCount
    }
    assert.equal(await countedAt(serviceMs), 10)
    assert.equal(await countedAt(serviceMs + 60_000), 13)
    assert.equal(await countedAt(serviceMs + 120_000), 13)
  })

  test('The next proof can use the amount of an expired hold without a sweep', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const mandate = await ledger.mandate(owner.sandbox, { maxTotalText: '10.00' })
    const first = await ledger.hold(mandate, '6.00')
    ledger.clock.nowMs += 2_000
    const second = await ledger.hold(mandate, '4.00')
    ledger.clock.nowMs = first.expiresAtMs - 1
    assert.equal((await ledger.store.issueProof(ledger.newHold(mandate, '6.00'))).decision, 'denied')
    ledger.clock.nowMs = first.expiresAtMs
    assert.equal((await ledger.store.issueProof(ledger.newHold(mandate, '6.000001'))).decision, 'denied')
    await ledger.hold(mandate, '6.00')
    assert.deepEqual(await statuses(ledger, [first, second]), ['expired', 'open'])
    assert.deepEqual(await ledger.sums(mandate), { spent: '0.00', held: '10.00' })
    assert.equal((await ledger.capture(owner.sandbox, second)).outcome, 'captured')
  })

  test('An expired amount is available to a proof even if the same batch has one that names the mandate in the other environment', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const mandate = await ledger.mandate(owner.sandbox, { maxTotalText: '10.00' })
    const expired = await ledger.hold(mandate, '10.00')
    ledger.clock.nowMs = expired.expiresAtMs
    const elsewhere = ledger.newHold(mandate, '10.00', { environment: 'production' })
    const decisions = await Promise.all(
      [elsewhere, ledger.newHold(mandate, '10.00')].map((hold) => ledger.store.issueProof(hold)),
    )
    assert.deepEqual(
      decisions.map(({ decision }) => decision),
      ['denied', 'approved'],
    )
    assert.deepEqual(await ledger.sums(mandate), { spent: '0.00', held: '10.00' })
  })

  test('More proofs of a mandate can expire in one millisecond than one step releases', async (context) => {
    const ledger = await openEmpty(context)
    const owner = await ledger.tenant()
    const mandate = await ledger.mandate(owner.sandbox, { maxTotalText: '2000.00' })
    const holds = await Promise.all(Array.from({ length: 1_100 }, () => ledger.hold(mandate)))
    ledger.clock.nowMs = holds[0]?.expiresAtMs ?? 0
    assert.equal(await ledger.sweep(), 1_100)
    assert.deepEqual(await ledger.sums(mandate), { spent: '0.00', held: '0.00' })
    assert.deepEqual(await ledger.store.findLedgerFaults(), [])
  })

  test('A sweep releases expired amounts and nothing else', async (context) => {
    const ledger = await openEmpty(context)
    const owner = await ledger.tenant()
    const mandate = await ledger.mandate(owner.sandbox)
    const paid = await ledger.hold(mandate, '1.00')
    await ledger.pay(owner.sandbox, paid)
    const expired = await ledger.hold(mandate, '2.00')
    ledger.clock.nowMs += 1
    const open1 = await ledger.hold(mandate, '4.00')
    assert.equal(await ledger.store.releaseExpiredHolds(expired.expiresAtMs - 1, 100), 0)
    ledger.clock.nowMs = expired.expiresAtMs
    assert.equal(await ledger.sweep(), 1)
    assert.equal(await ledger.sweep(), 0, 'a hold ends once')
    assert.deepEqual(await statuses(ledger, [paid, expired, open1]), ['captured', 'expired', 'open'])
    assert.deepEqual(await ledger.sums(mandate), { spent: '1.00', held: '4.00' })
    assert.deepEqual(await ledger.capture(owner.sandbox, expired), {
      outcome: 'failed',
      reason: 'proof_expired',
    })
    assert.deepEqual(await ledger.store.findLedgerFaults(), [])
  })

  test('A sweep checks a bounded number of mandates and takes turns through all of them', async (context) => {
    const ledger = await openEmpty(context)
    const owners = [await ledger.tenant(), await ledger.tenant()]
    const mandates: Mandate[] = []
    for (let index = 0; index < 7; index++) {
      const { sandbox, production } = owners[index % 2] ?? assert.fail()
      mandates.push(await ledger.mandate(index < 5 ? sandbox : production))
    }
    for (const mandate of mandates) await Promise.all([ledger.hold(mandate), ledger.hold(mandate)])
    ledger.clock.nowMs += holdLifeMs
    let ended = 0
    for (let round = 0; round < 8; round++) {
      const more = await ledger.store.releaseExpiredHolds(ledger.clock.nowMs, 2)
      assert(more <= 4, 'two mandates with two holds each')
      ended += more
    }
    assert.equal(ended, 14)
    for (const mandate of mandates) {
      assert.deepEqual(await ledger.sums(mandate), { spent: '0.00', held: '0.00' })
    }
  })

  test('A sweep keeps up with a mandate that has thousands of payments expire between two sweeps', async (context) => {
    const ledger = await openEmpty(context)
    const mandate = await ledger.mandate((await ledger.tenant()).sandbox)
    for (let count = 0; count < 25; count++) {
      await Promise.all(Array.from({ length: 100 }, () => ledger.hold(mandate, '0.01')))
      ledger.clock.nowMs += 1
    }
    ledger.clock.nowMs += holdLifeMs
    assert.equal(await ledger.store.releaseExpiredHolds(ledger.clock.nowMs, 1), 2_500)
    assert.deepEqual(await ledger.sums(mandate), { spent: '0.00', held: '0.00' })
    assert.deepEqual(await ledger.store.findLedgerFaults(), [])
  })

  test('Mandates with unexpired holds never keep a sweep from reaching the others', async (context) => {
    const ledger = await openEmpty(context)
    const owner = await ledger.tenant()
    const agent = await ledger.agent(owner.sandbox)
    const mandates: Mandate[] = []
    for (let index = 0; index < 6; index++) mandates.push(await ledger.mandate(agent))
    const last = mandates.at(-1) ?? assert.fail()
    const expired = await ledger.hold(last)
    ledger.clock.nowMs += 60_000
    for (const mandate of mandates.slice(0, -1)) await ledger.hold(mandate)
    ledger.clock.nowMs = expired.expiresAtMs
    let ended = 0
    for (let round = 0; round < 8; round++) {
      ended += await ledger.store.releaseExpiredHolds(ledger.clock.nowMs, 1)
    }
    assert.equal(ended, 1)
    assert.deepEqual(await statuses(ledger, [expired]), ['expired'])
  })

  test('Holds that expired while the store was closed release their amounts', async (context) => {
    const ledger = await openOwn(context)
    const owner = await ledger.tenant()
    const swept = await ledger.mandate(owner.sandbox, { maxTotalText: '5.00' })
    const used = await ledger.mandate(owner.sandbox, { maxTotalText: '5.00' })
    const holds = [await ledger.hold(swept, '5.00'), await ledger.hold(used, '5.00')]
    if (!(await ledger.reopen())) return
    ledger.clock.nowMs += holdLifeMs
    assert.deepEqual(await ledger.sums(swept), { spent: '0.00', held: '5.00' })
    await ledger.hold(used, '5.00')
    assert.equal(await ledger.sweep(), 1)
    assert.deepEqual(await statuses(ledger, holds), ['expired', 'expired'])
    assert.deepEqual(await ledger.sums(swept), { spent: '0.00', held: '0.00' })
    assert.deepEqual(await ledger.sums(used), { spent: '0.00', held: '5.00' })
  })

  test('A hold survives the expiry of its mandate', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const expiresAtMs = ledger.clock.nowMs + 60_000
    const mandate = await ledger.mandate(owner.sandbox, { expiresAtMs })
    const hold = await ledger.hold(mandate)
    ledger.clock.nowMs = expiresAtMs
    assert.equal((await ledger.store.issueProof(ledger.newHold(mandate))).decision, 'denied')
    assert.equal((await ledger.capture(owner.sandbox, hold)).outcome, 'captured')
    assert.deepEqual(await ledger.sums(mandate), { spent: '1.00', held: '0.00' })
  })

  const stops = ['pause the mandate', 'revoke the mandate', 'revoke the agent'] as const
  for (const stop of stops) {
    test(`To ${stop} ends its open holds at once: their proofs answer proof_expired`, async (context) => {
      const ledger = await open(context)
      const owner = await ledger.tenant()
      const agent = await ledger.agent(owner.sandbox)
      const mandate = await ledger.mandate(agent)
      const paid = await ledger.hold(mandate, '1.00')
      const transactionId = await ledger.pay(owner.sandbox, paid, { idempotencyKey: 'order-1' })
      const stopped = [await ledger.hold(mandate, '2.00'), await ledger.hold(mandate, '4.00')]
      const bystander = await ledger.hold(await ledger.mandate(owner.sandbox), '8.00')

      if (stop === 'revoke the agent') await ledger.revokeAgent(agent)
      else await ledger.moveMandate(mandate, stop === 'pause the mandate' ? 'paused' : 'revoked')

      for (const hold of stopped) {
        const outcome = await ledger.capture(owner.sandbox, hold)
        assert.deepEqual(outcome, { outcome: 'failed', reason: 'proof_expired' })
      }
      assert.deepEqual(await statuses(ledger, [paid, ...stopped, bystander]), [
        'captured',
        'voided',
        'voided',
        'open',
      ])
      assert.deepEqual(await ledger.sums(mandate), { spent: '1.00', held: '0.00' })
      assert.deepEqual(await ledger.capture(owner.sandbox, paid, { idempotencyKey: 'order-1' }), {
        outcome: 'replayed',
        transactionId,
      })
      const subjectId = stop === 'revoke the agent' ? agent.id : mandate.id
      const event = (await ledger.eventsAbout(owner.sandbox, subjectId)).at(-1)
      assert.equal(event?.data['voided_holds'], 2)
      ledger.clock.nowMs += holdLifeMs
      await ledger.sweep()
      assert.deepEqual(await statuses(ledger, stopped), ['voided', 'voided'], 'voided is final')
    })
  }

  for (const stop of ['pause the mandate', 'revoke the agent'] as const) {
    test(`To ${stop} leaves an expired hold expired, even before a sweep`, async (context) => {
      const ledger = await open(context)
      const owner = await ledger.tenant()
      const agent = await ledger.agent(owner.sandbox)
      const mandate = await ledger.mandate(agent)
      const expired = await ledger.hold(mandate)
      ledger.clock.nowMs += 1
      const live = await ledger.hold(mandate)
      ledger.clock.nowMs = expired.expiresAtMs
      if (stop === 'revoke the agent') await ledger.revokeAgent(agent)
      else await ledger.moveMandate(mandate, 'paused')
      assert.deepEqual(await statuses(ledger, [expired, live]), ['expired', 'voided'])
      const subjectId = stop === 'revoke the agent' ? agent.id : mandate.id
      const event = (await ledger.eventsAbout(owner.sandbox, subjectId)).at(-1)
      assert.equal(event?.data['voided_holds'], 1)
      assert.deepEqual(await ledger.sums(mandate), { spent: '0.00', held: '0.00' })
    })
  }

  test('Revoking an agent ends the holds of all its mandates', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const agent = await ledger.agent(owner.sandbox)
    const mandates = [await ledger.mandate(agent), await ledger.mandate(agent), await ledger.mandate(agent)]
    const holds: Hold[] = []
    for (const mandate of mandates) holds.push(await ledger.hold(mandate))
    await ledger.revokeAgent(agent)
    assert.deepEqual(await statuses(ledger, holds), ['voided', 'voided', 'voided'])
    for (const mandate of mandates) {
      assert.deepEqual(await ledger.sums(mandate), { spent: '0.00', held: '0.00' })
      assert.equal((await ledger.store.issueProof(ledger.newHold(mandate))).decision, 'denied')
    }
  })

  test('A resumed mandate has its budget back, and its old holds stay voided', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const mandate = await ledger.mandate(owner.sandbox, { maxTotalText: '5.00' })
    const before = await ledger.hold(mandate, '5.00')
    await ledger.moveMandate(mandate, 'paused')
    assert.equal((await ledger.store.issueProof(ledger.newHold(mandate))).decision, 'denied')
    await ledger.moveMandate(mandate, 'active')
    const after = await ledger.hold(mandate, '5.00')
    assert.equal((await ledger.capture(owner.sandbox, before)).outcome, 'failed')
    assert.equal((await ledger.capture(owner.sandbox, after)).outcome, 'captured')
    assert.deepEqual(await statuses(ledger, [before, after]), ['voided', 'captured'])
  })

  test('A hold below a frozen budget is voided at once, and stays so after its time', async (context) => {
    const ledger = await openEmpty(context)
    const { sandbox } = await ledger.tenant()
    const budget = { ...sandbox, id: ledger.ids.next('budget') }
    const times = { createdAtMs: 0, updatedAtMs: 0, frozenAtMs: null, version: 1 }
    const created = ledger.newEvent(sandbox, 'budget.created', budget.id)
    await ledger.store.createBudget({ ...budget, ...times, name: 'Team', ancestors: [], limits: [] }, created)
    const mandate = await ledger.mandate(sandbox, { budgetPath: [budget.id] })
    const hold = await ledger.hold(mandate)
    assert.deepEqual(await statuses(ledger, [hold]), ['open'])
    await ledger.store.freezeBudget(budget, true, ledger.newEvent(sandbox, 'budget.frozen', budget.id))
    assert.deepEqual(await statuses(ledger, [hold]), ['voided'])
    ledger.clock.nowMs = hold.expiresAtMs + 1
    assert.equal(await ledger.sweep(), 1)
    assert.deepEqual(await statuses(ledger, [hold]), ['voided'])
    assert.deepEqual(await ledger.sums(mandate), { spent: '0.00', held: '0.00' })
    assert.deepEqual(await ledger.store.findLedgerFaults(), [])
  })

  test('A hold that was issued days ago and expires in days is counted and shown as open', async (context) => {
    const ledger = await openEmpty(context)
    const { sandbox } = await ledger.tenant()
    const mandate = await ledger.mandate(sandbox)
    const dayMs = 24 * 3_600_000
    ledger.clock.nowMs = Date.now() - 3 * dayMs
    const expiresAtMs = Date.now() + 3 * dayMs
    const hold = await ledger.hold(mandate, '1.00', { expiresAtMs })
    await ledger.pay(sandbox, await ledger.hold(mandate))
    assert.deepEqual(await ledger.store.readOpenHolds(), { count: 1, firstExpiresAtMs: expiresAtMs })
    const shown = await ledger.store.listOpenHolds(mandate, Date.now(), 10)
    assert.deepEqual(
      shown.map(({ nonce }) => nonce),
      [hold.nonce],
    )
    await ledger.moveMandate(mandate, 'paused')
    assert.deepEqual(await ledger.store.readOpenHolds(), { count: 0, firstExpiresAtMs: null })
    assert.deepEqual(await ledger.store.listOpenHolds(mandate, Date.now(), 10), [])
  })
})

/** The statuses of the holds, in order. */
async function statuses(ledger: StoreLedger, holds: readonly Hold[]): Promise<(string | undefined)[]> {
  return Promise.all(holds.map(async (hold) => (await ledger.store.findProof(hold))?.status))
}

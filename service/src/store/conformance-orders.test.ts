import assert from 'node:assert/strict'
import { test } from 'node:test'

import { parseAmount } from '../domain/money.ts'
import { validityWindowMs } from '../domain/proof.ts'
import { storeConformance } from '../../testing/stores.ts'

// An order is paid once under a mandate.
storeConformance(({ open }) => {
  test('Repeating an order returns its proof until it is paid, and then none', async (context) => {
    const ledger = await open(context)
    const owner = (await ledger.tenant()).sandbox
    const mandate = await ledger.mandate(owner)
    const first = await ledger.hold(mandate, '2.00', { orderId: 'order 1' })
    const again = await ledger.store.issueProof(ledger.newHold(mandate, '2.00', { orderId: 'order 1' }))
    assert(again.decision === 'replayed')
    assert.equal(again.hold.nonce, first.nonce)
    await ledger.hold(mandate, '2.00', { orderId: 'order 2' })
    await ledger.hold(mandate, '2.00')
    assert.deepEqual(await ledger.sums(mandate), { spent: '0.00', held: '6.00' })
    for (const [amount, fields] of [
      ['2.01', {}],
      ['2.00', { resourceUrl: 'https://api.example.com/other' }],
    ] as const) {
      const other = ledger.newHold(mandate, amount, { orderId: 'order 1', ...fields })
      assert.deepEqual(await ledger.store.issueProof(other), { decision: 'order_mismatch' })
    }
    const id = await ledger.pay(owner, first)
    for (const amount of ['2.00', '3.00']) {
      const paid = ledger.newHold(mandate, amount, { orderId: 'order 1' })
      assert.deepEqual(await ledger.store.issueProof(paid), { decision: 'order_already_paid' })
    }
    assert.equal((await ledger.store.findTransaction({ ...owner, id }, {}))?.orderId, 'order 1')
    assert.equal((await ledger.store.findProof(first))?.orderId, 'order 1')
    await ledger.refund(owner, id, '2.00')
    const refunded = ledger.newHold(mandate, '2.00', { orderId: 'order 1' })
    assert.deepEqual(await ledger.store.issueProof(refunded), { decision: 'order_already_paid' })
  })

  test('An authorized order returns its proof; a void or expired one gets a new proof', async (context) => {
    const ledger = await open(context)
    const owner = (await ledger.tenant()).sandbox
    const mandate = await ledger.mandate(owner)
    const order = { orderId: 'order 1' }
    const authorized = await ledger.authorized(owner, await ledger.hold(mandate, '2.00', order))
    const again = await ledger.store.issueProof(ledger.newHold(mandate, '2.00', order))
    assert(again.decision === 'replayed')
    assert.deepEqual([again.hold.nonce, again.hold.status], [authorized.nonce, 'authorized'])
    await ledger.voidAuthorized(owner, authorized)
    const second = await ledger.hold(mandate, '3.00', order)
    await ledger.voidProof(second)
    const third = await ledger.hold(mandate, '4.00', order)
    ledger.clock.nowMs = third.expiresAtMs
    const fourth = await ledger.hold(mandate, '5.00', order)
    await ledger.moveMandate(mandate, 'paused')
    await ledger.moveMandate(mandate, 'active')
    const fifth = await ledger.hold(mandate, '6.00', order)
    assert.equal(new Set([authorized, second, third, fourth, fifth].map(({ nonce }) => nonce)).size, 5)
    await ledger.pay(owner, fifth)
    assert.deepEqual(await ledger.store.issueProof(ledger.newHold(mandate, '6.00', order)), {
      decision: 'order_already_paid',
    })
    await ledger.sweep()
    assert.deepEqual(await ledger.sums(mandate), { spent: '6.00', held: '0.00' })
  })

  test('A process with a slower clock charges no earlier proof of an order that has got another', async (context) => {
    const ledger = await open(context)
    const owner = (await ledger.tenant()).sandbox
    const order = { orderId: 'order 1' }
    // With and without room for both, because a lack of room also ends what has expired.
    for (const maxTotalText of ['2.00', '9.00']) {
      const budget = { maxTotalText, maxTotalMicro: parseAmount(maxTotalText) }
      const mandate = await ledger.mandate(owner, budget)
      const first = await ledger.authorized(owner, await ledger.hold(mandate, '2.00', order))
      ledger.clock.nowMs = first.captureDeadlineMs ?? 0
      const second = await ledger.hold(mandate, '2.00', order)
      const behind = { nowMs: ledger.clock.nowMs - 1_000 }
      const late = await ledger.settle(owner, first, undefined, behind)
      assert.deepEqual(late, { outcome: 'refused', code: 'authorization_expired' })
      assert.deepEqual(await ledger.allSums(mandate), { spent: '0.00', held: '2.00', authorized: '0.00' })

      ledger.clock.nowMs = second.expiresAtMs
      const third = await ledger.hold(mandate, '2.00', order)
      const refused = { outcome: 'failed', reason: 'proof_expired' }
      const farBehind = { nowMs: second.issuedAtMs }
      assert.deepEqual(await ledger.capture(owner, second, farBehind), refused)
      await ledger.pay(owner, third)
      assert.deepEqual(await ledger.allSums(mandate), { spent: '2.00', held: '0.00', authorized: '0.00' })
    }
  })

  test('An order gets another proof as soon as the first one cannot be verified any more', async (context) => {
    const ledger = await open(context)
    const owner = (await ledger.tenant()).sandbox
    const mandate = await ledger.mandate(owner)
    const order = { orderId: 'order 1' }
    const first = await ledger.hold(mandate, '2.00', order)
    ledger.clock.nowMs += validityWindowMs
    const again = await ledger.store.issueProof(ledger.newHold(mandate, '2.00', order))
    assert.equal(again.decision, 'replayed')
    ledger.clock.nowMs += 1
    const second = await ledger.hold(mandate, '3.00', order)
    assert.equal((await ledger.store.findProof(first))?.status, 'expired')
    assert.deepEqual(await ledger.sums(mandate), { spent: '0.00', held: '3.00' })
    // A verification that was in time and waited for the ledger.
    const inTime = { nowMs: ledger.clock.nowMs - 1 }
    assert.equal((await ledger.capture(owner, first, inTime)).outcome, 'failed')
    await ledger.pay(owner, second)
    assert.deepEqual(await ledger.sums(mandate), { spent: '3.00', held: '0.00' })
  })

  test('Orders belong to a mandate, and are not disclosed to another agent or environment', async (context) => {
    const ledger = await open(context)
    const { sandbox, production } = await ledger.tenant()
    const mandate = await ledger.mandate(sandbox)
    const order = { orderId: 'order 1' }
    await ledger.pay(sandbox, await ledger.hold(mandate, '2.00', order))
    await ledger.hold(await ledger.mandate(sandbox), '2.00', order)
    const stranger = await ledger.agent(sandbox)
    for (const fields of [{ agentId: stranger.id }, { environment: 'production' }] as const) {
      const { decision } = await ledger.store.issueProof(
        ledger.newHold(mandate, '2.00', { ...order, ...fields }),
      )
      assert.equal(decision, 'denied')
    }
    assert.equal(production.environment, 'production')
  })

  test('If requests for an order race, one creates a proof and the others get it', async (context) => {
    const ledger = await open(context)
    const owner = (await ledger.tenant()).sandbox
    const mandate = await ledger.mandate(owner)
    for (let round = 0; round < 5; round++) {
      const orderId = `order ${round}`
      const asked = Array.from({ length: 20 }, () => ledger.newHold(mandate, '1.00', { orderId }))
      const outcomes = await Promise.all(asked.map((hold) => ledger.store.issueProof(hold)))
      const nonces = outcomes.map((outcome, index) =>
        outcome.decision === 'replayed' ? outcome.hold.nonce : asked[index]?.nonce,
      )
      assert.equal(new Set(nonces).size, 1)
      assert.equal(outcomes.filter(({ decision }) => decision === 'approved').length, 1)
    }
    assert.deepEqual(await ledger.sums(mandate), { spent: '0.00', held: '5.00' })
  })
})

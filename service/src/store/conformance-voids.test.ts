import assert from 'node:assert/strict'
import { test } from 'node:test'

import { storeConformance } from '../../testing/stores.ts'
import { mandatesVoidedAtOnce } from './ledger/operations/voids.ts'

// Voiding a single proof.
storeConformance(({ open }) => {
  test('A voided hold releases its amount once and cannot be captured', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const mandate = await ledger.mandate(owner.sandbox)
    const hold = await ledger.hold(mandate, '2.00')
    const other = await ledger.hold(mandate, '3.00')
    for (const round of ['first', 'again']) {
      assert.deepEqual(await ledger.voidProof(hold), { ...hold, status: 'voided', capturedText: null }, round)
    }
    assert.deepEqual(await ledger.sums(mandate), { spent: '0.00', held: '3.00' })
    assert.deepEqual(await ledger.capture(owner.sandbox, hold), {
      outcome: 'failed',
      reason: 'proof_expired',
    })
    assert.equal((await ledger.eventsAbout(owner.sandbox, hold.nonce)).length, 1)
    assert.equal((await ledger.store.findProof(other))?.status, 'open')
  })

  test('A captured hold stays captured, and an expired one expires, without an event', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const mandate = await ledger.mandate(owner.sandbox)
    const captured = await ledger.hold(mandate)
    const transactionId = await ledger.pay(owner.sandbox, captured)
    const expired = await ledger.hold(mandate)
    ledger.clock.nowMs = expired.expiresAtMs
    const { amountText: capturedText } = captured
    assert.deepEqual(await ledger.voidProof(captured), {
      ...captured,
      status: 'captured',
      transactionId,
      capturedText,
    })
    assert.deepEqual(await ledger.voidProof(expired), { ...expired, status: 'expired', capturedText: null })
    assert.deepEqual(await ledger.sums(mandate), { spent: '1.00', held: '0.00' })
    for (const { nonce } of [captured, expired]) {
      assert.deepEqual(await ledger.eventsAbout(owner.sandbox, nonce), [])
    }
  })

  test('Another agent, account or environment finds no hold to void', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const stranger = await ledger.tenant()
    const hold = await ledger.hold(await ledger.mandate(owner.sandbox))
    const { id: otherAgentId } = await ledger.agent(owner.sandbox)
    assert.equal(await ledger.voidProof(hold, { agentId: otherAgentId }), undefined)
    assert.equal(await ledger.voidProof({ ...hold, ...stranger.sandbox }), undefined)
    assert.equal(await ledger.voidProof({ ...hold, environment: 'production' }), undefined)
    assert.equal((await ledger.store.findProof(hold))?.status, 'open')
    assert.equal((await ledger.voidProof(hold, { agentId: hold.agentId }))?.status, 'voided')
  })

  test('If a void and a capture race, one wins and both answers agree', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const mandate = await ledger.mandate(owner.sandbox)
    // After the first capture, PostgreSQL sends the others as optimistic single statements.
    await ledger.pay(owner.sandbox, await ledger.hold(mandate))
    const holds = await Promise.all(Array.from({ length: 24 }, () => ledger.hold(mandate)))
    const raced = await Promise.all(
      holds.map(async (hold, index) => {
        const acts = [() => ledger.voidProof(hold), () => ledger.capture(owner.sandbox, hold)] as const
        if (index % 2 === 0) return Promise.all([acts[0](), acts[1]()])
        const capturing = acts[1]()
        return Promise.all([acts[0](), capturing])
      }),
    )
    let captured = 0
    for (const [voided, capture] of raced) {
      const expected = capture.outcome === 'captured' ? 'captured' : 'voided'
      assert.equal(voided?.status, expected)
      if (expected === 'captured') captured++
    }
    assert.deepEqual(await ledger.sums(mandate), { spent: `${captured + 1}.00`, held: '0.00' })
  })

  test('Revoking an agent with more mandates than one step takes is one event that counts all ended proofs', async (context) => {
    const ledger = await open(context)
    const { sandbox } = await ledger.tenant()
    const agent = await ledger.agent(sandbox)
    const count = mandatesVoidedAtOnce + 20
    const mandates = await Promise.all(Array.from({ length: count }, () => ledger.mandate(agent)))
    await Promise.all(mandates.map((mandate) => ledger.hold(mandate)))
    await ledger.revokeAgent(agent)
    const events = await ledger.eventsAbout(sandbox, agent.id)
    assert.deepEqual(
      events.filter(({ type }) => type === 'agent.revoked').map(({ data }) => data['voided_holds']),
      [count],
    )
    for (const mandate of mandates) {
      assert.deepEqual(await ledger.sums(mandate), { spent: '0.00', held: '0.00' })
    }
  })
})

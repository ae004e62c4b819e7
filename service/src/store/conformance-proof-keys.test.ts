import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Caller, Hold } from '../domain/records.ts'
import type { StoreLedger } from '../../testing/store-ledger.ts'
import { storeConformance } from '../../testing/stores.ts'

// Requests for a proof that carry an Idempotency-Key.
storeConformance(({ open, openOwn }) => {
  test('A repeated request gets the first proof, and nothing more is held', async (context) => {
    const ledger = await open(context)
    const { sandbox: caller } = await ledger.tenant()
    const mandate = await ledger.mandate(caller)
    const first = ledger.newHold(mandate, '2.00')
    assert.deepEqual(await issue(ledger, caller, first), { decision: 'approved' })
    ledger.clock.nowMs += 1_000
    assert.deepEqual(await issue(ledger, caller, ledger.newHold(mandate, '2.00')), {
      decision: 'replayed',
      hold: first,
    })
    assert.deepEqual(await ledger.sums(mandate), { spent: '0.00', held: '2.00' })
    // Whatever the status of the proof.
    const transactionId = await ledger.pay(caller, first)
    ledger.clock.nowMs += 24 * 3_600_000
    assert.deepEqual(await issue(ledger, caller, ledger.newHold(mandate, '2.00')), {
      decision: 'replayed',
      hold: { ...first, status: 'captured', transactionId },
    })
    assert.deepEqual(await ledger.sums(mandate), { spent: '2.00', held: '0.00' })
  })

  test('A key that was used for another request is refused, whichever field differs', async (context) => {
    const ledger = await open(context)
    const { sandbox: caller } = await ledger.tenant()
    const agent = await ledger.agent(caller)
    const mandate = await ledger.mandate(agent)
    const otherMandate = await ledger.mandate(agent)
    const first = ledger.newHold(mandate)
    await issue(ledger, caller, first)
    const others: Partial<Hold>[] = [
      { agentId: (await ledger.agent(caller)).id },
      { mandateId: otherMandate.id },
      { resourceUrl: 'https://api.example.com/other' },
      // The same amount in another notation is another proof.
      { amountText: '1.0' },
    ]
    for (const fields of others) {
      const outcome = await issue(ledger, caller, ledger.newHold(mandate, '1.00', fields))
      assert.deepEqual(outcome, { decision: 'key_reused' }, JSON.stringify(fields))
    }
    assert.deepEqual(await ledger.sums(mandate), { spent: '0.00', held: '1.00' })
    assert.deepEqual(await ledger.sums(otherMandate), { spent: '0.00', held: '0.00' })
  })

  test('A key belongs to one caller of one account and environment', async (context) => {
    const ledger = await open(context)
    const { sandbox: caller, production } = await ledger.tenant()
    const colleague = await ledger.key(caller, 'owner')
    const { sandbox: stranger } = await ledger.tenant()
    const mandate = await ledger.mandate(caller)
    assert.equal((await issue(ledger, caller, ledger.newHold(mandate))).decision, 'approved')
    assert.equal((await issue(ledger, colleague, ledger.newHold(mandate))).decision, 'approved')
    const strangers = ledger.newHold(await ledger.mandate(stranger))
    assert.equal(
      (await issue(ledger, { ...caller, accountId: stranger.accountId }, strangers)).decision,
      'approved',
    )
    const elsewhere = ledger.newHold(await ledger.mandate(production))
    const sameCaller = { ...caller, environment: 'production' as const }
    assert.equal((await issue(ledger, sameCaller, elsewhere)).decision, 'approved')
    assert.deepEqual(await ledger.sums(mandate), { spent: '0.00', held: '2.00' })
  })

  test('A denied request does not use up its key', async (context) => {
    const ledger = await open(context)
    const { sandbox: caller } = await ledger.tenant()
    const mandate = await ledger.mandate(caller, { maxTotalText: '5.00' })
    const other = await ledger.hold(mandate, '5.00')
    assert.equal((await issue(ledger, caller, ledger.newHold(mandate, '3.00'))).decision, 'denied')
    await ledger.voidProof(other)
    assert.equal((await issue(ledger, caller, ledger.newHold(mandate, '4.00'))).decision, 'approved')
    assert.equal((await issue(ledger, caller, ledger.newHold(mandate, '4.00'))).decision, 'replayed')
  })

  test('If equal requests race, one creates a hold and all get its proof', async (context) => {
    const ledger = await open(context)
    const { sandbox: caller } = await ledger.tenant()
    const mandate = await ledger.mandate(caller)
    const holds = Array.from({ length: 16 }, () => ledger.newHold(mandate))
    const outcomes = await Promise.all(holds.map((hold) => issue(ledger, caller, hold)))
    const granted = holds.filter((_, index) => outcomes[index]?.decision === 'approved')
    assert.equal(granted.length, 1)
    for (const outcome of outcomes) {
      if (outcome.decision === 'approved') continue
      assert.deepEqual(outcome, { decision: 'replayed', hold: granted[0] })
    }
    assert.deepEqual(await ledger.sums(mandate), { spent: '0.00', held: '1.00' })
  })

  test('If different requests with one key race, one creates a hold and the others are refused', async (context) => {
    const ledger = await open(context)
    const { sandbox: caller } = await ledger.tenant()
    const agent = await ledger.agent(caller)
    const mandates = await Promise.all(Array.from({ length: 6 }, () => ledger.mandate(agent)))
    const bystander = await ledger.mandate(agent)
    const outcomes = await Promise.all([
      ...mandates.map((mandate) => issue(ledger, caller, ledger.newHold(mandate))),
      ledger.store.issueProof(ledger.newHold(bystander)),
    ])
    assert.deepEqual(outcomes.map(({ decision }) => decision).toSorted(), [
      'approved',
      'approved',
      ...Array.from({ length: 5 }, () => 'key_reused'),
    ])
    const sums = await Promise.all(mandates.map((mandate) => ledger.sums(mandate)))
    assert.equal(sums.filter(({ held }) => held === '1.00').length, 1)
    assert.equal((await ledger.sums(bystander)).held, '1.00')
  })

  test('A repeated request gets the first proof after a restart', async (context) => {
    const ledger = await openOwn(context)
    const { sandbox: caller } = await ledger.tenant()
    const mandate = await ledger.mandate(caller)
    const first = ledger.newHold(mandate)
    await issue(ledger, caller, first)
    if (!(await ledger.reopen())) return
    const again = await issue(ledger, caller, ledger.newHold(mandate))
    assert.deepEqual(again, { decision: 'replayed', hold: first })
  })
})

/** Requests a proof with the key that all these tests use. */
function issue(ledger: StoreLedger, { keyId, ...scope }: Caller, hold: Hold) {
  const { accountId, environment } = scope
  return ledger.store.issueProof(
    { ...hold, accountId, environment },
    { callerId: keyId, idempotencyKey: 'order-1' },
  )
}

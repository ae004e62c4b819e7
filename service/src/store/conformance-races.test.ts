import assert from 'node:assert/strict'
import { test } from 'node:test'

import { storeConformance } from '../../testing/stores.ts'

// Concurrent operations: whatever races, the sums agree.
storeConformance(({ open, openEmpty }) => {
  test('Of 200 concurrent captures of one hold, exactly one succeeds and the others are nonce_reused [verify.step.4] [limits.nonce]', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const mandate = await ledger.mandate(owner.sandbox)
    const hold = await ledger.hold(mandate, '3.00')
    const outcomes = await Promise.all(times(200, () => ledger.capture(owner.sandbox, hold)))
    const captured = outcomes.flatMap((one) => (one.outcome === 'captured' ? [one.transactionId] : []))
    assert.equal(captured.length, 1)
    assert.equal(
      outcomes.filter((one) => one.outcome === 'failed' && one.reason === 'nonce_reused').length,
      199,
    )
    assert.deepEqual(await ledger.sums(mandate), { spent: '3.00', held: '0.00' })
    const { items } = await ledger.store.listTransactions(owner.sandbox, {}, { limit: 200 })
    assert.deepEqual(
      items.map(({ id }) => id),
      captured,
    )
  })

  test('Of 100 concurrent retries, one captures and the others get its response', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const mandate = await ledger.mandate(owner.sandbox)
    const hold = await ledger.hold(mandate)
    const fields = { idempotencyKey: 'order-1' }
    const outcomes = await Promise.all(times(100, () => ledger.capture(owner.sandbox, hold, fields)))
    const ids = outcomes.map((one) => ('transactionId' in one ? one.transactionId : one.outcome))
    assert.equal(new Set(ids).size, 1)
    assert.equal(outcomes.filter(({ outcome }) => outcome === 'captured').length, 1)
    assert.equal(outcomes.filter(({ outcome }) => outcome === 'replayed').length, 99)
    assert.deepEqual(await ledger.sums(mandate), { spent: '1.00', held: '0.00' })
  })

  test('Of 500 concurrent proofs for a budget of 100, exactly 100 are issued [limits.total]', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const mandate = await ledger.mandate(owner.sandbox, { maxTotalText: '100.00' })
    const holds = times(500, () => ledger.newHold(mandate, '1.00'))
    const decisions = await Promise.all(holds.map((hold) => ledger.store.issueProof(hold)))
    const granted = holds.filter((_, index) => decisions[index]?.decision === 'approved')
    assert.equal(granted.length, 100)
    for (const decision of decisions) {
      assert(
        decision.decision === 'approved' ||
          (decision.decision === 'denied' && decision.code === 'total_budget_exceeded'),
      )
    }
    assert.deepEqual(await ledger.sums(mandate), { spent: '0.00', held: '100.00' })
    const outcomes = await Promise.all(holds.map((hold) => ledger.capture(owner.sandbox, hold)))
    assert.equal(outcomes.filter(({ outcome }) => outcome === 'captured').length, 100)
    assert.deepEqual(await ledger.sums(mandate), { spent: '100.00', held: '0.00' })
  })

  test('When captures, new proofs and a pause race, nothing is captured after the pause and nothing stays held', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const mandate = await ledger.mandate(owner.sandbox, { maxTotalText: '1000.00' })
    const holds = await Promise.all(times(60, () => ledger.hold(mandate)))
    const acts: Promise<unknown>[] = []
    for (const [index, hold] of holds.entries()) {
      acts.push(ledger.capture(owner.sandbox, hold), ledger.store.issueProof(ledger.newHold(mandate)))
      if (index === 30) acts.push(ledger.moveMandate(mandate, 'paused'))
    }
    await Promise.all(acts)
    const { items } = await ledger.store.listTransactions(owner.sandbox, { status: 'paid' }, { limit: 200 })
    const sums = await ledger.sums(mandate)
    assert.deepEqual(sums, { spent: `${items.length}.00`, held: '0.00' })
    for (const hold of holds) {
      const status = (await ledger.store.findProof(hold))?.status
      assert(status === 'captured' || status === 'voided', status)
      assert.notEqual((await ledger.capture(owner.sandbox, hold)).outcome, 'captured')
    }
    assert.deepEqual(await ledger.sums(mandate), sums)
  })

  test('If many sellers claim one domain at once, one gets it', async (context) => {
    const ledger = await openEmpty(context)
    const tenants = [await ledger.tenant(), await ledger.tenant(), await ledger.tenant()]
    const sellers = times(30, (index) => ledger.newSeller((tenants[index % 3] ?? assert.fail()).sandbox))
    const outcomes = await Promise.all(sellers.map((seller) => ledger.createSeller(seller)))
    assert.equal(outcomes.filter((outcome) => outcome === 'created').length, 1)
    const lists = await Promise.all(
      tenants.map(({ sandbox }) => ledger.store.listSellers(sandbox, { limit: 50 })),
    )
    assert.equal(lists.flatMap(({ items }) => items).length, 1)
  })

  test('If many accounts with one idp_user_id are created at once, one succeeds', async (context) => {
    const ledger = await open(context)
    const accounts = times(20, () => ledger.newAccount({ idpUserId: 'idp_same' }))
    const outcomes = await Promise.all(accounts.map((account) => ledger.store.createAccount(account, [], [])))
    assert.equal(outcomes.filter((outcome) => outcome === 'created').length, 1)
    assert.equal(outcomes.filter((outcome) => outcome === 'account_exists').length, 19)
  })

  test('If all owner keys are revoked at once, one keeps working', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const keys = [owner.sandbox, owner.production]
    for (let more = 0; more < 6; more++) keys.push(await ledger.key(owner.sandbox, 'owner'))
    const outcomes = await Promise.all(keys.map((key) => ledger.revokeKey(key, 'sandbox')))
    assert.equal(outcomes.filter((outcome) => outcome === 'last_owner_key').length, 1)
    const { items } = await ledger.store.listApiKeys(owner.sandbox, { limit: 50 })
    assert.equal(items.filter(({ revokedAtMs }) => revokedAtMs === null).length, 1)
  })

  test('Concurrent revocations of one key make one change and one event', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const agent = await ledger.agent(owner.sandbox)
    const answers = await Promise.all(times(50, () => ledger.revokeAgent(agent)))
    for (const answer of answers) assert.deepEqual(answer, answers[0])
    const types = (await ledger.eventsAbout(agent, agent.id)).map(({ type }) => type)
    assert.deepEqual(types, ['agent.created', 'agent.revoked'])
  })
})

function times<Result>(count: number, make: (index: number) => Result): Result[] {
  return Array.from({ length: count }, (_, index) => make(index))
}

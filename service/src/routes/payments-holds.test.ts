import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { assertLedgerAddsUp, leavingDenials, readLedger, readSums } from '../../testing/ledger.ts'
import { change, evaluate, pay } from '../../testing/purchases.ts'
import {
  askForProof,
  issueProof,
  preparePurchase,
  verifyProof,
  type Purchase,
  type TestService,
  startTestService,
} from '../../testing/service.ts'
import { shareTestService } from '../../testing/shared-service.ts'

const minuteMs = 60_000

test('The hold outlives the window by 60 s; after that the amount is free again [limits.window]', async (context) => {
  const service = await startTestService(context)
  const purchase = await preparePurchase(service, { max_spend_total: '10.00' })
  const proof = await issueProof(service, purchase, '10.00')
  service.clock.nowMs += 5 * minuteMs + 1
  assert.equal((await verifyProof(service, proof)).body.reason, 'proof_expired')
  service.clock.nowMs += minuteMs - 2
  const refused = await askForProof(service, purchase, '0.01')
  assert.deepEqual([refused.status, refused.body.reason_code], [402, 'total_budget_exceeded'])
  // A full budget is searched for expired holds once a second.
  service.clock.nowMs += 1_000
  const second = await issueProof(service, purchase, '10.00')
  assert.equal((await verifyProof(service, proof)).body.reason, 'proof_expired')
  assert.equal((await verifyProof(service, second)).status, 200)
  assert.deepEqual(await readSums(service, purchase), ['10.00', '0.00', '0.00'])
  await assertLedgerAddsUp(service)
})

test('An expired hold is released without any request', async (context) => {
  const service = await startTestService(context)
  const purchase = await preparePurchase(service)
  await issueProof(service, purchase, '10.00')
  await issueProof(service, purchase, '5.00')
  service.clock.nowMs += 3 * minuteMs
  const later = await issueProof(service, purchase, '1.00')
  service.clock.nowMs += 3 * minuteMs
  assert.deepEqual(await soonSums(service, purchase, '1.00'), ['0.00', '1.00', '100.00'])
  assert.equal((await verifyProof(service, later)).status, 200)
  await assertLedgerAddsUp(service)
})

test('A captured amount stays spent after the time when its hold would have expired', async () => {
  const service = await shareTestService()
  const purchase = await preparePurchase(service, { max_spend_total: '10.00' })
  await pay(service, purchase, '6.00')
  service.clock.nowMs += 7 * minuteMs
  assert.equal((await askForProof(service, purchase, '4.01')).status, 402)
  assert.equal((await askForProof(service, purchase, '4.00')).status, 201)
  assert.deepEqual(await readSums(service, purchase), ['6.00', '4.00', '4.00'])
})

const stops: readonly (readonly [what: string, path: (purchase: Purchase) => string])[] = [
  ['Revoking the agent', ({ agentId }) => `/agents/${agentId}/revoke`],
  ['Revoking the mandate', ({ mandateId }) => `/mandates/${mandateId}/revoke`],
  ['Pausing the mandate', ({ mandateId }) => `/mandates/${mandateId}/pause`],
]
for (const [what, path] of stops) {
  test(`${what} ends its open holds at once: their proofs answer proof_expired`, async (context) => {
    const service = await startTestService(context)
    const purchase = await preparePurchase(service)
    const bystander = await preparePurchase(service)
    const paid = await issueProof(service, purchase, '1.00')
    const proofs = [await issueProof(service, purchase, '2.00'), await issueProof(service, purchase, '3.00')]
    const others = await issueProof(service, bystander, '4.00')
    assert.equal((await verifyProof(service, paid)).status, 200)
    assert.deepEqual(await readSums(service, purchase), ['1.00', '5.00', '99.00'])

    await change(service, path(purchase))
    assert.deepEqual(await readSums(service, purchase), ['1.00', '0.00', '99.00'])
    assert.deepEqual(await readSums(service, bystander), ['0.00', '4.00', '100.00'])
    const { denials } = await leavingDenials(service, async () => {
      for (const proof of proofs) {
        const answer = await verifyProof(service, proof)
        assert.deepEqual([answer.status, answer.body], [402, { verified: false, reason: 'proof_expired' }])
      }
      assert.equal((await verifyProof(service, paid)).body.reason, 'nonce_reused')
      assert.equal((await askForProof(service, purchase)).status, 402)
    })
    assert.equal(denials.length, 1)
    assert.equal((await verifyProof(service, others)).status, 200)
    assert.equal((await readLedger(service)).transactions.length, 3)
    await assertLedgerAddsUp(service)
  })
}

test('Resuming a mandate does not restore ended holds, and a new proof can be verified', async () => {
  const service = await shareTestService()
  const purchase = await preparePurchase(service)
  const proof = await issueProof(service, purchase)
  await change(service, `/mandates/${purchase.mandateId}/pause`)
  await change(service, `/mandates/${purchase.mandateId}/resume`)
  assert.equal((await verifyProof(service, proof)).body.reason, 'proof_expired')
  assert.equal((await verifyProof(service, await issueProof(service, purchase))).status, 200)
})

test('Revoking an agent ends the holds of all its mandates [state.rule.3]', async () => {
  const service = await shareTestService()
  const purchase = await preparePurchase(service)
  const created = await service.call('POST', '/mandates', {
    body: {
      agent_id: purchase.agentId,
      purpose: 'A second one',
      max_spend_total: '5.00',
      max_spend_per_transaction: '5.00',
      allowed_sellers: ['*'],
      expires_at: '2099-01-01T00:00:00Z',
    },
  })
  const second = { ...purchase, mandateId: created.body.id as string }
  const proofs = [await issueProof(service, purchase), await issueProof(service, second)]
  await change(service, `/agents/${purchase.agentId}/revoke`)
  for (const proof of proofs) assert.equal((await verifyProof(service, proof)).body.reason, 'proof_expired')
  for (const each of [purchase, second]) assert.equal((await readSums(service, each))[1], '0.00')
  const denied = await askForProof(service, second)
  assert.deepEqual([denied.status, denied.body.reason_code], [402, 'agent_revoked'])
})

test('A stop that races with payments comes before or after each, and the sums agree [verify.step.6]', async (context) => {
  const service = await startTestService(context)
  const purchase = await preparePurchase(service)
  const proofs = await Promise.all(Array.from({ length: 12 }, () => issueProof(service, purchase)))
  const verifying = proofs.map((proof) => verifyProof(service, proof))
  const [answers] = await Promise.all([
    Promise.all(verifying),
    change(service, `/agents/${purchase.agentId}/revoke`),
  ])
  const paid = answers.filter(({ status }) => status === 200).length
  const expired = answers.filter(({ body }) => body.reason === 'proof_expired').length
  assert.equal(paid + expired, proofs.length)
  assert.deepEqual(await readSums(service, purchase), [`${paid}.00`, '0.00', `${100 - paid}.00`])
  assert.equal((await readLedger(service)).transactions.length, paid)
  await assertLedgerAddsUp(service)
})

test('Holds count for a proof, and not for evaluate', async () => {
  const service = await shareTestService()
  const purchase = await preparePurchase(service, { max_spend_total: '10.00' })
  await issueProof(service, purchase, '10.00')
  assert.equal((await askForProof(service, purchase, '0.01')).body.reason_code, 'total_budget_exceeded')
  assert.equal((await evaluate(service, purchase, { amount: '10.00' })).status, 200)
})

/** The sums once this much is held, or after five seconds. */
async function soonSums(service: TestService, purchase: Purchase, held: string) {
  for (let tries = 0; tries < 100; tries++) {
    const sums = await readSums(service, purchase)
    if (sums[1] === held) return sums
    await sleep(50)
  }
  return readSums(service, purchase)
}

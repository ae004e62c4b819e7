import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import { changingNothing, readLedger, readSums } from '../../testing/ledger.ts'
import { prepareRoleKeys } from '../../testing/role-keys.ts'
import {
  askForProof,
  createTenant,
  issueKey,
  issueProof,
  preparePurchase,
  startTestService,
  verifyProof,
  type CallOptions,
} from '../../testing/service.ts'

const service = await startTestService({ after })
const { keys, purchase } = await prepareRoleKeys(service)

const voidProof = (nonce: string, options: CallOptions = {}) =>
  service.call('POST', `/v1/payments/proofs/${nonce}/void`, options)

for (const role of ['agent', 'owner', 'operator'] as const) {
  test(`The ${role} voids an open proof: its amount is released at once, and verifying it is proof_expired`, async () => {
    const own = { ...(await preparePurchase(service, { max_spend_total: '10.00' })) }
    const key = role === 'agent' ? await issueKey(service, { role, agent_id: own.agentId }) : keys[role]
    const proof = await issueProof(service, own, '10.00')
    assert.equal((await askForProof(service, own, '0.01')).status, 402)

    const answer = await voidProof(proof.nonce, { key })
    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual(answer.body, (await service.call('GET', `/v1/payments/proofs/${proof.nonce}`)).body)
    assert.deepEqual([answer.body.status, answer.body.transaction_id], ['voided', null])
    assert.deepEqual(await readSums(service, own), ['0.00', '0.00', '10.00'])
    await changingNothing(service, async () => {
      const verified = await verifyProof(service, proof)
      assert.deepEqual([verified.status, verified.body], [402, { verified: false, reason: 'proof_expired' }])
    })
    assert.equal((await askForProof(service, own, '10.00')).status, 201)
  })
}

test('Voiding a proof again gives the same answer, and the log has one event', async () => {
  const { nonce } = await issueProof(service, purchase)
  const first = await voidProof(nonce, { key: keys.agent })
  const [event] = (await readLedger(service)).events
  assert.deepEqual(
    [event?.type, event?.subject_id, event?.data],
    [
      'proof.voided',
      nonce,
      { agent_id: purchase.agentId, mandate_id: purchase.mandateId, amount: '1.00', currency: 'USDC' },
    ],
  )
  await changingNothing(service, async () => {
    const again = await voidProof(nonce)
    assert.deepEqual([again.status, again.text], [200, first.text])
  })
})

test('A captured proof cannot be voided: 409 proof_captured, and the charge stands [state.rule.2]', async () => {
  const proof = await issueProof(service, purchase)
  assert.equal((await verifyProof(service, proof)).status, 200)
  await changingNothing(service, async () => {
    const answer = await voidProof(proof.nonce, { key: keys.agent })
    assert.deepEqual([answer.status, answer.body], [409, { detail: 'proof_captured' }])
  })
})

test('An expired proof is reported as expired and its amount released, even before a sweep', async () => {
  const own = await preparePurchase(service)
  const proof = await issueProof(service, own)
  service.clock.nowMs = Date.parse(proof.timestamp) + 6 * 60_000
  const answer = await voidProof(proof.nonce)
  assert.deepEqual([answer.status, answer.body.status], [200, 'expired'])
  assert.deepEqual(await readSums(service, own), ['0.00', '0.00', '100.00'])
  const { events } = await readLedger(service)
  assert.equal(events.filter(({ subject_id }) => subject_id === proof.nonce).length, 0)
})

test("Another account's or agent's proof, and one that never existed, answer not_found and do not change", async () => {
  const { nonce } = await issueProof(service, purchase)
  const other = await preparePurchase(service)
  const otherAgent = await issueKey(service, { role: 'agent', agent_id: other.agentId })
  const stranger = await createTenant(service, 'idp_stranger')
  for (const key of [otherAgent, stranger.sandboxKey, service.productionKey]) {
    const answer = await voidProof(nonce, { key })
    assert.deepEqual([answer.status, answer.text], [404, '{"detail":"not_found"}'])
  }
  const unknown = await voidProof('01939c1e-6a1f-7d57-9c1e-2f4f1b3a9c55')
  assert.deepEqual([unknown.status, unknown.text], [404, '{"detail":"not_found"}'])
  const merchant = await voidProof(nonce, { key: keys.merchant })
  assert.deepEqual([merchant.status, merchant.body], [403, { detail: 'insufficient_scope' }])
  const { body } = await service.call('GET', `/v1/payments/proofs/${nonce}`)
  assert.equal(body.status, 'open')
})

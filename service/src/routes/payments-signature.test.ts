import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import type { Proof } from '@purser/wire/payments'

import { changingNothing } from '../../testing/ledger.ts'
import { issueProof, preparePurchase, startTestService, verifyProof } from '../../testing/service.ts'

const service = await startTestService({ after })
const purchase = await preparePurchase(service, { max_spend_total: '100000.00' })

const tamperings: readonly (readonly [what: string, tamper: (proof: Proof) => object])[] = [
  ['another scheme', (proof) => ({ ...proof, scheme: 'exact' })],
  ['another network', (proof) => ({ ...proof, network: 'mainnet' })],
  ['another agentId', (proof) => ({ ...proof, agentId: 'agent_other' })],
  ['another mandateId', (proof) => ({ ...proof, mandateId: 'mandate_other' })],
  ['another amount', (proof) => ({ ...proof, amount: '1.000' })],
  ['another currency', (proof) => ({ ...proof, currency: 'EUR' })],
  ['another resource', (proof) => ({ ...proof, resource: `${proof.resource}/` })],
  ['another nonce', (proof) => ({ ...proof, nonce: '01890a5d-ac96-774b-bcce-b302099a8057' })],
  ['an uppercase nonce', (proof) => ({ ...proof, nonce: proof.nonce.toUpperCase() })],
  ['another timestamp', (proof) => ({ ...proof, timestamp: '2026-11-20T12:00:01.000+00:00' })],
  [
    'a timestamp that ends in Z',
    (proof) => ({ ...proof, timestamp: proof.timestamp.replace('+00:00', 'Z') }),
  ],
  [
    'another last digit of the signature',
    (proof) => ({ ...proof, signature: lastDigitChanged(proof.signature) }),
  ],
  ['an uppercase signature', (proof) => ({ ...proof, signature: proof.signature.toUpperCase() })],
  ['a truncated signature', (proof) => ({ ...proof, signature: proof.signature.slice(0, -1) })],
  ['an extended signature', (proof) => ({ ...proof, signature: `${proof.signature}0` })],
  ['an empty signature', (proof) => ({ ...proof, signature: '' })],
  ['a signature of two-byte characters', (proof) => ({ ...proof, signature: 'ü'.repeat(32) })],
  ['an added field', (proof) => ({ ...proof, note: 'x' })],
  ['an added null', (proof) => ({ ...proof, note: null })],
  ['an added object', (proof) => ({ ...proof, note: { a: [1] } })],
  ['an added __proto__', (proof) => JSON.parse(`{"__proto__":1,${JSON.stringify(proof).slice(1)}`) as object],
]
for (const [what, tamper] of tamperings) {
  test(`A proof with ${what} is invalid_signature [verify.step.3]`, async () => {
    const proof = await issueProof(service, purchase)
    const tampered = tamper(proof) as Proof
    assert.notDeepEqual(tampered, proof)
    const answer = await changingNothing(service, () =>
      verifyProof(service, tampered, { expected_currency: tampered.currency }),
    )
    assert.deepEqual([answer.status, answer.body], [402, { verified: false, reason: 'invalid_signature' }])
    assert.equal((await verifyProof(service, proof)).status, 200)
  })
}

test('The order of the fields does not matter to the signature [verify.step.3]', async () => {
  const proof = await issueProof(service, purchase)
  const turned = Object.fromEntries(Object.entries(proof).toReversed()) as Proof
  assert.equal((await verifyProof(service, turned)).status, 200)
})

test('A sandbox proof is invalid in production [verify.step.3]', async () => {
  const proof = await issueProof(service, purchase)
  const answer = await changingNothing(service, () =>
    verifyProof(service, proof, {}, { key: service.productionKey }),
  )
  assert.deepEqual([answer.status, answer.body.reason], [402, 'invalid_signature'])
  assert.equal((await verifyProof(service, proof)).status, 200)
})

test('The first secret signs, all verify; a proof signed with a removed secret is invalid_signature', async (context) => {
  const [old, young] = ['the first secret of this service', 'the next secret of this service!']
  const keys = {
    PURSER_BOOTSTRAP_SANDBOX_KEY: `svc_sand_${'s'.repeat(40)}`,
    PURSER_BOOTSTRAP_PRODUCTION_KEY: `svc_prod_${'p'.repeat(40)}`,
  }
  const first = await startTestService(context, { ...keys, PURSER_PROOF_SECRET: old })
  const purchase = await preparePurchase(first)
  const [proof, another] = [await issueProof(first, purchase), await issueProof(first, purchase)]
  await first.stop()
  const database = { PURSER_DATABASE: `sqlite:${first.databasePath}` }
  const rolled = await startTestService(context, {
    ...keys,
    ...database,
    PURSER_PROOF_SECRET: `${young},${old}`,
  })
  assert.equal((await verifyProof(rolled, proof)).status, 200)
  const fresh = await issueProof(rolled, purchase)
  await rolled.stop()
  const later = await startTestService(context, { ...keys, ...database, PURSER_PROOF_SECRET: young })
  assert.equal((await verifyProof(later, another)).body.reason, 'invalid_signature')
  assert.equal((await verifyProof(later, fresh)).status, 200)
})

function lastDigitChanged(hex: string): string {
  return hex.slice(0, -1) + (hex.endsWith('0') ? '1' : '0')
}

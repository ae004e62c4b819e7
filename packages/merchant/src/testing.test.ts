import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Purser, type Proof } from '@purser/client'
import { createTestPurser, proofHeader } from '@purser/merchant/testing'

import { issueKey, issueProof, preparePurchase, testStartMs } from '../../../service/testing/service.ts'
import { shareTestService } from '../../../service/testing/shared-service.ts'
import { encode } from '../testing/purchase.ts'
import type { PaymentClient } from './client.ts'

const service = await shareTestService()
const realClient = new Purser({ apiKey: await issueKey(service, { role: 'merchant' }), baseUrl: service.url })
const purchase = await preparePurchase(service)
const kitClock = { nowMs: testStartMs }
const kit = createTestPurser({ now: () => kitClock.nowMs })

/** The service and the test Purser, with functions to issue a proof of 1.00 and to advance the clock. */
const verifiers = {
  'the service': {
    client: realClient as PaymentClient,
    clock: service.clock,
    issue: () => issueProof(service, purchase),
  },
  'the test Purser': {
    client: kit.client,
    clock: kitClock,
    issue: () => kit.issueProof({ amount: '1.00', resource: purchase.resourceUrl }),
  },
}

interface Step {
  readonly change?: Partial<Proof> & Record<string, unknown>
  readonly amount?: string
  readonly currency?: 'USDC'
  readonly key?: string
  readonly laterMs?: number
  /** Refunded before. */
  readonly refund?: string
  readonly answer:
    | 'verified'
    | 'replayed'
    | 'amount_mismatch'
    | 'invalid_signature'
    | 'nonce_reused'
    | 'proof_expired'
}

const windowMs = 5 * 60_000

const stories: Readonly<Record<string, readonly Step[]>> = {
  'a proof is charged once': [{ answer: 'verified' }, { answer: 'nonce_reused' }],
  'the same key gets the first answer again': [
    { key: 'one', answer: 'verified' },
    { key: 'one', answer: 'replayed' },
    { key: 'other', answer: 'nonce_reused' },
    { answer: 'nonce_reused' },
  ],
  'the same key gets the first answer after the window too': [
    { key: 'one', answer: 'verified' },
    { key: 'one', laterMs: windowMs + 1, answer: 'replayed' },
    { key: 'other', answer: 'proof_expired' },
    { key: 'one', amount: '2.00', answer: 'proof_expired' },
  ],
  'the same key gets no answer once all of it is refunded': [
    { key: 'one', answer: 'verified' },
    { key: 'one', refund: '0.40', answer: 'replayed' },
    { key: 'one', refund: '0.6', answer: 'nonce_reused' },
  ],
  'a wrong amount charges nothing, however it is written': [
    { amount: '1.0', answer: 'amount_mismatch' },
    { amount: '2.00', answer: 'amount_mismatch' },
    { answer: 'verified' },
  ],
  'a changed proof charges nothing': [
    { change: { agentId: 'agent_other' }, answer: 'invalid_signature' },
    { change: { note: 'gift' }, answer: 'invalid_signature' },
    { change: { signature: 'f'.repeat(64) }, answer: 'invalid_signature' },
    { change: { amount: '9.00' }, answer: 'amount_mismatch' },
    { change: { amount: '9.00' }, amount: '9.00', answer: 'invalid_signature' },
    { answer: 'verified' },
    { change: { agentId: 'agent_other' }, answer: 'invalid_signature' },
  ],
  'the window is five minutes to the millisecond': [
    { laterMs: windowMs, answer: 'verified' },
    { laterMs: 1, answer: 'proof_expired' },
  ],
  'an old proof is expired, whatever else is wrong': [
    { laterMs: windowMs + 1, amount: '2.00', answer: 'proof_expired' },
  ],
}

for (const [title, steps] of Object.entries(stories)) {
  for (const [name, { client, clock, issue }] of Object.entries(verifiers)) {
    test(`With ${name}, ${title}`, async () => {
      const proof = await issue()
      const answers = []
      let transactionId = ''
      for (const { change, amount = '1.00', key, laterMs = 0, refund } of steps) {
        clock.nowMs += laterMs
        if (refund !== undefined) await client.transactions?.refund(transactionId, { amount: refund })
        const verdict = await client.payments.verify(
          {
            proof: { ...proof, ...change },
            merchant_domain: purchase.merchantDomain,
            expected_amount: amount,
          },
          key === undefined ? {} : { idempotencyKey: key },
        )
        if (verdict.verified) transactionId = verdict.transaction_id
        answers.push(verdict.verified ? (verdict.replayed ? 'replayed' : 'verified') : verdict.reason)
      }
      assert.deepEqual(
        answers,
        steps.map(({ answer }) => answer),
      )
    })
  }
}

for (const [name, { client, issue }] of Object.entries(verifiers)) {
  test(`With ${name}, an impossible refund is refused`, async () => {
    const { transactions, payments } = client
    assert(transactions)
    const request = { merchant_domain: purchase.merchantDomain, expected_amount: '1.00' }
    const paid = await payments.verify({ proof: await issue(), ...request })
    assert(paid.verified)
    const made = await transactions.refund(paid.transaction_id, { amount: '0.50' })
    for (const [id, amount, code] of [
      [paid.transaction_id, '0.00', 'validation_error'],
      [paid.transaction_id, '-0.10', 'validation_error'],
      [paid.transaction_id, '0.0000001', 'validation_error'],
      [paid.transaction_id, '1e-1', 'validation_error'],
      [paid.transaction_id, '0.500001', 'refund_exceeds_payment'],
      [made.id, '0.10', 'not_refundable'],
      ['txn_unknown', '0.10', 'not_found'],
    ] as const) {
      await assert.rejects(transactions.refund(id, { amount }), { code }, `${amount} of ${id}`)
    }
    assert.equal((await transactions.refund(paid.transaction_id, { amount: '0.5' })).amount, '0.5')
  })
}

test('Of ten concurrent verifications the test Purser charges one, and lists it', async () => {
  const proof = await kit.issueProof({ amount: '1.00', resource: 'https://api.example.com/ten' })
  const request = { proof, merchant_domain: 'api.example.com', expected_amount: '1.00' }
  const verdicts = await Promise.all(Array.from({ length: 10 }, () => kit.client.payments.verify(request)))
  assert.equal(verdicts.filter(({ verified }) => verified).length, 1)
  assert.deepEqual(kit.charges.at(-1), {
    transactionId: `txn_test_${kit.charges.length + kit.refunds.length}`,
    nonce: proof.nonce,
    amount: '1.00',
    resource: 'https://api.example.com/ten',
    merchantDomain: 'api.example.com',
  })
  assert.equal(proofHeader(proof), encode(proof))
})

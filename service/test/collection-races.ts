import assert from 'node:assert/strict'

import type { Proof } from '@purser/wire/payments'

import type { PlainAnswer } from '../testing/http/plain-http.ts'
import { allAtOnce, labelOf, makePurchase, tally } from '../testing/load.ts'
import { inTurn, type Racers } from './spending-races.ts'

// Races for payments in two steps and for refunds, over one or several processes on one ledger.

const captureSeconds = 60

/** Two captures, a void, the deadline and a pause at once: one ends the payment, and all agree on which. */
export async function raceForAuthorized({ owners }: Racers): Promise<void> {
  const ends = new Map<string, number>()
  for (let round = 0; round < 24; round++) {
    const owner = inTurn(owners, round)
    const purchase = await makePurchase(owner)
    const { proof } = (await owner.askForProof(purchase)).body as { proof: Proof }
    const authorized = await owner.send('POST', '/v1/payments/authorize', {
      body: {
        proof,
        merchant_domain: purchase.merchantDomain,
        expected_amount: proof.amount,
        capture_seconds: captureSeconds,
      },
    })
    assert.equal(authorized.status, 200, authorized.text)

    const path = `/v1/payments/${proof.nonce}`
    const capture = (turn: number) => () =>
      inTurn(owners, turn).send('POST', `${path}/capture`, {
        body: {},
        headers: { 'idempotency-key': `capture ${turn}` },
      })
    const release = () => inTurn(owners, round + 1).send('POST', `${path}/void`)
    const pause = () => inTurn(owners, round).send('PATCH', `/mandates/${purchase.mandateId}/pause`)
    // Not in every round, because it is the only one that needs no lock of the mandate.
    const pass = () =>
      round % 3 > 0
        ? Promise.resolve(undefined)
        : inTurn(owners, round + 1).send('POST', '/v1/test-clock/advance', {
            body: { seconds: captureSeconds },
          })
    const rivals = [capture(0), capture(1), release, pause, pass]
    const order = rivals.map((_, index) => (index + round) % rivals.length)
    const answers: (PlainAnswer | undefined)[] = []
    await Promise.all(order.map(async (index) => void (answers[index] = await rivals[index]!())))
    const [one, two, voided, paused] = answers
    assert.equal(paused?.status, 200, paused?.text)

    const captures = [one, two].filter((answer) => answer?.status === 200)
    const { status } = (await owner.send('GET', `/v1/payments/proofs/${proof.nonce}`)).body
    const { body: mandate } = await owner.send('GET', `/mandates/${purchase.mandateId}`)
    const isCaptured = status === 'captured'
    assert.equal(captures.length, isCaptured ? 1 : 0, JSON.stringify([status, one?.text, two?.text]))
    assert.equal(voided?.status === 200 && voided.body.status === 'voided', status === 'voided', voided?.text)
    assert.ok(['captured', 'voided', 'expired'].includes(status), status)
    assert.equal(mandate.spent_total, isCaptured ? '1.00' : '0.00')
    const refusals = [one, two].filter((answer) => answer?.status !== 200)
    const refusal = isCaptured ? 'already_captured' : `authorization_${status}`
    for (const answer of refusals) assert.equal(labelOf(answer!), `409 ${refusal}`)
    ends.set(status, (ends.get(status) ?? 0) + 1)
  }
  assert.ok(ends.size > 1, `different rivals win: ${JSON.stringify([...ends])}`)
}

/** Refunds from all processes at once never exceed the payment, and a retry is not another refund. */
export async function raceForRefunds({ owners }: Racers): Promise<void> {
  const [owner] = owners
  const purchase = await makePurchase(owner)
  const { proof } = (await owner.askForProof(purchase, '5.00')).body as { proof: Proof }
  const { transaction_id } = (await owner.verify(proof)).body
  const refund = (turn: number) =>
    inTurn(owners, turn).send('POST', `/v1/transactions/${transaction_id}/refund`, {
      body: { amount: '1.00' },
      // Each request is sent twice.
      headers: { 'idempotency-key': `refund ${Math.floor(turn / 2)}` },
    })
  const answers = await allAtOnce(40, refund)
  assert.deepEqual(tally(answers), { '201 ok': 10, '409 refund_exceeds_payment': 30 })
  const ids = new Set(answers.filter(({ status }) => status === 201).map(({ body }) => body.id as string))
  assert.equal(ids.size, 5)
  const { body: mandate } = await owner.send('GET', `/mandates/${purchase.mandateId}`)
  assert.equal(mandate.spent_total, '0.00')
}

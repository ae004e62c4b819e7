import assert from 'node:assert/strict'
import { test } from 'node:test'

import { formatSum } from '../domain/money.ts'
import { validityWindowMs } from '../domain/proof.ts'
import type { Caller } from '../domain/records.ts'
import { shopDomain, type StoreLedger } from '../../testing/store-ledger.ts'
import { storeConformance } from '../../testing/stores.ts'

// A seller refunds what it has collected. Each refund is a separate transaction in both accounts.
storeConformance(({ open, openEmpty }) => {
  test('Refunds release budget, up to the captured amount, and are transactions that name the payment', async (context) => {
    const ledger = await open(context)
    const owner = (await ledger.tenant()).sandbox
    const mandate = await ledger.mandate(owner, { maxTotalText: '10.00' })
    const hold = await ledger.hold(mandate, '10.00')
    await ledger.authorized(owner, hold)
    const settled = await ledger.settle(owner, hold, '8.00')
    assert(settled.outcome === 'captured')
    const payment = settled.transactionId
    ledger.clock.nowMs += 1_000
    const first = await ledger.refund(owner, payment, '3.50', { reason: 'Out of stock' })
    assert(first.outcome === 'refunded')
    assert.deepEqual(await ledger.sums(mandate), { spent: '4.50', held: '0.00' })
    const tooMuch = { outcome: 'refused', code: 'refund_exceeds_payment' }
    assert.deepEqual(await ledger.refund(owner, payment, '4.500001'), tooMuch)
    assert.equal((await ledger.refund(owner, payment, '4.5')).outcome, 'refunded')
    assert.deepEqual(await ledger.refund(owner, payment, '0.000001'), tooMuch)
    assert.deepEqual(await ledger.sums(mandate), { spent: '0.00', held: '0.00' })
    await ledger.hold(mandate, '10.00')

    const refund = await ledger.store.findTransaction({ ...owner, id: first.refundId }, {})
    assert.deepEqual(
      [refund?.status, refund?.amountText, refund?.refundOf, refund?.reasonDetail, refund?.merchantDomain],
      ['refunded', '3.50', payment, 'Out of stock', shopDomain],
    )
    const listed = await ledger.store.listTransactions(owner, { status: 'refunded' }, { limit: 9 })
    assert.deepEqual(
      listed.items.map(({ amountText }) => amountText),
      ['4.5', '3.50'],
    )
    const { items } = await ledger.store.listTransactions(owner, { mandateId: mandate.id }, { limit: 9 })
    assert.deepEqual(
      items.map(({ status }) => status),
      ['refunded', 'refunded', 'paid'],
    )
    const [event] = await ledger.eventsAbout(owner, first.refundId)
    assert.deepEqual(
      [event?.type, event?.data['amount'], event?.data['refund_of']],
      ['payment.refunded', '3.50', payment],
    )
    // The payment stays in the log although nothing is spent any more.
    assert.equal((await ledger.eventsAbout(owner, payment)).length, 1)
    assert.deepEqual(await refundedSums(ledger, owner), [2, '8.00'])
  })

  test('A refund is idempotent by its key, and refused if the key comes with another amount', async (context) => {
    const ledger = await open(context)
    const owner = (await ledger.tenant()).sandbox
    const mandate = await ledger.mandate(owner)
    const payment = await ledger.pay(owner, await ledger.hold(mandate, '5.00'))
    const key = { idempotencyKey: 'return 1' }
    const first = await ledger.refund(owner, payment, '2.00', key)
    assert(first.outcome === 'refunded')
    assert.deepEqual(await ledger.refund(owner, payment, '2.00', key), { ...first, outcome: 'replayed' })
    const reused = { outcome: 'refused', code: 'idempotency_key_reused' }
    assert.deepEqual(await ledger.refund(owner, payment, '1.00', key), reused)
    // An API key is replaced while the answer is unknown.
    const colleague = await ledger.key(owner, 'merchant')
    assert.deepEqual(await ledger.refund(colleague, payment, '2.00', key), { ...first, outcome: 'replayed' })
    assert.deepEqual(await ledger.refund(colleague, payment, '1.00', key), reused)
    const another = await ledger.pay(owner, await ledger.hold(mandate, '5.00'))
    assert.equal((await ledger.refund(owner, another, '2.00', key)).outcome, 'refunded')
    assert.deepEqual(await ledger.sums(mandate), { spent: '6.00', held: '0.00' })
  })

  test('Once all of a payment is refunded, a retry of its charge is told that nothing is charged for it', async (context) => {
    const ledger = await open(context)
    const owner = (await ledger.tenant()).sandbox
    const mandate = await ledger.mandate(owner)
    const key = { idempotencyKey: 'order 1' }
    const reused = { outcome: 'failed', reason: 'nonce_reused' }
    const hold = await ledger.hold(mandate, '5.00')
    const payment = await ledger.pay(owner, hold, key)
    await ledger.refund(owner, payment, '4.999999')
    assert.equal((await ledger.capture(owner, hold, key)).outcome, 'replayed')
    await ledger.refund(owner, payment, '0.000001')
    assert.deepEqual(await ledger.capture(owner, hold, key), reused)
    ledger.clock.nowMs += validityWindowMs + 1
    const { transactionId: _, ...late } = ledger.newCapture(owner, hold, key)
    assert.deepEqual(await ledger.store.settleLate(late), { outcome: 'failed', reason: 'proof_expired' })

    const reserved = await ledger.hold(mandate, '5.00')
    await ledger.authorize(owner, reserved, key)
    const settled = await ledger.settle(owner, reserved, '2.00', key)
    assert(settled.outcome === 'captured')
    assert.equal((await ledger.authorize(owner, reserved, key)).outcome, 'replayed')
    assert.equal((await ledger.settle(owner, reserved, '2.00', key)).outcome, 'replayed')
    await ledger.refund(owner, settled.transactionId, '2.00')
    assert.deepEqual(await ledger.authorize(owner, reserved, key), reused)
    const captured = { outcome: 'refused', code: 'already_captured' }
    assert.deepEqual(await ledger.settle(owner, reserved, '2.00', key), captured)
    assert.deepEqual(await ledger.sums(mandate), { spent: '0.00', held: '0.00' })
  })

  test('A payment can be refunded after its mandate is paused, revoked or expired; a revoked mandate cannot spend the amount', async (context) => {
    const ledger = await open(context)
    const owner = (await ledger.tenant()).sandbox
    for (const to of ['paused', 'revoked'] as const) {
      const mandate = await ledger.mandate(owner)
      const payment = await ledger.pay(owner, await ledger.hold(mandate, '5.00'))
      await ledger.moveMandate(mandate, to)
      assert.equal((await ledger.refund(owner, payment, '5.00')).outcome, 'refunded')
      assert.deepEqual(await ledger.sums(mandate), { spent: '0.00', held: '0.00' })
      assert.equal((await ledger.store.issueProof(ledger.newHold(mandate, '1.00'))).decision, 'denied')
    }
    const expiresAtMs = ledger.clock.nowMs + 60_000
    const mandate = await ledger.mandate(owner, { expiresAtMs })
    const payment = await ledger.pay(owner, await ledger.hold(mandate, '5.00'))
    ledger.clock.nowMs = expiresAtMs
    assert.equal((await ledger.refund(owner, payment, '5.00')).outcome, 'refunded')
  })

  test('Only the account that collected a payment can refund it, and both accounts have the record', async (context) => {
    const ledger = await openEmpty(context)
    const [payer, shop, stranger] = [
      (await ledger.tenant()).sandbox,
      (await ledger.tenant()).sandbox,
      (await ledger.tenant()).sandbox,
    ]
    await ledger.seller(shop)
    const mandate = await ledger.mandate(payer)
    const payment = await ledger.pay(shop, await ledger.hold(mandate, '5.00'))
    assert.deepEqual(await ledger.refund(payer, payment, '1.00'), refused('seller_not_yours'))
    assert.deepEqual(await ledger.refund(stranger, payment, '1.00'), refused('not_found'))
    ledger.clock.nowMs += 1_000
    const merchant = await ledger.key(shop, 'merchant')
    const outcome = await ledger.refund(merchant, payment, '2.00', { reason: 'Late' })
    assert(outcome.outcome === 'refunded')
    for (const [account, receivedOnly] of [
      [payer, false],
      [shop, false],
      [merchant, true],
    ] as const) {
      const { items } = await ledger.store.listTransactions(account, { receivedOnly }, { limit: 9 })
      assert.deepEqual(
        items.map(({ id, status, refundOf, reasonDetail }) => [id, status, refundOf, reasonDetail]),
        [
          [outcome.refundId, 'refunded', payment, 'Late'],
          [payment, 'paid', null, null],
        ],
      )
      const [event] = await ledger.eventsAbout(account, outcome.refundId)
      assert.equal(event?.data['refund_of'], payment)
    }
    assert.deepEqual(
      (await ledger.store.listConsoleTransactions(shop, { direction: 'sent' }, { limit: 9 })).items,
      [],
    )
    assert.deepEqual(await refundedSums(ledger, payer), [1, '2.00'])
    assert.deepEqual(await refundedSums(ledger, shop), [0, '0.00'])
    assert.deepEqual(await ledger.refund(merchant, outcome.refundId, '1.00'), refused('not_refundable'))
    const proposal = ledger.newProposal(mandate)
    await ledger.store.evaluate(proposal)
    assert.deepEqual(await ledger.refund(payer, proposal.id, '1.00'), refused('not_refundable'))
    await ledger.revokeKey(merchant, 'sandbox')
    assert.deepEqual(await ledger.refund(merchant, payment, '1.00'), refused('invalid_api_key'))
    assert.deepEqual(await ledger.store.findLedgerFaults(), [])
  })

  test('Concurrent refunds never exceed the payment', async (context) => {
    const ledger = await open(context)
    const owner = (await ledger.tenant()).sandbox
    const mandate = await ledger.mandate(owner)
    const payment = await ledger.pay(owner, await ledger.hold(mandate, '10.00'))
    const outcomes = await Promise.all(
      Array.from({ length: 30 }, () => ledger.refund(owner, payment, '0.70')),
    )
    const made = outcomes.filter(({ outcome }) => outcome === 'refunded')
    assert.equal(made.length, 14)
    assert.deepEqual(await ledger.sums(mandate), { spent: '0.20', held: '0.00' })
  })

  test('A payment has at most 100 refunds', async (context) => {
    const ledger = await open(context)
    const owner = (await ledger.tenant()).sandbox
    const mandate = await ledger.mandate(owner)
    const payment = await ledger.pay(owner, await ledger.hold(mandate, '10.00'))
    await Promise.all(Array.from({ length: 100 }, () => ledger.refund(owner, payment, '0.01')))
    assert.deepEqual(await ledger.refund(owner, payment, '0.01'), {
      outcome: 'refused',
      code: 'too_many_refunds',
    })
    assert.deepEqual(await ledger.sums(mandate), { spent: '9.00', held: '0.00' })
  })
})

/** The number and the sum of refunds that the console shows for an account. */
async function refundedSums(ledger: StoreLedger, scope: Caller) {
  await ledger.store.addUpActivity()
  const question = { dimension: 'all', subjects: [''], fromMs: 0, isTotal: true } as const
  const [sums] = await ledger.store.readActivity(scope, question)
  // The same money by seller.
  const [payee] = await ledger.store.readActivity(scope, {
    ...question,
    dimension: 'payee',
    subjects: [shopDomain],
  })
  assert.equal(payee?.refundedMicro, sums?.refundedMicro)
  return [sums?.refundedCount ?? 0, formatSum((sums?.refundedMicro ?? 0n) as never)]
}

function refused(code: string) {
  return { outcome: 'refused', code }
}

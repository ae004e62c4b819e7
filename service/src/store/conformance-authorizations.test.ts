import assert from 'node:assert/strict'
import { test } from 'node:test'

import { parseAmount } from '../domain/money.ts'
import type { Mandate } from '../domain/records.ts'
import type { StopOutcome } from './console/store.ts'
import { shopDomain, type StoreLedger } from '../../testing/store-ledger.ts'
import { storeConformance } from '../../testing/stores.ts'

const tenMinutesMs = 600_000

const stops: Readonly<Record<string, (ledger: StoreLedger, mandate: Mandate) => Promise<unknown>>> = {
  'a pause': (ledger, mandate) => ledger.moveMandate(mandate, 'paused'),
  'a revocation of its mandate': (ledger, mandate) => ledger.moveMandate(mandate, 'revoked'),
  'a revocation of its agent': (ledger, { agentId: id, ...mandate }) =>
    ledger.revokeAgent({ ...mandate, id }),
  'a stop of all agents': (ledger, { accountId, environment }) =>
    ledger.store.stopMandates(
      { accountId, environment },
      {
        stopId: ledger.ids.next('stop'),
        actor: 'system',
        now: () => ledger.clock.nowMs,
        nextEventId: () => ledger.ids.next('auditEvent'),
      },
    ),
}

// Payments in two steps: authorized first, then captured or voided by the merchant.
storeConformance(({ open, openEmpty }) => {
  test('An authorization reserves the amount without charging it; its capture charges it once', async (context) => {
    const ledger = await open(context)
    const owner = (await ledger.tenant()).sandbox
    const mandate = await ledger.mandate(owner, { maxTotalText: '10.00' })
    const hold = await ledger.hold(mandate, '4.00')
    const authorized = await ledger.authorized(owner, hold)
    assert.deepEqual(
      [authorized.status, authorized.captureDeadlineMs],
      ['authorized', ledger.clock.nowMs + tenMinutesMs],
    )
    assert.deepEqual(await ledger.allSums(mandate), { spent: '0.00', held: '0.00', authorized: '4.00' })
    assert.deepEqual((await ledger.store.findProof(hold))?.status, 'authorized')
    assert.deepEqual((await ledger.store.listTransactions(owner, {}, { limit: 9 })).items, [])
    const tooMuch = ledger.newHold(mandate, '6.000001')
    const denied = await ledger.store.issueProof(tooMuch)
    assert(denied.decision === 'denied' && denied.code === 'total_budget_exceeded')
    assert.match(denied.detail, /0\.00 spent \+ 4\.00 authorized \+ 6\.000001 > 10\.00/)

    const settled = await ledger.settle(owner, hold)
    assert(settled.outcome === 'captured')
    assert.equal(settled.amountText, '4.00')
    assert.deepEqual(await ledger.allSums(mandate), { spent: '4.00', held: '0.00', authorized: '0.00' })
    assert.deepEqual(await ledger.settle(owner, hold), { outcome: 'refused', code: 'already_captured' })
    const { items } = await ledger.store.listTransactions(owner, { status: 'paid' }, { limit: 9 })
    assert.deepEqual(
      items.map(({ id, status, amountText, merchantDomain }) => [id, status, amountText, merchantDomain]),
      [[settled.transactionId, 'paid', '4.00', shopDomain]],
    )
  })

  test('A partial capture charges its part and releases the rest at once', async (context) => {
    const ledger = await open(context)
    const owner = (await ledger.tenant()).sandbox
    const mandate = await ledger.mandate(owner, { maxTotalText: '10.00' })
    const hold = await ledger.hold(mandate, '10.00')
    await ledger.authorized(owner, hold)
    assert.deepEqual(await ledger.settle(owner, hold, '10.000001'), {
      outcome: 'refused',
      code: 'amount_exceeds_authorization',
    })
    const settled = await ledger.settle(owner, hold, '2.5')
    assert(settled.outcome === 'captured')
    assert.equal(settled.amountText, '2.50')
    assert.deepEqual(await ledger.allSums(mandate), { spent: '2.50', held: '0.00', authorized: '0.00' })
    const found = await ledger.store.findTransaction({ ...owner, id: settled.transactionId }, {})
    assert.deepEqual([found?.amountText, found?.amountMicro], ['2.50', 2_500_000n])
    const [event] = await ledger.eventsAbout(owner, settled.transactionId)
    assert.equal(event?.data['amount'], '2.50')
    await ledger.hold(mandate, '7.50')
  })

  test('Verifying or authorizing an authorized proof again is nonce_reused', async (context) => {
    const ledger = await open(context)
    const owner = (await ledger.tenant()).sandbox
    const mandate = await ledger.mandate(owner)
    const hold = await ledger.hold(mandate)
    await ledger.authorized(owner, hold)
    const reused = { outcome: 'failed', reason: 'nonce_reused' }
    assert.deepEqual(await ledger.capture(owner, hold), reused)
    assert.deepEqual(await ledger.authorize(owner, hold), reused)
    const paid = await ledger.hold(mandate)
    await ledger.pay(owner, paid)
    assert.deepEqual(await ledger.authorize(owner, paid), reused)
    assert.deepEqual(await ledger.settle(owner, paid), { outcome: 'refused', code: 'not_found' })
  })

  test('Retries with their idempotency keys get the first answers, even after the proof’s window', async (context) => {
    const ledger = await open(context)
    const owner = (await ledger.tenant()).sandbox
    const mandate = await ledger.mandate(owner)
    const hold = await ledger.hold(mandate, '3.00')
    const authorized = await ledger.authorized(owner, hold, { idempotencyKey: 'one' })
    const again = await ledger.authorize(owner, hold, { idempotencyKey: 'one' })
    assert.deepEqual(again, { outcome: 'replayed', hold: authorized })
    const other = await ledger.authorize(owner, hold, { idempotencyKey: 'two' })
    assert.deepEqual(other, { outcome: 'failed', reason: 'nonce_reused' })
    ledger.clock.nowMs += 6 * 60_000
    const attempt = { ...ledger.newCapture(owner, hold), idempotencyKey: 'one' }
    const late = await ledger.store.settleLateAuthorization(attempt)
    assert.deepEqual(late, { outcome: 'replayed', hold: authorized })

    const settled = await ledger.settle(owner, hold, '2.00', { idempotencyKey: 'three' })
    assert(settled.outcome === 'captured')
    const replayed = await ledger.settle(owner, hold, '2.00', { idempotencyKey: 'three' })
    assert.deepEqual(replayed, { ...settled, outcome: 'replayed' })
    const different = await ledger.settle(owner, hold, '3.00', { idempotencyKey: 'three' })
    assert.deepEqual(different, { outcome: 'refused', code: 'already_captured' })
    assert.deepEqual(await ledger.allSums(mandate), { spent: '2.00', held: '0.00', authorized: '0.00' })
  })

  test('Verifying with the key of a partial capture does not say that the whole amount was charged', async (context) => {
    const ledger = await open(context)
    const owner = (await ledger.tenant()).sandbox
    const mandate = await ledger.mandate(owner)
    const key = { idempotencyKey: 'order 1' }
    for (const [amount, answer] of [
      ['0.01', { outcome: 'failed', reason: 'nonce_reused' }],
      ['3.00', { outcome: 'replayed' }],
    ] as const) {
      const hold = await ledger.authorized(owner, await ledger.hold(mandate, '3.00'), key)
      const settled = await ledger.settle(owner, hold, amount, key)
      assert(settled.outcome === 'captured')
      const { transactionId } = settled
      const told = answer.outcome === 'replayed' ? { ...answer, transactionId } : answer
      assert.deepEqual(await ledger.capture(owner, hold, key), told)
    }
    assert.deepEqual(await ledger.sums(mandate), { spent: '3.01', held: '0.00' })
  })

  test('A void by the merchant releases the amount at once and is recorded once', async (context) => {
    const ledger = await open(context)
    const owner = (await ledger.tenant()).sandbox
    const mandate = await ledger.mandate(owner)
    const hold = await ledger.hold(mandate, '5.00')
    await ledger.authorized(owner, hold)
    for (let time = 0; time < 2; time++) {
      const ended = await ledger.voidAuthorized(owner, hold)
      assert(ended.outcome === 'ended')
      assert.equal(ended.hold.status, 'voided')
    }
    assert.deepEqual(await ledger.allSums(mandate), { spent: '0.00', held: '0.00', authorized: '0.00' })
    assert.deepEqual(await ledger.settle(owner, hold), { outcome: 'refused', code: 'authorization_voided' })
    const events = await ledger.eventsAbout(owner, hold.nonce)
    assert.deepEqual(
      events.map(({ type, data }) => [type, data['amount']]),
      [
        ['payment.authorized', '5.00'],
        ['authorization.voided', '5.00'],
      ],
    )
    const paid = await ledger.hold(mandate)
    await ledger.authorized(owner, paid)
    await ledger.settle(owner, paid)
    assert.deepEqual(await ledger.voidAuthorized(owner, paid), {
      outcome: 'refused',
      code: 'already_captured',
    })
  })

  test('A deadline ends an authorization to the millisecond, by a sweep or by a proof that needs the budget', async (context) => {
    const ledger = await open(context)
    const owner = (await ledger.tenant()).sandbox
    const mandate = await ledger.mandate(owner, { maxTotalText: '10.00', maxCaptureSeconds: 120 })
    const holds = [await ledger.hold(mandate, '6.00'), await ledger.hold(mandate, '4.00')] as const
    const first = await ledger.authorized(owner, holds[0], { captureSeconds: 60 })
    const second = await ledger.authorized(owner, holds[1])
    const [firstMs, secondMs] = [first.captureDeadlineMs ?? 0, second.captureDeadlineMs ?? 0]
    assert.deepEqual(
      [firstMs, secondMs].map((ms) => ms - ledger.clock.nowMs),
      [60_000, 120_000],
    )
    ledger.clock.nowMs = firstMs - 1
    assert.equal((await ledger.store.issueProof(ledger.newHold(mandate, '6.00'))).decision, 'denied')
    assert.equal(await ledger.sweep(), 0)
    ledger.clock.nowMs = firstMs
    assert.deepEqual(await ledger.settle(owner, first), { outcome: 'refused', code: 'authorization_expired' })
    const replacement = await ledger.hold(mandate, '6.00')
    assert.equal((await ledger.store.findProof(first))?.status, 'expired')
    assert.deepEqual(await ledger.allSums(mandate), { spent: '0.00', held: '6.00', authorized: '4.00' })
    ledger.clock.nowMs = secondMs
    assert.equal(await ledger.sweep(), 1)
    assert.equal((await ledger.store.findProof(second))?.status, 'expired')
    assert.deepEqual(await ledger.voidAuthorized(owner, second), {
      outcome: 'ended',
      hold: { ...second, status: 'expired' },
    })
    await ledger.pay(owner, replacement)
    assert.deepEqual(await ledger.allSums(mandate), { spent: '6.00', held: '0.00', authorized: '0.00' })
  })

  test('A budget cannot be cut below what is authorized, even if open proofs end', async (context) => {
    const ledger = await open(context)
    const owner = (await ledger.tenant()).sandbox
    const mandate = await ledger.mandate(owner)
    const hold = await ledger.authorized(owner, await ledger.hold(mandate, '5.00'))
    const refused = await ledger.amend(mandate, totalOf('4.99'), { endsHolds: true })
    assert.equal(refused.outcome, 'below_committed')
    assert.equal((await ledger.amend(mandate, totalOf('5.00'), { endsHolds: true })).outcome, 'amended')
    assert.equal((await ledger.settle(owner, hold)).outcome, 'captured')
  })

  test('More authorizations can be overdue than one step releases', async (context) => {
    const ledger = await openEmpty(context)
    const owner = (await ledger.tenant()).sandbox
    const mandate = await ledger.mandate(owner, { maxTotalText: '10.00' })
    const holds = await Promise.all(Array.from({ length: 450 }, () => ledger.hold(mandate, '0.01')))
    await Promise.all(holds.map((hold) => ledger.authorized(owner, hold)))
    assert.deepEqual(await ledger.allSums(mandate), { spent: '0.00', held: '0.00', authorized: '4.50' })
    ledger.clock.nowMs += tenMinutesMs
    assert.equal(await ledger.sweep(), 450)
    assert.deepEqual(await ledger.allSums(mandate), { spent: '0.00', held: '0.00', authorized: '0.00' })
    assert.deepEqual(await ledger.store.findLedgerFaults(), [])
  })

  for (const [stop, act] of Object.entries(stops)) {
    test(`An authorized payment survives ${stop}, and an open one of the same mandate does not`, async (context) => {
      const ledger = await open(context)
      const owner = (await ledger.tenant()).sandbox
      const mandate = await ledger.mandate(owner)
      const authorized = await ledger.authorized(owner, await ledger.hold(mandate, '2.00'))
      const other = await ledger.authorized(owner, await ledger.hold(mandate, '3.00'))
      const neighbour = await ledger.hold(mandate, '4.00')
      const outcome = await act(ledger, mandate)
      if (stop === 'a stop of all agents') {
        const { outstanding } = outcome as StopOutcome
        assert.deepEqual(outstanding, { count: 2, amountMicro: parseAmount('5.00') })
      }
      assert.deepEqual(await ledger.allSums(mandate), { spent: '0.00', held: '0.00', authorized: '5.00' })
      const expired = { outcome: 'failed', reason: 'proof_expired' }
      assert.deepEqual(await ledger.authorize(owner, neighbour), expired)
      assert.equal((await ledger.settle(owner, authorized)).outcome, 'captured')
      ledger.clock.nowMs += tenMinutesMs
      assert.equal((await ledger.settle(owner, other)).outcome, 'refused')
      await ledger.sweep()
      assert.deepEqual(await ledger.allSums(mandate), { spent: '2.00', held: '0.00', authorized: '0.00' })
    })
  }

  test('Only the account of the seller that authorized a payment can capture, void or see it', async (context) => {
    const ledger = await openEmpty(context)
    const [payer, shop, stranger] = [
      (await ledger.tenant()).sandbox,
      (await ledger.tenant()).sandbox,
      (await ledger.tenant()).sandbox,
    ]
    const seller = await ledger.seller(shop)
    const mandate = await ledger.mandate(payer)
    const hold = await ledger.hold(mandate, '3.00')
    const notYours = { outcome: 'refused', code: 'seller_not_yours' }
    assert.deepEqual(await ledger.authorize(stranger, hold), notYours)
    await ledger.authorized(shop, hold)
    for (const other of [payer, stranger]) {
      assert.deepEqual(await ledger.settle(other, hold), { outcome: 'refused', code: 'not_found' })
      assert.deepEqual(await ledger.voidAuthorized(other, hold), { outcome: 'refused', code: 'not_found' })
    }
    const shown = await ledger.store.findProof({ ...shop, nonce: hold.nonce })
    assert.equal(shown?.status, 'authorized')
    assert.equal(await ledger.store.findProof({ ...stranger, nonce: hold.nonce }), undefined)
    const colleague = await ledger.key(shop, 'merchant')
    const settled = await ledger.settle(colleague, hold, '1.00')
    assert(settled.outcome === 'captured')
    for (const account of [payer, shop]) {
      const found = await ledger.store.findTransaction({ ...account, id: settled.transactionId }, {})
      assert.deepEqual([found?.amountText, found?.sellerId], ['1.00', seller.id])
    }
    const voided = await ledger.hold(mandate)
    await ledger.authorized(shop, voided)
    assert.equal((await ledger.voidAuthorized(colleague, voided)).outcome, 'ended')
    assert.deepEqual(await ledger.store.findLedgerFaults(), [])
  })

  test('A revoked key cannot capture', async (context) => {
    const ledger = await open(context)
    const owner = (await ledger.tenant()).sandbox
    const merchant = await ledger.key(owner, 'merchant')
    const mandate = await ledger.mandate(owner)
    const hold = await ledger.authorized(merchant, await ledger.hold(mandate))
    await ledger.revokeKey(merchant, 'sandbox')
    const refused = { outcome: 'refused', code: 'invalid_api_key' }
    assert.deepEqual(await ledger.settle(merchant, hold), refused)
    assert.deepEqual(await ledger.voidAuthorized(merchant, hold), refused)
    assert.equal((await ledger.settle(owner, hold)).outcome, 'captured')
  })

  test('If many captures and voids race, one wins', async (context) => {
    const ledger = await open(context)
    const owner = (await ledger.tenant()).sandbox
    const mandate = await ledger.mandate(owner)
    for (let round = 0; round < 10; round++) {
      const hold = await ledger.authorized(owner, await ledger.hold(mandate, '1.00'))
      const outcomes = await Promise.all([
        ledger.settle(owner, hold, '0.50'),
        ledger.voidAuthorized(owner, hold),
        ledger.settle(owner, hold),
        ledger.moveMandate(mandate, 'paused'),
        ledger.voidAuthorized(owner, hold),
      ])
      const captured = outcomes.filter(
        (one) => 'outcome' in (one as object) && (one as { outcome: string }).outcome === 'captured',
      )
      const status = (await ledger.store.findProof(hold))?.status
      assert.equal(captured.length, status === 'captured' ? 1 : 0)
      await ledger.moveMandate(mandate, 'active')
    }
  })
})

function totalOf(text: string) {
  return { maxTotalText: text, maxTotalMicro: parseAmount(text) }
}

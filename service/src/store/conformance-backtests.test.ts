import assert from 'node:assert/strict'
import { test } from 'node:test'

import { parseAmount, type MicroUsdc } from '../domain/money.ts'
import type { Caller, Mandate, MandateTerms } from '../domain/records.ts'
import { shopDomain, type StoreLedger } from '../../testing/store-ledger.ts'
import { storeConformance } from '../../testing/stores.ts'

// Back-tests: other terms tried on a mandate's history, as each database keeps it.
storeConformance(({ open }) => {
  test("The mandate's own terms flip nothing in a history with every kind of record, and other terms flip what they change", async (context) => {
    const ledger = await open(context)
    const owner = (await ledger.tenant()).sandbox
    const mandate = await makeHistory(ledger, owner)
    const same = await backtest(ledger, mandate)
    assert.deepEqual(
      [same.toDenied.byCheck, same.toApproved.byCheck, same.notJudged, same.isComplete],
      [[], [], [{ reason: 'only_counted', count: 3 }], true],
    )
    // 6 issued proofs, 1 evaluation, and 12 denials for their amount, 2 of which are evaluations.
    assert.equal(same.judged, 6 + 1 + 12)

    const tight = await backtest(ledger, mandate, { maxPerTransactionMicro: parseAmount('2.00') })
    assert.deepEqual(
      tight.toDenied.byCheck.map(({ check, payments, evaluations, amountMicro }) => [
        check,
        payments,
        evaluations,
        amountMicro,
      ]),
      [[8, 2, 1, parseAmount('7.00')]],
    )
    assert.deepEqual(tight.toApproved.byCheck, [])
    const [example] = tight.toDenied.examples
    assert.deepEqual([example?.kind, example?.amountText], ['payment', '3.00'])
    assert(example?.drafted.decision === 'denied')
    assert.equal(example.drafted.check, 8)

    const wide = await backtest(ledger, mandate, {
      maxPerTransactionMicro: parseAmount('1000.00'),
      maxTotalMicro: parseAmount('10000.00'),
    })
    assert.deepEqual(
      wide.toApproved.byCheck.map(({ check, payments, evaluations }) => [check, payments, evaluations]),
      [[8, 10, 2]],
    )
  })

  test('A back-test judges the range and takes earlier events into account; another account finds no mandate', async (context) => {
    const ledger = await open(context)
    const owner = (await ledger.tenant()).sandbox
    const mandate = await ledger.mandate(owner, { maxTotalText: '10.00' })
    await ledger.pay(owner, await ledger.hold(mandate, '6.00'))
    ledger.clock.nowMs += 40 * 60 * 60_000
    const fromMs = ledger.clock.nowMs
    await ledger.pay(owner, await ledger.hold(mandate, '4.00'))
    ledger.clock.nowMs += 1_000
    const { toDenied, judged } = await backtest(
      ledger,
      mandate,
      { maxTotalMicro: parseAmount('9.00') },
      { fromMs },
    )
    assert.deepEqual(
      [judged, toDenied.byCheck.map(({ check, payments }) => [check, payments])],
      [1, [[9, 1]]],
    )
    const stranger = (await ledger.tenant()).sandbox
    const { nowMs: toMs } = ledger.clock
    const question = { draft: {}, fromMs: 0, toMs, now: () => 0 }
    assert.equal(await ledger.store.backtest({ ...stranger, id: mandate.id }, question), undefined)
  })

  test('What is charged and refunded later for payments from before the history counts in the total budget', async (context) => {
    const ledger = await open(context)
    const owner = (await ledger.tenant()).sandbox
    const mandate = await ledger.mandate(owner, { maxTotalText: '10.00', maxPerTransactionText: '10.00' })
    const day = 24 * 3_600_000
    const old = await ledger.pay(owner, await ledger.hold(mandate, '3.00'))
    ledger.clock.nowMs += 40 * day
    const authorized = await ledger.hold(mandate, '5.00')
    await ledger.authorized(owner, authorized)
    ledger.clock.nowMs += 60_000
    // The first record that says what was spent: only the old payment.
    const startMs = ledger.clock.nowMs
    await ledger.hold(mandate, '0.50')
    ledger.clock.nowMs += 60_000
    await ledger.settle(owner, authorized, '5.00')
    const fromMs = startMs + 25 * 3_600_000
    ledger.clock.nowMs = fromMs
    const denied = await ledger.store.issueProof(ledger.newHold(mandate, '4.00'))
    assert.equal(denied.decision, 'denied', 'all of the 8.00 was spent')
    ledger.clock.nowMs += 1_000
    assert.equal((await ledger.refund(owner, old, '3.00')).outcome, 'refunded')
    ledger.clock.nowMs += 1_000
    await ledger.hold(mandate, '4.50')
    ledger.clock.nowMs += 1_000

    const same = await backtest(ledger, mandate, {}, { fromMs })
    assert.deepEqual(
      [same.judged, same.notJudged, same.toDenied.byCheck, same.toApproved.byCheck],
      [2, [], [], []],
    )
  })
})

async function backtest(
  ledger: StoreLedger,
  mandate: Mandate,
  draft: Partial<MandateTerms> = {},
  { fromMs = 0 } = {},
) {
  const question = { draft, fromMs, toMs: ledger.clock.nowMs + 1, now: () => performance.now() }
  const report = await ledger.store.backtest(mandate, question)
  assert.ok(report)
  return report
}

async function makeHistory(ledger: StoreLedger, owner: Caller): Promise<Mandate> {
  const mandate = await ledger.mandate(owner, { maxTotalText: '20.00', maxPerTransactionText: '5.00' })
  const wait = (ms = 1_000) => void (ledger.clock.nowMs += ms)
  const evaluate = (amountText: string) =>
    ledger.store.evaluate(ledger.newProposal(mandate, { amountText, merchantDomain: shopDomain }))

  const paid = await ledger.pay(owner, await ledger.hold(mandate, '3.00'))
  wait()
  await ledger.voidProof(await ledger.hold(mandate, '1.00'))
  wait()
  await ledger.hold(mandate, '1.50')
  wait(7 * 60_000)
  await evaluate('4.00')
  wait()
  const authorized = await ledger.hold(mandate, '4.00')
  await ledger.authorized(owner, authorized)
  wait()
  await ledger.settle(owner, authorized, '1.00')
  wait()
  const given = await ledger.hold(mandate, '2.00')
  await ledger.authorized(owner, given)
  wait()
  await ledger.voidAuthorized(owner, given)
  wait()
  assert.equal((await ledger.refund(owner, paid, '0.50')).outcome, 'refunded')
  wait()
  await ledger.hold(mandate, '1.00')
  wait()
  await ledger.moveMandate(mandate, 'paused')
  wait()
  await ledger.moveMandate(mandate, 'active')
  wait(60_000)
  await evaluate('5.01')
  await evaluate('6.00')
  for (let denied = 0; denied < 13; denied++) {
    const { decision } = await ledger.store.issueProof(ledger.newHold(mandate, '9.00'))
    assert.equal(decision, 'denied')
  }
  // The next minute writes the entry that counts the unrecorded denials.
  wait(120_000)
  await ledger.store.releaseExpiredHolds(ledger.clock.nowMs, 10)
  const [{ spentMicro, heldMicro }] = (await ledger.store.listMandates(owner, {}, { limit: 1 })).items as [
    Mandate,
  ]
  assert.deepEqual([spentMicro, heldMicro], [parseAmount('3.50'), 0n as MicroUsdc])
  return mandate
}

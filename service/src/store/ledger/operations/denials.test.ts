import assert from 'node:assert/strict'
import { test } from 'node:test'

import { openMemoryLedger, scope } from '../../../../testing/memory-ledger.ts'
import { OutcomeUnknownError, type Driver } from '../driver.ts'
import { Ledger } from '../ledger.ts'
import { issueProof } from '../several-transactions.ts'
import { entries, evaluations, mandates, strayDenials } from '../tables.ts'
import { denialId, maxDenialsPerMinute } from './denials.ts'
import { releaseExpiredPayments } from './mandates.ts'
import { changeTransactions } from '../../../../testing/transactions.ts'

const minuteMs = 60_000

test('A denied proof is recorded like a denied evaluation', async () => {
  const ledger = await openMemoryLedger()
  const mandate = await ledger.mandate()
  const hold = ledger.newHold(mandate, '10.01')
  const denied = await issueProof(ledger.ledger, { hold })
  assert(denied.decision === 'denied')
  const [row, entry] = [ledger.rows(evaluations)[0], ledger.rows(entries)[0]]
  assert.deepEqual(
    [row?.subject, row?.id, row?.reasonCode, row?.reasonDetail, row?.failedCheck, row?.merchantDomain],
    ['proof', denialId(hold), denied.code, denied.detail, 8, 'shop.example'],
  )
  assert.deepEqual(
    [entry?.kind, entry?.id, entry?.mandateId, entry?.amountMicro, entry?.count],
    ['denied', denialId(hold), mandate.id, hold.amountMicro, 1],
  )
  assert.equal(ledger.row(mandates, mandate).heldMicro, 0n)
})

for (const closes of ['a denial', 'a proof', 'the sweep'] as const) {
  test(`Denials beyond the limit of a minute are counted in one entry, which ${closes} of a later minute writes`, async () => {
    const ledger = await openMemoryLedger()
    const mandate = await ledger.mandate()
    await Promise.all(Array.from({ length: maxDenialsPerMinute + 5 }, () => ledger.decide(mandate, '11.00')))
    assert.equal(ledger.rows(evaluations).length, maxDenialsPerMinute)
    assert.equal(ledger.rows(entries).length, maxDenialsPerMinute)
    const fromMs = ledger.clock.nowMs
    ledger.clock.nowMs += minuteMs
    if (closes === 'a denial') await ledger.decide(mandate, '11.00')
    else if (closes === 'a proof') await ledger.decide(mandate, '1.00')
    else {
      const call = { accountId: scope.accountId, mandateId: mandate.id, nowMs: ledger.clock.nowMs }
      await ledger.run(releaseExpiredPayments, { ...call, countId: ledger.nextId('txn') })
    }
    const counts = ledger.rows(entries).filter(({ kind }) => kind === 'more_denied')
    assert.deepEqual(
      counts.map(({ count, atMs, mandateId }) => ({ count, atMs, mandateId })),
      [{ count: 5, atMs: fromMs, mandateId: mandate.id }],
    )
    assert.equal(ledger.row(mandates, mandate).denials, closes === 'a denial' ? 1 : 0)
  })
}

test('A clock that was far ahead does not use up the limit after it is set back', async () => {
  const ledger = await openMemoryLedger()
  const mandate = await ledger.mandate({ expiresAtMs: ledger.clock.nowMs + 1e12 })
  ledger.clock.nowMs += 1e9
  for (let count = 0; count < maxDenialsPerMinute; count++) await ledger.decide(mandate, '11.00')
  ledger.clock.nowMs -= 1e9
  await ledger.decide(mandate, '11.00')
  assert.equal(ledger.rows(evaluations).length, maxDenialsPerMinute + 1)
})

test('A denial without a mandate of the scope is recorded, and limited for the whole scope', async () => {
  const ledger = await openMemoryLedger()
  const mandate = await ledger.mandate()
  for (let count = 0; count < maxDenialsPerMinute + 3; count++) {
    const hold = ledger.newHold({ ...mandate, id: `mandate_none_${count}` }, '1.00')
    const denied = await issueProof(ledger.ledger, { hold })
    assert.equal(denied.decision, 'denied')
  }
  const rows = ledger.rows(evaluations)
  assert.equal(rows.length, maxDenialsPerMinute)
  assert.deepEqual([rows[0]?.mandateId, rows[0]?.spentBeforeMicro], ['mandate_none_0', null])
  assert.ok(ledger.rows(entries).every(({ mandateId }) => mandateId === null))
  assert.equal(ledger.row(strayDenials, scope).denials, maxDenialsPerMinute + 3)
})

test('A mandate of the other environment counts no denial', async () => {
  const ledger = await openMemoryLedger()
  const mandate = await ledger.mandate()
  const hold = { ...ledger.newHold(mandate, '1.00'), environment: 'production' as const }
  await issueProof(ledger.ledger, { hold })
  assert.equal(ledger.row(mandates, mandate).denials, 0)
  assert.equal(ledger.row(strayDenials, { ...scope, environment: 'production' }).denials, 1)
})

test('A denial beyond the limit is counted once even if its answer is lost', async () => {
  const ledger = await openMemoryLedger({ losesAnswers: true })
  const mandate = await ledger.mandate()
  for (let count = 0; count < maxDenialsPerMinute + 5; count++) await ledger.decide(mandate, '11.00')
  assert.equal(ledger.rows(evaluations).length, maxDenialsPerMinute)
  assert.equal(ledger.row(mandates, mandate).denials, maxDenialsPerMinute + 5)
})

for (const [later, amount] of [
  ['a proof', '1.00'],
  ['a denial', '11.00'],
] as const) {
  test(`A denial beyond the limit is not counted again if its answer is lost until ${later} of the next minute`, async () => {
    let beforeRerun: (() => Promise<unknown>) | undefined
    let inner: Driver | undefined
    const ledger = await openMemoryLedger({
      changeDriver(driver) {
        inner = driver
        return changeTransactions(driver, (transaction) => ({
          async commit(changes) {
            await transaction.commit(changes)
            const meanwhile = beforeRerun
            beforeRerun = undefined
            if (!meanwhile) return
            await meanwhile()
            throw new OutcomeUnknownError('the answer is lost')
          },
        }))
      },
    })
    assert(inner)
    const stopwatch = { nowMs: () => 0, sleep: () => Promise.resolve() }
    const otherService = new Ledger({ driver: inner, stopwatch, random: () => 0 })
    const mandate = await ledger.mandate()
    for (let count = 0; count < maxDenialsPerMinute; count++) await ledger.decide(mandate, '11.00')
    const hold = ledger.newHold(mandate, '11.00')
    beforeRerun = () => {
      ledger.clock.nowMs += minuteMs
      return issueProof(otherService, { hold: ledger.newHold(mandate, amount) })
    }
    assert.equal((await issueProof(ledger.ledger, { hold })).decision, 'denied')
    const recorded = ledger.rows(entries).reduce((sum, { count }) => sum + count, 0)
    assert.equal(recorded, maxDenialsPerMinute + (later === 'a proof' ? 1 : 2))
  })
}

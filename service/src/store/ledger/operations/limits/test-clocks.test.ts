import assert from 'node:assert/strict'
import { test } from 'node:test'

import { maxClockSeconds } from '@purser/wire/limits/test-clock'

import { maxClockOffsetMs } from '../../../../domain/time/test-clock.ts'
import { hourMs, openMemoryLedger, scope, type MemoryLedger } from '../../../../../testing/memory-ledger.ts'
import { accounts, auditEvents, entries, payments } from '../../tables.ts'
import { releaseExpiredPayments } from '../mandates.ts'
import { issueProof } from '../payments.ts'
import { advanceClock, readClock } from './test-clocks.ts'

const dayMs = 24 * hourMs

test('The interface allows as much as the ledger', () => {
  assert.equal(maxClockOffsetMs, maxClockSeconds * 1_000)
})

test('Each advance counts once, also when its answer is lost, and none goes back', async () => {
  for (const losesAnswers of [false, true]) {
    const ledger = await openMemoryLedger({ losesAnswers })
    assert.equal(await ledger.run(readClock, scope), 0)
    assert.deepEqual(await advance(ledger, dayMs), { outcome: 'advanced', offsetMs: dayMs })
    assert.deepEqual(await advance(ledger, 1_000), { outcome: 'advanced', offsetMs: dayMs + 1_000 })
    for (const byMs of [0, -1_000, Number.NaN, 1e15]) {
      assert.deepEqual(await advance(ledger, byMs), { outcome: 'refused', code: 'test_clock_too_far' })
    }
    assert.equal(await ledger.run(readClock, scope), dayMs + 1_000)
    assert.equal(await ledger.run(readClock, { ...scope, environment: 'production' }), 0)
    const events = ledger.rows(auditEvents).filter(({ type }) => type === 'test_clock.advanced')
    assert.deepEqual(
      events.map(({ data }) => data['offset_seconds']),
      [86_400, 86_401],
    )
  }
})

test('Production has no test clock', async () => {
  const ledger = await openMemoryLedger()
  const live = { ...scope, environment: 'production' as const }
  const event = ledger.event('test_clock.advanced', scope.accountId, live)
  const outcome = await ledger.run(advanceClock, [live, dayMs, event])
  assert.deepEqual(outcome, { outcome: 'refused', code: 'not_found' })
  assert.equal(ledger.row(accounts, { id: scope.accountId }).clockOffsetMs, null)
})

test('The transaction of a capture decides by the test clock of the account that pays', async () => {
  const ledger = await openMemoryLedger()
  const mandate = await ledger.mandate({ expiresAtMs: ledger.clock.nowMs + 90 * dayMs })
  const before = await ledger.proof(mandate, '1.00')
  await advance(ledger, 2 * dayMs)
  // The machine’s clock would still let it through.
  assert.deepEqual(await ledger.capture(before), { outcome: 'failed', reason: 'proof_expired' })
  const nowMs = ledger.clock.nowMs + 2 * dayMs
  const after = { ...ledger.newHold(mandate, '1.00'), issuedAtMs: nowMs, expiresAtMs: nowMs + 360_000 }
  assert.deepEqual(await ledger.run(issueProof, { hold: after }), { decision: 'approved' })
  assert.equal((await ledger.capture(after)).outcome, 'captured')
  assert.equal(ledger.row(payments, after).capturedAtMs, nowMs)
  assert.deepEqual(
    ledger.rows(entries).map(({ atMs }) => atMs),
    [nowMs],
  )
  // A slow clock of another process: the window is judged as if no time had passed.
  ledger.clock.nowMs -= 60_000
  const slow = { ...ledger.newHold(mandate, '1.00'), issuedAtMs: nowMs, expiresAtMs: nowMs + 360_000 }
  assert.deepEqual(await ledger.run(issueProof, { hold: slow }), { decision: 'approved' })
  assert.equal((await ledger.capture(slow)).outcome, 'captured')
  const call = { accountId: scope.accountId, mandateId: mandate.id, nowMs: nowMs + 360_000 }
  assert.equal((await ledger.run(releaseExpiredPayments, call)).released, 1)
})

function advance(ledger: MemoryLedger, byMs: number) {
  const event = ledger.event('test_clock.advanced', scope.accountId)
  return ledger.run(advanceClock, [scope, byMs, event])
}

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { openMemoryLedger } from '../../../../testing/memory-ledger.ts'
import { parseAmount } from '../../../domain/money.ts'
import type { Driver } from '../driver.ts'
import { mandates, payments } from '../tables.ts'
import { releaseExpiredPayments } from './mandates.ts'
import { changeTransactions } from '../../../../testing/transactions.ts'

test('A proof gets the budget of one that expires in the same millisecond, however recently others were denied', async () => {
  const ledger = await openMemoryLedger()
  const mandate = await ledger.mandate({ maxTotalMicro: parseAmount('2.00') })
  const first = await ledger.proof(mandate, '1.00')
  ledger.clock.nowMs += 1
  const second = await ledger.proof(mandate, '1.00')
  ledger.clock.nowMs = first.expiresAtMs - 1
  assert.equal((await ledger.decide(mandate, '1.00')).decision, 'denied')
  for (const nowMs of [first.expiresAtMs, second.expiresAtMs]) {
    ledger.clock.nowMs = nowMs
    assert.equal((await ledger.decide(mandate, '1.00')).decision, 'approved')
    assert.equal((await ledger.decide(mandate, '1.00')).decision, 'denied')
  }
  assert.equal(ledger.row(mandates, mandate).heldMicro, parseAmount('2.00'))
})

test('Denied proofs read expired payments only if one can have expired, or many were paid', async () => {
  let ranges = 0
  const ledger = await openMemoryLedger({ changeDriver: (driver) => countingRanges(driver, () => ranges++) })
  const mandate = await ledger.mandate({ maxTotalMicro: parseAmount('40.00') })
  const held = []
  for (let made = 0; made < 40; made++) {
    ledger.clock.nowMs += 1
    held.push(await ledger.proof(mandate, '1.00'))
  }
  const [first, last] = [held[0]!, held.at(-1)!]
  for (const hold of held.slice(1, -1)) await ledger.capture(hold)
  const denyFor = async (fromMs: number, toMs: number) => {
    ranges = 0
    for (ledger.clock.nowMs = fromMs; ledger.clock.nowMs <= toMs; ledger.clock.nowMs++)
      assert.equal((await ledger.decide(mandate, '2.01')).decision, 'denied')
    return ranges
  }
  assert.equal(await denyFor(first.expiresAtMs - 200, first.expiresAtMs - 1), 0)
  // A check reads two ranges: expired payments, and the next to expire.
  const looks = (await denyFor(first.expiresAtMs, last.expiresAtMs + 200)) / 2
  assert.ok(looks <= 5, `${looks} looks`)
  assert.equal(ledger.row(mandates, mandate).openPayments, 0)
})

test('More payments than one step releases are all released when they expire in one millisecond', async () => {
  const ledger = await openMemoryLedger()
  const mandate = await ledger.mandate({ maxTotalMicro: parseAmount('1000000.00') })
  const holds = []
  for (let made = 0; made < 1_200; made++) holds.push(await ledger.proof(mandate, '1.00'))
  ledger.clock.nowMs += 1
  const later = await ledger.proof(mandate, '1.00')
  ledger.clock.nowMs = later.expiresAtMs
  const call = { accountId: mandate.accountId, mandateId: mandate.id, nowMs: ledger.clock.nowMs }
  let isMoreLeft = true
  for (let step = 0; isMoreLeft && step < 3; step++) {
    isMoreLeft = (await ledger.run(releaseExpiredPayments, call)).isMoreLeft
  }
  assert.equal(ledger.row(mandates, mandate).openPayments, 0)
  assert.ok(ledger.rows(payments).every(({ status }) => status === 'expired'))
})

function countingRanges(driver: Driver, onRange: () => void): Driver {
  return changeTransactions(driver, (transaction) => ({
    read: (reads, options) => {
      for (const { kind } of reads) if (kind === 'range') onRange()
      return transaction.read(reads, options)
    },
  }))
}

import assert from 'node:assert/strict'
import { test } from 'node:test'

import {
  addToTally,
  committedAt,
  exceeds,
  resetsAtMs,
  takeFromTally,
  takeTally,
  windowStartsAtMs,
  type Limit,
  type Tally,
} from './limits.ts'
import { parseAmount, type MicroUsdc } from './money.ts'

const startMs = Date.UTC(2026, 2, 28, 12)

function limitOf(over: Partial<Limit>): Limit {
  const maxAmountText = over.maxAmountText ?? null
  return {
    id: 'one',
    window: 'lifetime',
    maxAmountText,
    maxAmountMicro: maxAmountText === null ? null : String(parseAmount(maxAmountText)),
    maxCount: null,
    per: null,
    action: 'deny',
    ...over,
  }
}

function payment(amount: string) {
  return { amountMicro: parseAmount(amount), count: 1 }
}

test('A calendar limit counts the current period only', () => {
  const limit = limitOf({ window: { calendar: 'day', timeZone: 'Europe/Berlin' }, maxAmountText: '10.00' })
  const tally = addToTally({}, limit, startMs, payment('8.00'))
  assert.equal(exceeds(limit, committedAt(tally, limit, startMs), parseAmount('2.00')), undefined)
  assert.equal(exceeds(limit, committedAt(tally, limit, startMs), parseAmount('2.000001')), 'amount')
  const midnightMs = Date.parse('2026-03-28T23:00:00Z')
  assert.equal(committedAt(tally, limit, midnightMs - 1).count, 1)
  assert.equal(committedAt(tally, limit, midnightMs).count, 0)
  assert.equal(resetsAtMs(tally, limit, startMs, parseAmount('8.00')), midnightMs)
  const next = addToTally(tally, limit, midnightMs, payment('1.00'))
  assert.equal(next['one']?.length, 1)
})

test('Giving back a payment of an earlier period changes nothing', () => {
  const limit = limitOf({ window: { calendar: 'day', timeZone: 'UTC' }, maxCount: 3 })
  const tally = addToTally({}, limit, startMs, payment('8.00'))
  const next = addToTally(tally, limit, startMs + 86_400_000, payment('1.00'))
  assert.deepEqual(takeFromTally(next, limit, startMs, payment('8.00')), next)
  assert.deepEqual(takeTally(next, tally), next)
})

test('Giving back a payment makes room in its own period', () => {
  const limit = limitOf({ window: { rollingSeconds: 3_600 }, maxCount: 2 })
  let tally = addToTally({}, limit, startMs, payment('1.00'))
  tally = addToTally(tally, limit, startMs + 600_000, payment('1.00'))
  const nowMs = startMs + 700_000
  assert.equal(exceeds(limit, committedAt(tally, limit, nowMs), parseAmount('1.00')), 'count')
  tally = takeFromTally(tally, limit, startMs, payment('1.00'))
  assert.deepEqual(committedAt(tally, limit, nowMs), payment('1.00'))
})

test('A rolling window never admits more in any trailing window, and is at most one slice too strict', () => {
  for (const rollingSeconds of [60, 61, 3_599, 86_400, 2_678_400]) {
    const limit = limitOf({ window: { rollingSeconds }, maxCount: 5 })
    const windowMs = rollingSeconds * 1_000
    const booked: number[] = []
    let tally: Tally = {}
    let seed = rollingSeconds
    for (let atMs = startMs; booked.length < 150; atMs += 1 + (windowMs / 40) * (seed / 2 ** 31)) {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
      const nowMs = Math.floor(atMs)
      const isRefused = exceeds(limit, committedAt(tally, limit, nowMs), 1n as MicroUsdc) !== undefined
      const trailing = booked.filter((at) => at > nowMs - windowMs).length
      if (!isRefused) assert.ok(trailing < 5, `${trailing} in the window`)
      else {
        const longer = booked.filter((at) => at > nowMs - windowMs - windowMs / 24 - 1).length
        assert.ok(longer >= 5, `refused with ${longer} in the window and a slice`)
        const resetMs = resetsAtMs(tally, limit, nowMs, 1n as MicroUsdc)!
        assert.equal(exceeds(limit, committedAt(tally, limit, resetMs), 1n as MicroUsdc), undefined)
        assert.equal(exceeds(limit, committedAt(tally, limit, resetMs - 1), 1n as MicroUsdc), 'count')
        continue
      }
      tally = addToTally(tally, limit, nowMs, { amountMicro: 1n as MicroUsdc, count: 1 })
      booked.push(nowMs)
      assert.ok((tally['one']?.length ?? 0) <= 25)
    }
  }
})

test('A lifetime limit never resets', () => {
  const limit = limitOf({ maxCount: 1 })
  const tally = addToTally({}, limit, startMs, payment('1.00'))
  const laterMs = startMs + 1e12
  assert.equal(exceeds(limit, committedAt(tally, limit, laterMs), 1n as MicroUsdc), 'count')
  assert.equal(resetsAtMs(tally, limit, laterMs, 1n as MicroUsdc), null)
  assert.equal(windowStartsAtMs(limit.window, startMs), null)
})

test('The counted part of a rolling window starts with its first slice', () => {
  const starts = windowStartsAtMs({ rollingSeconds: 86_400 }, startMs + 1)
  assert.equal(starts, startMs - 86_400_000)
  assert.equal(windowStartsAtMs({ calendar: 'month', timeZone: 'UTC' }, startMs), Date.UTC(2026, 2, 1))
})

test('A limit never has room for an amount above its max', () => {
  for (const window of [{ rollingSeconds: 240 }, { calendar: 'day', timeZone: 'UTC' }] as const) {
    const limit = limitOf({ window, maxAmountText: '1.00' })
    const tally = addToTally({}, limit, startMs, payment('0.50'))
    assert.notEqual(resetsAtMs(tally, limit, startMs, parseAmount('1.00')), null)
    assert.equal(resetsAtMs(tally, limit, startMs, parseAmount('1.000001')), null)
  }
})

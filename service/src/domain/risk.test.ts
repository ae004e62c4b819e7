import assert from 'node:assert/strict'
import { test } from 'node:test'

import { riskFlags, type RiskFlag } from '@purser/wire/verify-agent'

import { parseAmount } from './money.ts'
import { assessRisk, noRisk, type RiskFacts } from './risk.ts'

const nowMs = Date.UTC(2026, 10, 20, 12)
const dayMs = 24 * 60 * 60_000

const quiet: RiskFacts = {
  maxTotalMicro: parseAmount('100.00'),
  spentMicro: parseAmount('0.00'),
  expiresAtMs: nowMs + 30 * dayMs,
  hasPaidThisSeller: true,
  deniedInLastHour: 0,
  transactionsInLastMinute: 0,
}

test('Without any signal, the score is 0 and there are no flags [verify-agent.risk]', () => {
  assert.deepEqual(assessRisk(quiet, nowMs), { score: 0, flags: [] })
  assert.deepEqual(noRisk, { score: 0, flags: [] })
})

interface Signal {
  readonly flag: RiskFlag
  readonly score: number
  /** The last facts without the flag. */
  readonly silent: Partial<RiskFacts>
  /** The first facts with the flag. */
  readonly speaks: Partial<RiskFacts>
}

const signals: readonly Signal[] = [
  {
    flag: 'budget_nearly_spent',
    score: 15,
    silent: { spentMicro: parseAmount('90.00') },
    speaks: { spentMicro: parseAmount('90.000001') },
  },
  {
    flag: 'expiry_near',
    score: 10,
    silent: { expiresAtMs: nowMs + dayMs },
    speaks: { expiresAtMs: nowMs + dayMs - 1 },
  },
  {
    flag: 'first_purchase_at_seller',
    score: 20,
    silent: { hasPaidThisSeller: true },
    speaks: { hasPaidThisSeller: false },
  },
  { flag: 'recent_denials', score: 30, silent: { deniedInLastHour: 2 }, speaks: { deniedInLastHour: 3 } },
  {
    flag: 'unusual_rate',
    score: 25,
    silent: { transactionsInLastMinute: 29 },
    speaks: { transactionsInLastMinute: 30 },
  },
]
for (const { flag, score, silent, speaks } of signals) {
  test(`${flag} alone scores ${score}, and only from its threshold on [verify-agent.risk]`, () => {
    assert.deepEqual(assessRisk({ ...quiet, ...silent }, nowMs), { score: 0, flags: [] })
    assert.deepEqual(assessRisk({ ...quiet, ...speaks }, nowMs), { score, flags: [flag] })
  })
}

test('Every documented flag has a signal, and all together score 100 [verify-agent.risk]', () => {
  assert.deepEqual(signals.map(({ flag }) => flag).toSorted(), [...riskFlags].toSorted())
  const all = Object.assign({}, quiet, ...signals.map(({ speaks }) => speaks)) as RiskFacts
  const { score, flags } = assessRisk(all, nowMs)
  assert.equal(score, 100)
  assert.deepEqual(flags.toSorted(), [...riskFlags].toSorted())
})

test('Any two signals add up [verify-agent.risk]', () => {
  for (const one of signals) {
    for (const other of signals.filter((signal) => signal !== one)) {
      const { score, flags } = assessRisk({ ...quiet, ...one.speaks, ...other.speaks }, nowMs)
      assert.equal(score, one.score + other.score)
      assert.deepEqual(flags.toSorted(), [one.flag, other.flag].toSorted())
    }
  }
})

test('A budget of zero is not nearly spent, and an expiry in the past is near [verify-agent.risk]', () => {
  assert.deepEqual(assessRisk({ ...quiet, maxTotalMicro: parseAmount('0') }, nowMs).flags, [])
  assert.deepEqual(assessRisk({ ...quiet, expiresAtMs: nowMs - dayMs }, nowMs).flags, ['expiry_near'])
})

test('The largest budget is evaluated to the millionth [verify-agent.risk]', () => {
  const maxTotalMicro = parseAmount('999999999999.999990')
  const tenth = parseAmount('99999999999.999999')
  const spent = (leftMicro: bigint) => ({ spentMicro: (maxTotalMicro - leftMicro) as typeof maxTotalMicro })
  assert.deepEqual(assessRisk({ ...quiet, maxTotalMicro, ...spent(tenth) }, nowMs).flags, [])
  assert.deepEqual(assessRisk({ ...quiet, maxTotalMicro, ...spent(tenth - 1n) }, nowMs).flags, [
    'budget_nearly_spent',
  ])
})

test('Reports do not share their list of flags [verify-agent.risk]', () => {
  assessRisk(quiet, nowMs).flags.push('unusual_rate')
  assert.deepEqual(assessRisk(quiet, nowMs).flags, [])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { NearBudget, Overview } from '@purser/client'

import { judge } from './judgement.ts'

const at = '2026-11-20T12:00:00Z'
const quiet: Overview = {
  at,
  day_starts_at: at,
  spent_today: '0.00',
  paid_today: 0,
  remaining: '0.00',
  active_mandates: 0,
  open_holds: { count: 0, amount: '0.00' },
  authorized: { count: 0, amount: '0.00' },
  last_day_starts_at: at,
  denied_last_day: 0,
  hours: [],
  nearest_budgets: [],
  denial_reasons: [],
  stopped_mandates: 0,
  frozen_budgets: 0,
  full_limits: { mandates: 0, budgets: 0, named: [] },
  checklist: { agent: true, mandate: true, seller: true, proof: true, paid: true },
}
const budget: NearBudget = {
  mandate_id: 'mandate_1',
  agent_id: 'agent_1',
  agent_name: 'ada',
  purpose: 'Papers',
  max_spend_total: '10.00',
  spent_total: '5.00',
  held_total: '0.00',
  authorized_total: '0.00',
  remaining_budget: '5.00',
  spent_last_day: '1.00',
  exhausted_at: '2026-11-25T12:00:00Z',
  expires_at: '2099-01-01T00:00:00Z',
}
const ending = { ...budget, exhausted_at: '2026-11-21T11:00:00Z' }
const gone = { ...budget, remaining_budget: '0.00', exhausted_at: null }
const denials: Partial<Overview> = {
  denied_last_day: 30,
  denial_reasons: [
    { reason_code: 'total_budget_exceeded', denied_count: 20 },
    { reason_code: 'mandate_expired', denied_count: 10 },
  ],
}

test('The overview says in one sentence whether anything is wrong, the worst first', () => {
  const rows: [Partial<Overview>, string][] = [
    [{}, 'No problems.'],
    [{ nearest_budgets: [budget] }, 'No problems.'],
    [denials, '30 payments denied in the last 24 hours. Most often: over the total budget.'],
    [{ denied_last_day: 2 }, '2 more proofs refused in the last 24 hours.'],
    [{ ...denials, nearest_budgets: [ending, budget] }, '1 budget will be used up within a day.'],
    [{ nearest_budgets: [gone, budget] }, '1 budget is used up.'],
    [
      { ...denials, nearest_budgets: [gone], frozen_budgets: 1 },
      '1 shared budget is frozen: no new payment is made below it.',
    ],
    [
      { ...denials, full_limits: { mandates: 1, budgets: 0, named: [] } },
      '1 mandate has a full limit over time, which admits no payment until it resets.',
    ],
    [
      { full_limits: { mandates: 2, budgets: 1, named: [] } },
      '2 mandates and 1 shared budget have a full limit over time, which admits no payment until it resets.',
    ],
    [{ frozen_budgets: 2 }, '2 shared budgets are frozen: no new payment is made below them.'],
    [{ nearest_budgets: [gone, gone, ending] }, '2 budgets are used up, and 1 more will be within a day.'],
    [
      // One that is further from its limit may end sooner.
      { active_mandates: 6, nearest_budgets: [ending, budget, budget, budget, budget] },
      'At least 1 budget will be used up within a day.',
    ],
    [{ active_mandates: 6, nearest_budgets: [gone, budget, budget, budget, budget] }, '1 budget is used up.'],
    [
      { active_mandates: 5, nearest_budgets: Array.from({ length: 5 }, () => ending) },
      '5 budgets will be used up within a day.',
    ],
    [
      { active_mandates: 6, nearest_budgets: Array.from({ length: 5 }, () => ending) },
      'At least 5 budgets will be used up within a day.',
    ],
  ]
  for (const [changes, sentence] of rows) {
    assert.equal(judge({ ...quiet, ...changes }, true).sentence, sentence)
  }
})

test('Other problems follow the worst, and proofs that no list contains are counted separately', () => {
  assert.match(judge({ ...quiet, ...denials, nearest_budgets: [ending] }, true).more, /^30 payments denied/)
  const { sentence, more } = judge({ ...quiet, ...denials, denied_last_day: 32 }, true)
  assert.match(sentence, /^30 payments denied/)
  assert.equal(more, '2 more proofs refused in the last 24 hours.')
})

test('A new account without activity is not told that all is well', () => {
  assert.equal(judge(quiet, false).sentence, 'Nothing is set up yet.')
  assert.equal(judge({ ...quiet, ...denials }, false).gravity, 'worry')
})

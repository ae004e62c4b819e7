import assert from 'node:assert/strict'
import { test } from 'node:test'

import { createTally } from './tally.ts'

const scope = { accountId: 'acct_a', environment: 'sandbox' } as const
const failed = { kind: 'verification', reason: 'proof_expired' } as const

test('Refusals are counted by what was refused, in each quarter of an hour, until they are taken [decision.112]', () => {
  let nowMs = 0
  const tally = createTally(() => nowMs)
  for (nowMs of [0, 899_999, 900_000]) tally.countRefusal(scope, { ...failed, subject: 'api.example.com' })
  tally.countRefusal({ ...scope, accountId: 'acct_b' }, { ...failed, subject: 'api.example.com' })
  const taken = tally
    .take()
    ?.refusals.map(({ accountId, startsAtMs, count }) => [accountId, startsAtMs, count])
  assert.deepEqual(taken, [
    ['acct_a', 0, 2],
    ['acct_a', 900_000, 1],
    ['acct_b', 900_000, 1],
  ])
  assert.equal(tally.take(), undefined)
})

test('What is too long to be the domain of a seller takes no room among the counts [decision.112]', () => {
  const tally = createTally(() => 0)
  const longest = [60, 60, 60, 60, 9].map((length) => 'a'.repeat(length)).join('.')
  assert.equal(longest.length, 253)
  for (const subject of [longest, `${longest}a`, 'a'.repeat(60_000)]) {
    tally.countRefusal(scope, { ...failed, subject })
  }
  assert.deepEqual(
    tally.take()?.refusals.map(({ subject }) => subject),
    [longest],
  )
})

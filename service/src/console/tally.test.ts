import assert from 'node:assert/strict'
import { test } from 'node:test'

import { createTally } from './tally.ts'

const scope = { accountId: 'acct_a', environment: 'sandbox' } as const
const failed = { reason: 'proof_expired' } as const

test('Refusals are counted by subject, reason and quarter of an hour until they are taken', () => {
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

test('An account that has used up its counters does not affect other accounts', () => {
  const tally = createTally(() => 0)
  for (let number = 0; number < 10_000; number++) {
    tally.countRefusal(scope, { ...failed, subject: `shop-${number}.example.com` })
    tally.countUse({ ...scope, keyId: `key_${number}`, role: 'owner', agentId: null })
  }
  tally.countRefusal({ ...scope, accountId: 'acct_b' }, { ...failed, subject: 'api.example.com' })
  tally.countUse({ ...scope, accountId: 'acct_b', keyId: 'key_b', role: 'owner', agentId: null })
  const { refusals = [], keyUses = [] } = tally.take() ?? {}
  assert.deepEqual(
    refusals.filter(({ accountId }) => accountId === 'acct_b').map(({ subject, count }) => [subject, count]),
    [['api.example.com', 1]],
  )
  assert.deepEqual(
    keyUses.filter(({ accountId }) => accountId === 'acct_b').map(({ keyId }) => keyId),
    ['key_b'],
  )
  assert.ok(refusals.length < 2_000 && keyUses.length < 2_000, 'what one account counts is bounded')
})

test('Existing counters keep counting when no new one is left', () => {
  const tally = createTally(() => 0)
  for (let number = 0; number < 10_000; number++) {
    tally.countRefusal(scope, { ...failed, subject: 'first.example.com' })
    tally.countRefusal(scope, { ...failed, subject: `shop-${number}.example.com` })
  }
  assert.equal(tally.take()?.refusals[0]?.count, 10_000)
})

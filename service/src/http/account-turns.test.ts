import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { test } from 'node:test'

import { AccountTurns } from './account-turns.ts'

test('The tasks of an account are bounded: more wait in order, and beyond that they are refused', async () => {
  const turns = new AccountTurns({ maxInProgress: 2, maxWaiting: 3 })
  const started: number[] = []
  let inProgress = 0
  const results = Array.from({ length: 6 }, (_, number) =>
    turns.run('acc_first', async () => {
      started.push(number)
      inProgress += 1
      assert.ok(inProgress <= 2)
      await nextTurn()
      inProgress -= 1
      return number
    }),
  )
  assert.deepEqual(await Promise.all(results), [0, 1, 2, 3, 4, undefined])
  assert.deepEqual(started, [0, 1, 2, 3, 4])
})

test('A task of another account runs at once, and a failed task frees its slot', async () => {
  const turns = new AccountTurns({ maxInProgress: 1, maxWaiting: 1 })
  const failed = turns.run('acc_first', () => Promise.reject(new Error('broken')))
  const waiting = turns.run('acc_first', () => 'second')
  assert.equal(await turns.run('acc_other', () => 'other'), 'other')
  await assert.rejects(failed, /broken/)
  assert.equal(await waiting, 'second')
  await nextTurn()
  assert.equal(await turns.run('acc_first', () => 'third'), 'third')
})

test('Synchronous tasks still let other requests run between them', async () => {
  const turns = new AccountTurns({ maxInProgress: 1, maxWaiting: 10 })
  const seen: string[] = []
  setImmediate(() => seen.push('other'))
  await Promise.all(['first', 'second', 'third'].map((name) => turns.run('acc_first', () => seen.push(name))))
  assert.deepEqual(
    seen.filter((name) => name !== 'other'),
    ['first', 'second', 'third'],
  )
  assert.ok(seen.indexOf('other') < seen.indexOf('third'))
})

test('An account pauses after a task as long as the limits say, even if nothing waits, and others do not', async () => {
  const turns = new AccountTurns({ maxInProgress: 1, maxWaiting: 0, pauseMs: () => 60_000 })
  assert.equal(await turns.run('acc_first', () => 'first'), 'first')
  await nextTurn()
  assert.equal(await turns.run('acc_first', () => 'second'), undefined)
  assert.equal(await turns.run('acc_other', () => 'other'), 'other')
  // A task that fails has waited for something else.
  await assert.rejects(turns.run('acc_third', () => Promise.reject(new Error('broken'))))
  await nextTurn()
  assert.equal(await turns.run('acc_third', () => 'again'), 'again')
})

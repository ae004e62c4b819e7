import assert from 'node:assert/strict'
import { test } from 'node:test'

import { findComplaints } from '../faults/checker.ts'
import { plantedBugs } from './planted-bugs.ts'
import { shrink } from './shrink.ts'
import { simulate } from './simulation.ts'

test('No history of the ledger has a fault, whatever fails around it', async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const evidence = await simulate({
      seed,
      faultPercent: seed % 2 === 0 ? 20 : 5,
      minOperations: 200,
      openMs: 0,
    })
    assert.ok(evidence.operations >= 200, `seed ${seed}: ${evidence.operations} operations`)
    assert.deepEqual(findComplaints(evidence), [], `seed ${seed}`)
  }
})

test('The same seed gives the same history', async () => {
  const [first, second] = [
    await simulate({ seed: 7, openMs: 10_000 }),
    await simulate({ seed: 7, openMs: 10_000 }),
  ]
  assert.deepEqual(first, second)
})

/** How many seeds a bug may take to be found. */
const maxSeeds = 300

test('The simulator finds every planted bug', async (context) => {
  for (const { bug, firstSeed = 1, ...planted } of plantedBugs) {
    await context.test(bug, async () => {
      for (let seed = firstSeed; seed < firstSeed + maxSeeds; seed++) {
        const evidence = await simulate({ seed, openMs: 0, minOperations: 200, maxMs: 1_200_000, ...planted })
        if (findComplaints(evidence).length > 0) return
      }
      assert.fail(`not found with ${maxSeeds} seeds`)
    })
  }
})

test('A failing history is reduced to a shorter failing one', async () => {
  const [{ bug, ...planted } = assert.fail()] = plantedBugs
  const options = { seed: 1, openMs: 0, minOperations: 200, ...planted }
  const { evidence } = await shrink(options, { maxMs: 60_000 })
  assert.ok(findComplaints(evidence).length > 0, bug)
  assert.ok(evidence.calls.length < 50, `${evidence.calls.length} calls`)
})

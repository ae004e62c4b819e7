import assert from 'node:assert/strict'
import { test } from 'node:test'

import { findComplaints } from './checker.ts'
import { complaintKinds } from './complaint.ts'
import { runModel } from './model-run.ts'
import { plantedBugs } from './planted-bugs.ts'
import { Spoiled } from './spoiled.ts'

const seeds = [1, 2, 3, 4]

test('The checker accepts a correct ledger, whatever is lost on the network', async () => {
  for (const seed of seeds) {
    const evidence = await runModel(seed)
    assert.ok(evidence.calls.length > 2_000, 'clients are busy')
    assert.ok(new Set(evidence.content.holds.map(({ status }) => status)).size >= 3)
    assert.deepEqual(findComplaints(evidence), [], `seed ${seed}`)
    const governed = await runModel(seed, { hasOperator: true })
    assert.deepEqual(findComplaints(governed), [], `seed ${seed}, with stops of all mandates`)
  }
})

test('The checker catches every planted bug and names it', async (context) => {
  const [evidence, governed] = [await runModel(1), await runModel(1, { hasOperator: true })]
  for (const { bug, complaint, plant, isGoverned = false } of plantedBugs) {
    await context.test(bug, () => {
      const spoiled = new Spoiled(isGoverned ? governed : evidence)
      plant(spoiled)
      const complaints = findComplaints(spoiled.evidence)
      assert.ok(
        complaints.some(({ kind }) => kind === complaint),
        `${complaint}: ${JSON.stringify(complaints.slice(0, 5))}`,
      )
    })
  }
})

test('Every complaint of the checker is triggered by a planted bug', () => {
  const proven = plantedBugs.map(({ complaint }) => complaint)
  assert.deepEqual(new Set(proven), new Set(complaintKinds))
})

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { openMemoryLedger } from '../../../testing/memory-ledger.ts'
import { Rollup } from './rollup.ts'
import { activity, activityParts } from './tables.ts'

test('A few payments wait for more before they are added to the sums', async () => {
  const setup = await openMemoryLedger()
  const { ledger, rows } = setup
  const findParts = async () =>
    rows(activityParts).map(({ accountId, id, parts }) => ({
      accountId,
      id,
      length: JSON.stringify(parts).length,
    }))
  const rollup = new Rollup({ ledger, findParts })
  const mandate = await setup.mandate()
  await setup.capture(await setup.proof(mandate, '1.00'))
  const [one] = await findParts()
  assert(one)

  assert.equal(await rollup.addSome(one.length + 1), false)
  assert.deepEqual([rows(activityParts).length, rows(activity).length], [1, 0])
  await rollup.addSome(one.length)
  assert.equal(rows(activityParts).length, 0)
  assert.ok(rows(activity).length > 0)
})

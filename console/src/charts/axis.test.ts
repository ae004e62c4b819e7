import assert from 'node:assert/strict'
import { test } from 'node:test'

import { axisRoom, tickText } from './axis.ts'

test('The labels of an axis are short and exact, and are not clipped', () => {
  assert.deepEqual([0, 4, 250, 1_000, 1_500, 2_500_000, 0.5, 0.0000005, 0.000001].map(tickText), [
    '0',
    '4',
    '250',
    '1K',
    '1.5K',
    '2.5M',
    '0.5',
    '0.0000005',
    '0.000001',
  ])
  assert.equal(axisRoom(['0', '4']), 34)
  assert.ok(axisRoom(['0.0000005']) >= 9 * 7 + 8)
})

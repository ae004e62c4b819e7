import assert from 'node:assert/strict'
import { test } from 'node:test'

import { readSpecMap } from './spec-map.ts'

test('Every rule of the interface is named by a test', () => {
  assert.deepEqual(readSpecMap().untested, [])
})

test('No test names a rule that does not exist', () => {
  assert.deepEqual(readSpecMap().unknown, [])
})

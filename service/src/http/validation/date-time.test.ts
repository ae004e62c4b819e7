import assert from 'node:assert/strict'
import { test } from 'node:test'

import { dateTimeReader } from './date-time.ts'
import { Refusal } from './refusal.ts'

test('a timestamp is passed on unchanged', () => {
  assert.equal(dateTimeReader('2099-01-01 00:00+0200'), '2099-01-01 00:00+0200')
  assert.equal(dateTimeReader(1_700_000_000), 1_700_000_000)
  assert.ok(dateTimeReader('soon') instanceof Refusal)
})

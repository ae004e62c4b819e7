import assert from 'node:assert/strict'
import { constants } from 'node:os'
import { test } from 'node:test'

import { DatabaseError } from 'pg'

import { breaksConnection } from './errors.ts'
import { withRetries } from './retries.ts'

test('A connection is discarded after a network error or an error in this process', () => {
  const codes = [...Object.keys(constants.errno), 'ERR_STREAM_DESTROYED', undefined]
  assert.ok(codes.includes('EPIPE'))
  for (const code of codes) {
    const error = Object.assign(new Error('write failed'), code === undefined ? {} : { code })
    assert.equal(breaksConnection(error), true, code)
  }
})

test('A connection is kept after an error of a statement, and discarded when the server shuts down', () => {
  const kept = ['22P02', '22012', '23505', '23514', '40001', '40P01', '42P01', '42883', '55P03', '25P02']
  for (const code of kept) assert.equal(breaksConnection(databaseError(code)), false, code)
  for (const code of ['57P01', '57P02', '57P03', '57014', '25P04', '26000', '0A000']) {
    assert.equal(breaksConnection(databaseError(code)), true, code)
  }
})

test('A read is retried if another attempt may succeed, but not while the server has no space', async () => {
  for (const [code, attempts] of [
    ['40001', 3],
    ['08006', 3],
    ['57P01', 3],
    ['53300', 3],
    ['53100', 1],
    ['58030', 1],
    ['XX000', 1],
    ['22P02', 1],
  ] as const) {
    let made = 0
    const read = withRetries({ deadlineMs: performance.now() + 1_000, random: () => 0 }, async () => {
      if (++made < 3) throw databaseError(code)
      return 'read'
    })
    const outcome = await read.catch((error: Error) => error.name)
    const failed = code === '22P02' ? 'error' : 'StoreUnavailableError'
    assert.deepEqual([outcome, made], [attempts === 3 ? 'read' : failed, attempts], code)
  }
})

function databaseError(code: string): DatabaseError {
  return Object.assign(new DatabaseError('the server refuses', 20, 'error'), { code })
}

import assert from 'node:assert/strict'
import { constants } from 'node:os'
import { test } from 'node:test'

import { DatabaseError } from 'pg'

import { breaksConnection, leavesOpen } from './retries.ts'

test('After every error of the network or of this process, what was sent may be done [decision.61]', () => {
  const codes = [...Object.keys(constants.errno), 'ERR_STREAM_DESTROYED', undefined]
  assert.ok(codes.includes('EPIPE'))
  for (const code of codes) {
    const error = Object.assign(new Error('write failed'), code === undefined ? {} : { code })
    assert.deepEqual([leavesOpen(error), breaksConnection(error)], [true, true], code)
  }
})

test('Of what the server says, only an error that ends a transaction in good order proves a rollback [decision.61]', () => {
  const proofs = ['22P02', '22012', '23505', '23514', '40001', '40P01', '42P01', '42883', '55P03', '25P02']
  for (const code of proofs)
    assert.deepEqual([leavesOpen(said(code)), breaksConnection(said(code))], [false, false], code)
  const open = [
    '08006',
    '08P01',
    '40003',
    '53100',
    '53200',
    '53300',
    '57P01',
    '57P02',
    '57P03',
    '58030',
    'F0000',
    'XX000',
  ]
  for (const code of [...open, '57014', '25P04']) assert.equal(leavesOpen(said(code)), true, code)
})

function said(code: string): DatabaseError {
  return Object.assign(new DatabaseError('the server says no', 20, 'error'), { code })
}

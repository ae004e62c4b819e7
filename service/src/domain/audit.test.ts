import assert from 'node:assert/strict'
import { test } from 'node:test'

import { auditEvent, systemActor } from './audit.ts'
import type { Caller } from './records.ts'

const caller: Caller = {
  accountId: 'acct_merchant',
  environment: 'sandbox',
  keyId: 'key_1',
  role: 'merchant',
  agentId: null,
}
const details = {
  id: 'event_1',
  type: 'payment.verified',
  subjectId: 'txn_1',
  data: { amount: '1.00' },
  atMs: 1_700_000_000_000,
} as const

test('An event has its actor, subject, data and time, and belongs to the scope that it changed [events.1]', () => {
  const payer = { accountId: 'acct_payer', environment: 'sandbox' } as const
  assert.deepEqual(auditEvent(caller, payer, details), {
    accountId: 'acct_payer',
    environment: 'sandbox',
    id: 'event_1',
    type: 'payment.verified',
    actor: 'key_1',
    subjectId: 'txn_1',
    data: { amount: '1.00' },
    createdAtMs: 1_700_000_000_000,
  })
})

test('Without a key, the actor is the service itself', () => {
  assert.equal(auditEvent(systemActor, caller, details).actor, 'system')
})

test('Only the account and environment of a scope go into the event', () => {
  assert.deepEqual(Object.keys(auditEvent(caller, caller, details)).toSorted(), [
    'accountId',
    'actor',
    'createdAtMs',
    'data',
    'environment',
    'id',
    'subjectId',
    'type',
  ])
})

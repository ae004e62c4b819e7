import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Settled } from '../group-commit.ts'
import { StoreUnavailableError, type Capture } from '../store.ts'
import type { Call } from './ledger.ts'
import { packCall, packReply, unpackCall, unpackReply } from './thread-messages.ts'

const capture: Capture = {
  caller: { accountId: 'acct_1', environment: 'sandbox', keyId: 'key_1', role: 'merchant', agentId: null },
  nonce: '01934b80-0000-7000-8000-000000000000',
  agentId: 'agent_1',
  mandateId: 'mandate_1',
  amountText: '1.00',
  currency: 'USDC',
  resourceUrl: 'https://api.example.com/data',
  merchantDomain: 'api.example.com',
  idempotencyKey: 'order-1',
  transactionId: 'txn_1',
  nowMs: 1_795_000_000_000,
}

const calls: readonly Call[] = [
  { act: 'capture', input: [capture] },
  { act: 'capture', input: [{ ...capture, idempotencyKey: null }] },
  { act: 'releaseExpiredHolds', input: [1_795_000_000_000, 500] },
]

const outcomes: readonly Settled<unknown>[] = [
  { value: { outcome: 'captured', transactionId: 'txn_1' } },
  { value: { outcome: 'replayed', transactionId: 'txn_1' } },
  { value: { outcome: 'failed', reason: 'nonce_reused' } },
  { value: { outcome: 'refused', code: 'seller_not_yours' } },
  { value: 'created' },
  { value: 'txn_1' },
  { value: 500 },
  { value: undefined },
  { value: null },
  { error: new TypeError('a bug') },
]

test('Calls and outcomes that cross threads are on the other side what they were on this one [decision.9]', () => {
  for (const call of calls) assert.deepEqual(unpackCall(structuredClone(packCall(call))), call)
  for (const settled of outcomes) {
    assert.deepEqual(unpackReply(structuredClone(packReply(settled))), settled)
  }
})

test('A store that is unavailable is that on the other side too, and says when to try again [decision.27]', () => {
  const failure = new StoreUnavailableError('SQLite answers SQLITE_FULL', { retryAfterSeconds: 5 })
  const settled = unpackReply(structuredClone(packReply({ error: failure })))
  assert('error' in settled && settled.error instanceof StoreUnavailableError)
  assert.equal(settled.error.message, failure.message)
  assert.equal(settled.error.retryAfterSeconds, 5)
})

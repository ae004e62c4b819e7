import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { MicroUsdc } from '../../domain/money.ts'
import type { Hold } from '../../domain/records.ts'
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

const payment = {
  accountId: 'acct_1',
  environment: 'sandbox',
  agentId: 'agent_1',
  mandateId: 'mandate_1',
  amountText: '1.00',
  amountMicro: 1_000_000n as MicroUsdc,
  currency: 'USDC',
  resourceUrl: 'https://api.example.com/data',
} as const

const hold: Hold = {
  ...payment,
  nonce: capture.nonce,
  status: 'open',
  issuedAtMs: 1_795_000_000_000,
  expiresAtMs: 1_795_000_360_000,
  transactionId: null,
}

const calls: readonly Call[] = [
  { act: 'issueProof', input: [hold] },
  { act: 'issueProof', input: [hold, { callerId: 'key_1', idempotencyKey: 'order-1' }] },
  {
    act: 'evaluate',
    input: [{ ...payment, id: 'txn_1', merchantDomain: 'api.example.com', category: null, createdAtMs: 1 }],
  },
  { act: 'capture', input: [capture] },
  { act: 'capture', input: [{ ...capture, idempotencyKey: null }] },
  { act: 'releaseExpiredHolds', input: [1_795_000_000_000, 500] },
]

const outcomes: readonly Settled<unknown>[] = [
  { value: { outcome: 'captured', transactionId: 'txn_1' } },
  { value: { decision: 'approved' } },
  { value: { decision: 'denied', code: 'mandate_expired', detail: 'over', check: 5 } },
  { value: true },
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

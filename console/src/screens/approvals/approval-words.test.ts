import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { ApprovalRequest } from '@purser/client'

import {
  obstaclesOf,
  outcomeOf,
  progressOf,
  reasonToAsk,
  subjectOf,
  timeLeftInWords,
} from './approval-words.ts'

const payment: ApprovalRequest = {
  id: 'approval_1',
  kind: 'payment',
  status: 'pending',
  agent_id: 'agent_1',
  mandate_id: 'mandate_1',
  amount: '1200.5',
  resource_url: 'https://api.example.com/papers?id=1',
  reason: { code: 'above', limit_id: null, message: null },
  change: null,
  mandate_version: 1,
  requested_by: 'key_agent',
  requested_at: '2026-11-20T12:00:00.000Z',
  expires_at: '2026-11-20T12:15:00.000Z',
  required: 1,
  decisions: [],
  nonce: null,
  url: 'https://purser.example.com/console/approvals/approval_1',
}
const increase: ApprovalRequest = {
  ...payment,
  kind: 'increase',
  amount: null,
  resource_url: null,
  reason: { code: 'increase', limit_id: null, message: 'The reports cost more.' },
  change: { max_spend_total: '300.00' },
}
const decision: ApprovalRequest['decisions'][number] = {
  actor: 'key_owner',
  decision: 'approved',
  note: null,
  at: '',
}
const approvedOnce: ApprovalRequest = { ...payment, decisions: [decision] }
const approvedInSession: ApprovalRequest = { ...payment, decisions: [{ ...decision, actor: 'session_0' }] }
const owner = { key_id: 'key_owner', role: 'owner' } as const
const mandate = { version: 1, status: 'active' } as const

test('A request says what is requested, and why a person has to decide', () => {
  assert.equal(subjectOf(payment), '1,200.50 USDC at api.example.com')
  assert.equal(subjectOf(increase), 'More budget')
  const approval = { above: '10.00', first_purchase_at_seller: false, required: 1 }
  assert.equal(reasonToAsk(payment, { approval, limits: [] }), 'More than 10.00 USDC')
  const raised = { ...approval, above: '5000.00' }
  assert.equal(
    reasonToAsk(payment, { approval: raised, limits: [] }),
    'Above the threshold for approval',
    'the mandate has changed since',
  )
  assert.equal(reasonToAsk(payment, undefined), 'Above the threshold for approval')
  const first = { ...payment, reason: { ...payment.reason, code: 'first_purchase_at_seller' as const } }
  assert.equal(reasonToAsk(first, undefined), 'First purchase from api.example.com under this mandate')
})

test('Owners and approvers can decide, but not on their own requests, and not twice', () => {
  const free = { toApprove: undefined, toDeny: undefined }
  assert.deepEqual(obstaclesOf(payment, owner, mandate), free)
  assert.deepEqual(obstaclesOf(payment, { ...owner, role: 'approver' }, undefined), free)
  for (const [request, session, word] of [
    [{ ...payment, requested_by: 'key_owner' }, owner, /yourself/],
    [{ ...payment, requested_by: 'session_1' }, { key_id: null, role: 'owner' }, /yourself/],
    // Signed in anew, with an identity provider: the same person.
    [{ ...payment, requested_by: 'session_0' }, { key_id: null, role: 'owner' }, /yourself/],
  ] as const) {
    const { toApprove, toDeny } = obstaclesOf(request, session, mandate)
    assert.match(toApprove ?? '', word)
    assert.equal(toDeny, toApprove)
  }
  for (const [request, session, now, word] of [
    [approvedOnce, owner, mandate, /Another person/],
    [approvedInSession, { key_id: null, role: 'owner' }, mandate, /Another person/],
    [increase, { ...owner, role: 'approver' }, mandate, /Only an owner/],
    [increase, owner, { ...mandate, version: 2 }, /changed after/],
    [payment, owner, { ...mandate, status: 'revoked' }, /revoked/],
  ] as const) {
    const { toApprove, toDeny } = obstaclesOf(request, session, now)
    assert.match(toApprove ?? '', word)
    assert.equal(toDeny, undefined)
  }
  assert.deepEqual(obstaclesOf(increase, owner, mandate), free)
  assert.deepEqual(obstaclesOf(approvedInSession, owner, mandate), free)
  assert.deepEqual(obstaclesOf(approvedOnce, { key_id: null, role: 'owner' }, mandate), free)
  assert.deepEqual(obstaclesOf(payment, owner, { ...mandate, version: 2 }), free)
})

test('Two approvals are counted; one is not', () => {
  assert.equal(progressOf(payment), '')
  assert.equal(progressOf({ ...payment, required: 2 }), '0 of 2 approvals')
  assert.equal(progressOf({ ...approvedOnce, required: 2 }), '1 of 2 approvals')
})

test('The remaining time is rounded down, so that nobody relies on a minute that has passed', () => {
  for (const [leftMs, words] of [
    [0, 'expired'],
    [-1, 'expired'],
    [NaN, 'expired'],
    [59_000, '59 s left'],
    [899_999, '14 min left'],
    [3 * 3_600_000 - 1, '2 h left'],
    [7 * 86_400_000 - 1, '6 days left'],
  ] as const) {
    assert.equal(timeLeftInWords(leftMs), words)
  }
})

test('Each outcome is a sentence, and a pending request has none', () => {
  assert.equal(outcomeOf(payment), '')
  assert.match(outcomeOf({ ...payment, status: 'approved' }), /can pay once/)
  assert.match(outcomeOf({ ...increase, status: 'approved' }), /new terms/)
  assert.match(outcomeOf({ ...payment, status: 'denied' }), /refused until it expires/)
  assert.match(outcomeOf({ ...increase, status: 'denied' }), /may ask again/)
  assert.match(outcomeOf({ ...payment, status: 'expired' }), /ask again/)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { openMemoryLedger, type MemoryLedger } from '../../../../testing/memory-ledger.ts'
import type { Limit } from '../../../domain/limits.ts'
import { parseAmount } from '../../../domain/money.ts'
import type { Mandate } from '../../../domain/records.ts'
import { approvals, auditEvents, mandates, subjectUsage } from '../tables.ts'
import { decideApproval } from './approval-decisions.ts'
import { evaluate } from './evaluations.ts'
import { readMandateUsage } from './limits/limit-usage.ts'
import { createMandate, moveMandate, releaseExpiredPayments } from './mandates.ts'
import { issueProof } from './payments.ts'
import { voidProof } from './voids.ts'

type Setup = MemoryLedger

const daily = { calendar: 'day', timeZone: 'Europe/Berlin' } as const
const hourMs = 3_600_000

async function mandateWith(setup: Setup, limits: readonly Partial<Limit>[]): Promise<Mandate> {
  const mandate = setup.newMandate({
    expiresAtMs: setup.clock.nowMs + 400 * 24 * hourMs,
    limits: limits.map((limit, index) => ({
      id: `limit_${index}`,
      window: daily,
      maxAmountText: null,
      maxAmountMicro: null,
      maxCount: null,
      per: null,
      action: 'deny',
      ...limit,
    })),
  })
  await setup.run(createMandate, [mandate, setup.event('mandate.created', mandate.id)])
  return mandate
}

async function pay(setup: Setup, mandate: Mandate, amountText = '1.00', resourceUrl?: string) {
  const base = setup.newHold(mandate, amountText)
  const hold = { ...base, amountText, amountMicro: parseAmount(amountText) }
  const asked = resourceUrl === undefined ? hold : { ...hold, resourceUrl }
  return { hold: asked, outcome: await setup.run(issueProof, { hold: asked }) }
}

function maxAmount(text: string) {
  return { maxAmountText: text, maxAmountMicro: String(parseAmount(text)) }
}

test('A limit denies a payment that does not fit, and has room again in the next period', async () => {
  const setup = await openMemoryLedger()
  const mandate = await mandateWith(setup, [maxAmount('2.50')])
  assert.equal((await pay(setup, mandate)).outcome.decision, 'approved')
  assert.equal((await pay(setup, mandate)).outcome.decision, 'approved')
  const { outcome } = await pay(setup, mandate)
  assert.equal(outcome.decision, 'denied')
  assert.equal(outcome.code, 'velocity_limit_exceeded')
  assert.equal(outcome.check, 10)
  assert.deepEqual(
    { ...outcome.limit, window: undefined, resetsAtMs: undefined },
    {
      id: 'limit_0',
      scope: 'mandate',
      scopeId: mandate.id,
      action: 'deny',
      window: undefined,
      unit: 'amount',
      max: '2.50',
      committed: '2.00',
      resetsAtMs: undefined,
    },
  )
  assert.equal((await pay(setup, mandate, '0.50')).outcome.decision, 'approved')
  setup.clock.nowMs = outcome.limit!.resetsAtMs!
  assert.equal((await pay(setup, mandate, '2.50')).outcome.decision, 'approved')
})

test('Voided and expired payments release amount and count, and a stop releases all open ones', async () => {
  const setup = await openMemoryLedger()
  const mandate = await mandateWith(setup, [{ window: { rollingSeconds: 86_400 }, maxCount: 2 }])
  const first = await pay(setup, mandate)
  await pay(setup, mandate)
  assert.equal((await pay(setup, mandate)).outcome.decision, 'denied')
  const event = setup.event('proof.voided', first.hold.nonce)
  await setup.run(voidProof, [first.hold, {}, event])
  await pay(setup, mandate)
  assert.equal((await pay(setup, mandate)).outcome.decision, 'denied')
  setup.clock.nowMs += hourMs + 1
  // No sweep has released the expired ones.
  assert.equal((await pay(setup, mandate)).outcome.decision, 'approved')
  assert.equal((await pay(setup, mandate)).outcome.decision, 'approved')
  for (const to of ['paused', 'active'] as const) {
    await setup.run(moveMandate, [
      mandate,
      to,
      setup.event(`mandate.${to === 'paused' ? 'paused' : 'resumed'}`, mandate.id),
    ])
  }
  const { usage } = setup.row(mandates, mandate)
  assert.deepEqual(usage?.open, {})
  assert.equal((await pay(setup, mandate)).outcome.decision, 'approved')
  assert.equal((await pay(setup, mandate)).outcome.decision, 'approved')
  assert.equal((await pay(setup, mandate)).outcome.decision, 'denied')
})

test('What has expired does not count in an evaluation or in the usage, even before it is released', async () => {
  const setup = await openMemoryLedger()
  const mandate = await mandateWith(setup, [maxAmount('2.00')])
  const { hold } = await pay(setup, mandate, '2.00')
  const key = { accountId: mandate.accountId, environment: mandate.environment, id: mandate.id }
  const look = async () => {
    const createdAtMs = setup.clock.nowMs
    const proposal = { ...hold, id: 'unused', merchantDomain: 'shop.example', createdAtMs, isDryRun: true }
    const [usage] = await setup.run(readMandateUsage, [key, createdAtMs])
    return [(await setup.run(evaluate, proposal)).decision, usage?.committed?.amountMicro]
  }
  assert.deepEqual(await look(), ['denied', 2_000_000n])
  setup.clock.nowMs = hold.expiresAtMs + 1
  assert.deepEqual(await look(), ['approved', 0n])
})

test('A limit per seller counts each host separately, also after a stop', async () => {
  const setup = await openMemoryLedger()
  const mandate = await mandateWith(setup, [{ per: 'seller', maxCount: 1 }])
  assert.equal((await pay(setup, mandate, '1.00', 'https://one.example/a')).outcome.decision, 'approved')
  assert.equal((await pay(setup, mandate, '1.00', 'https://ONE.example/b')).outcome.decision, 'denied')
  assert.equal((await pay(setup, mandate, '1.00', 'https://two.example/a')).outcome.decision, 'approved')
  const { accountId, id: mandateId } = mandate
  assert.ok(setup.row(subjectUsage, { accountId, mandateId, subject: 'seller:one.example' }))
  for (const to of ['paused', 'active'] as const) {
    await setup.run(moveMandate, [mandate, to, setup.event('mandate.paused', mandate.id)])
  }
  assert.equal((await pay(setup, mandate, '1.00', 'https://one.example/b')).outcome.decision, 'approved')
  assert.equal((await pay(setup, mandate, '1.00', 'https://one.example/b')).outcome.decision, 'denied')
})

test('A slow clock never books a payment in an earlier period', async () => {
  const setup = await openMemoryLedger()
  const mandate = await mandateWith(setup, [{ maxCount: 1 }])
  const midnightMs = Date.parse('2026-11-24T23:00:00Z')
  setup.clock.nowMs = midnightMs + 1
  assert.equal((await pay(setup, mandate)).outcome.decision, 'approved')
  setup.clock.nowMs = midnightMs - 1
  assert.equal((await pay(setup, mandate)).outcome.decision, 'denied')
})

test('A mandate without limits has no usage', async () => {
  const setup = await openMemoryLedger()
  const mandate = setup.newMandate()
  await setup.run(createMandate, [mandate, setup.event('mandate.created', mandate.id)])
  const { hold } = await pay(setup, mandate)
  assert.equal(setup.row(mandates, mandate).usage, null)
  const { accountId, id: mandateId } = mandate
  await setup.run(releaseExpiredPayments, { accountId, mandateId, nowMs: hold.expiresAtMs + 1 })
  assert.equal(setup.row(mandates, mandate).usage, null)
})

test('A limit that only notifies records one event per period', async () => {
  const setup = await openMemoryLedger()
  const mandate = await mandateWith(setup, [{ maxCount: 1, action: 'notify' }])
  for (let time = 0; time < 3; time++) {
    assert.deepEqual((await pay(setup, mandate)).outcome, { decision: 'approved' })
  }
  const reported = () => setup.rows(auditEvents).filter(({ type }) => type === 'limit.exceeded')
  assert.equal(reported().length, 1)
  assert.equal(reported()[0]?.subjectId, mandate.id)
  assert.equal(reported()[0]?.data['committed'], '1')
  setup.clock.nowMs += 24 * hourMs
  for (let time = 0; time < 3; time++) await pay(setup, mandate)
  assert.equal(reported().length, 2)
})

test('A denial whose answer was lost names its limit again', async () => {
  const outcomes = []
  for (const losesAnswers of [false, true]) {
    const setup = await openMemoryLedger({ losesAnswers })
    const mandate = await mandateWith(setup, [maxAmount('2.50')])
    assert.equal((await pay(setup, mandate, '2.00')).outcome.decision, 'approved')
    outcomes.push((await pay(setup, mandate)).outcome)
  }
  const [answered, lost] = outcomes
  assert(lost?.decision === 'denied')
  assert.equal(lost.limit?.id, 'limit_0')
  assert.deepEqual(lost, answered)
})

test('A payment that fits a limit without the expired ones uses up no approval', async () => {
  const setup = await openMemoryLedger()
  const limit = { ...maxAmount('2.00'), per: 'seller', action: 'require_approval' } as const
  const mandate = await mandateWith(setup, [limit])
  const { accountId, environment, id: mandateId } = mandate
  const expiring = { ...setup.newHold(mandate, '2.00'), expiresAtMs: setup.clock.nowMs + 60_000 }
  assert.equal((await setup.run(issueProof, { hold: expiring })).decision, 'approved')
  const { outcome } = await pay(setup, mandate)
  assert.equal(outcome.decision, 'denied')
  const approvalId = outcome.approval!.id
  const event = setup.event('approval.approved', approvalId)
  const verdict = { verdict: 'approved', actor: 'ada', person: 'ada', note: null, isOwner: true } as const
  const key = { accountId, environment, mandateId, id: approvalId }
  await setup.run(decideApproval, [key, verdict, { decided: event, amended: event }])
  setup.clock.nowMs += 60_001
  const hold = setup.newHold(mandate, '1.00')
  assert.equal((await setup.run(issueProof, { hold, approvalId })).decision, 'approved')
  assert.equal(setup.row(approvals, { accountId, id: approvalId }).status, 'approved')
})

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { holdGraceMs, validityWindowMs } from '../../src/domain/proof.ts'
import { findComplaints } from './checker.ts'
import { complaintKinds } from './complaint.ts'
import type { Call, Evidence, HoldContent } from './history.ts'
import { runModel } from './model-run.ts'
import { plantedBugs } from './planted-bugs.ts'
import { Spoiled } from './spoiled.ts'

const seeds = [1, 2, 3, 4]
/** How long the clients of a short run trade. */
const shortMs = 3 * 60_000

test('The checker accepts a correct ledger, whatever is lost on the network', async () => {
  for (const seed of seeds) {
    const evidence = await runModel(seed)
    assert.ok(evidence.calls.length > 2_000, 'clients are busy')
    assert.ok(new Set(evidence.content.holds.map(({ status }) => status)).size >= 3)
    assert.deepEqual(findComplaints(evidence), [], `seed ${seed}`)
    const governed = await runModel(seed, { hasOperator: true })
    assert.deepEqual(findComplaints(governed), [], `seed ${seed}, with stops of all mandates`)
  }
})

test('The checker catches every planted bug and names it', async (context) => {
  const runs = await runsOf({ hasOperator: false })
  const governedRuns = await runsOf({ hasOperator: true })
  for (const { bug, complaint, plant, isGoverned = false } of plantedBugs) {
    await context.test(bug, () => {
      const { evidence } = plantIn(isGoverned ? governedRuns : runs, plant)
      const complaints = findComplaints(evidence)
      assert.ok(
        complaints.some(({ kind }) => kind === complaint),
        `${complaint}: ${JSON.stringify(complaints.slice(0, 5))}`,
      )
    })
  }
})

test('Every complaint of the checker is triggered by a planted bug', () => {
  const proven = plantedBugs.map(({ complaint }) => complaint)
  assert.deepEqual(new Set(proven), new Set(complaintKinds))
})

test('The denial of an attempt may be counted although the rerun granted the proof, and no other', async () => {
  const evidence = await runModel(1, { openMs: shortMs })
  const asked = evidence.calls.flatMap(({ request, answer }) =>
    request.act === 'ask-proof' ? [{ mandateId: request.mandateId, answer }] : [],
  )
  const first = asked.find(({ answer }) => answer.is === 'granted')
  assert(first?.answer.is === 'granted')
  const { mandateId, answer } = first
  const refused = asked.filter((one) => one.mandateId === mandateId && one.answer.is !== 'granted')
  const denials = [{ mandateId, count: refused.length + 1 }]
  for (const deniedNonces of [[answer.nonce], []]) {
    const complaints = findComplaints({
      ...evidence,
      content: { ...evidence.content, denials, deniedNonces },
    })
    const unexplained = complaints.filter(({ kind }) => kind === 'record unexplained')
    assert.equal(unexplained.length, 1 - deniedNonces.length)
  }
})

test('A payment may be made after its client has given up, but not after it got an answer', async () => {
  const evidence = await runModel(1, { openMs: shortMs })
  for (const isInSteps of [false, true]) {
    for (const isAnswered of [false, true]) {
      const spoiled = new Spoiled(evidence)
      const { call: maker, answer } = spoiled.answered(
        'verified',
        ({ isReplay }, { request }) =>
          !isReplay && request.act === (isInSteps ? 'capture-authorized' : 'verify'),
      )
      assert(maker.request.act === 'capture-authorized' || maker.request.act === 'verify')
      const { nonce } = maker.request
      const { createdAtMs } = spoiled.paymentOf({ nonce })
      spoiled.calls.push(structuredClone({ ...maker, answer: { ...answer, isReplay: true } }))
      maker.beganMs = createdAtMs - 2
      maker.endedMs = createdAtMs - 1
      if (!isAnswered) maker.answer = { is: 'unknown' }
      const complaints = findComplaints(spoiled.evidence).filter(({ subject }) => subject === nonce)
      assert.equal(complaints.length > 0, isAnswered, JSON.stringify(complaints))
    }
  }
})

test('A shared budget may count an expired hold of another mandate until its release, and no longer', () => {
  const askedAtMs = 1_000_000
  const cases = [
    {
      hold: 'of another mandate, released during the request',
      releasedAtMs: askedAtMs + 1,
      isExplained: true,
    },
    { hold: 'of another mandate, never released', releasedAtMs: Infinity, isExplained: true },
    { hold: 'of another mandate, released before', releasedAtMs: askedAtMs - 1, isExplained: false },
    { hold: 'of another mandate, released at an unknown time', isExplained: false },
    { hold: 'of the same mandate', mandateId: 'asking', releasedAtMs: Infinity, isExplained: false },
  ]
  for (const { hold, mandateId = 'other', releasedAtMs, isExplained } of cases) {
    const evidence = refusedByBudget({ askedAtMs, hold: { mandateId, releasedAtMs } })
    const refusals = findComplaints(evidence).filter(({ kind }) => kind === 'failure unexplained')
    assert.equal(refusals.length === 0, isExplained, hold)
  }
})

test('A proof counts as open until its authorization is committed, even after the deadline of the capture', () => {
  const askedAtMs = 1_000_000
  for (const [authorizedUntilMs, isExplained] of [
    [askedAtMs + 1, true],
    [askedAtMs - 1, false],
  ] as const) {
    const evidence = refusedByBudget({
      askedAtMs,
      issuedAtMs: askedAtMs - 2_000,
      hold: { mandateId: 'asking', releasedAtMs: Infinity },
    })
    const authorization: Call = {
      keyId: 'merchant',
      request: { act: 'authorize', nonce: 'nonce', domain: 'api.example.com', idempotencyKey: 'authorize' },
      beganMs: askedAtMs - 1_900,
      endedMs: authorizedUntilMs,
      answer: { is: 'authorized', isReplay: false },
    }
    const complaints = findComplaints({ ...evidence, calls: [authorization, ...evidence.calls] })
    const refusals = complaints.filter(({ kind }) => kind === 'failure unexplained')
    assert.equal(refusals.length === 0, isExplained, `${authorizedUntilMs - askedAtMs} ms later`)
  }
})

/** A short run, which is checked quickly, and a long one, with an occasion for every bug. */
async function runsOf(options: { readonly hasOperator: boolean }): Promise<[Evidence, Evidence]> {
  return [await runModel(1, { ...options, openMs: shortMs }), await runModel(1, options)]
}

/** The short run with the bug, or the long one if only that has an occasion for it. */
function plantIn([short, long]: [Evidence, Evidence], plant: (spoiled: Spoiled) => void): Spoiled {
  try {
    const spoiled = new Spoiled(short)
    plant(spoiled)
    return spoiled
  } catch {
    const spoiled = new Spoiled(long)
    plant(spoiled)
    return spoiled
  }
}

/** A request that a shared budget refuses, long after an authorization for all of the budget expired. */
function refusedByBudget({
  askedAtMs,
  issuedAtMs = 1_000,
  hold,
}: {
  readonly askedAtMs: number
  readonly issuedAtMs?: number
  readonly hold: Pick<HoldContent, 'mandateId' | 'releasedAtMs'>
}): Evidence {
  const maxMicro = 10_000_000n
  const captureDeadlineMs = issuedAtMs + 1_000
  const mandateOf = (id: string) => ({
    id,
    agentId: 'agent',
    status: 'active' as const,
    maxTotalMicro: 2n * maxMicro,
    maxPaymentMicro: maxMicro,
    spentMicro: 0n,
    heldMicro: 0n,
    authorizedMicro: 0n,
    version: 1,
    approveAboveMicro: null,
    limitMicro: null,
    budgetId: 'budget',
  })
  const payment = { agentId: 'agent', mandateId: 'asking', amountMicro: 1n, domain: 'api.example.com' }
  return {
    calls: [
      {
        keyId: 'key',
        request: { act: 'ask-proof', ...payment },
        beganMs: askedAtMs,
        endedMs: askedAtMs + 10,
        answer: { is: 'denied', code: 'shared_budget_exceeded' },
      },
    ],
    content: {
      readAtMs: askedAtMs + 20,
      sweptUntilMs: askedAtMs + 20,
      agents: [{ id: 'agent', status: 'active' }],
      mandates: [mandateOf('asking'), mandateOf('other')],
      budgets: [{ id: 'budget', maxMicro }],
      limitFaults: [],
      holds: [
        {
          ...hold,
          nonce: 'nonce',
          amountMicro: maxMicro,
          status: 'expired',
          issuedAtMs,
          expiresAtMs: issuedAtMs + validityWindowMs + holdGraceMs,
          transactionId: null,
          capturedBy: null,
          idempotencyKey: null,
          authorizedBy: 'merchant',
          authorizationKey: 'authorize',
          captureDeadlineMs,
          capturedMicro: null,
          refundedMicro: null,
          orderId: null,
          mandateVersion: null,
          budgetPath: ['budget'],
        },
      ],
      approvals: [],
      versions: [],
      transactions: [],
      events: [],
    },
  }
}

import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Limit } from '../domain/limits.ts'
import { parseAmount } from '../domain/money.ts'
import type { Mandate } from '../domain/records.ts'
import type { StoreLedger } from '../../testing/store-ledger.ts'
import { storeConformance } from '../../testing/stores.ts'

const above = (text: string | null, fields: Partial<NonNullable<Mandate['approval']>> = {}) => ({
  approval: { above: text, firstPurchaseAtSeller: false, required: 1, ...fields },
})

/** Requests a proof that a person must approve; returns the approval's id. */
async function ask(ledger: StoreLedger, mandate: Mandate, amount = '2.00'): Promise<string> {
  const outcome = await ledger.ask(mandate, amount)
  assert(outcome.decision === 'denied' && outcome.approval, JSON.stringify(outcome))
  return outcome.approval.id
}

/** Requests an approval, which a person then grants. */
async function approved(ledger: StoreLedger, mandate: Mandate, amount = '2.00'): Promise<string> {
  const id = await ask(ledger, mandate, amount)
  const approval = await ledger.decide(mandate, id, 'approved')
  assert(typeof approval === 'object' && approval.status === 'approved')
  return id
}

// How people decide approvals, and how payments use them.
storeConformance(({ open }) => {
  test('An approval is requested once, decided, and used up in the transaction that issues the proof', async (context) => {
    const ledger = await open(context)
    const { sandbox } = await ledger.tenant()
    const mandate = await ledger.mandate(sandbox, above('1.00'))
    const [first, second] = await Promise.all([ask(ledger, mandate), ask(ledger, mandate)])
    assert.equal(first, second, 'the same request has the same approval')
    const decided = await ledger.decide(mandate, first, 'approved')
    assert(typeof decided === 'object')
    assert.deepEqual(await ledger.store.findApproval({ ...mandate, id: first }), decided)
    const hold = ledger.newHold(mandate, '2.00')
    assert.equal((await ledger.ask(mandate, '2.00', { approvalId: first, hold })).decision, 'approved')
    const used = await ledger.store.findApproval({ ...mandate, id: first })
    assert.deepEqual(used, { ...decided, status: 'consumed', nonce: hold.nonce })
    assert.deepEqual(await ledger.sums(mandate), { spent: '0.00', held: '2.00' })
    const again = await ledger.ask(mandate, '2.00', { approvalId: first })
    assert(again.decision === 'denied')
    assert.equal(again.approval?.status, 'consumed')
    assert.notEqual(await ask(ledger, mandate), first)
    assert.deepEqual(
      (await ledger.eventsAbout(sandbox, first)).map(({ type }) => type),
      ['approval.requested', 'approval.approved', 'approval.consumed'],
    )
  })

  test('If several proofs use one approval at once, one is issued', async (context) => {
    const ledger = await open(context)
    const { sandbox } = await ledger.tenant()
    const mandate = await ledger.mandate(sandbox, above('1.00'))
    const approvalId = await approved(ledger, mandate)
    const outcomes = await Promise.all(
      Array.from({ length: 12 }, () => ledger.ask(mandate, '2.00', { approvalId })),
    )
    assert.equal(outcomes.filter(({ decision }) => decision === 'approved').length, 1)
    for (const outcome of outcomes) {
      if (outcome.decision === 'denied') assert.equal(outcome.approval?.status, 'consumed')
    }
    assert.deepEqual(await ledger.sums(mandate), { spent: '0.00', held: '2.00' })
  })

  test('If an approval, its denial, the revocation of its mandate and two proofs race, one wins and all answers agree', async (context) => {
    const ledger = await open(context)
    const { sandbox } = await ledger.tenant()
    for (let round = 0; round < 6; round++) {
      const mandate = await ledger.mandate(sandbox, above('1.00'))
      const approvalId = await approved(ledger, mandate)
      const acts = [
        () => ledger.ask(mandate, '2.00', { approvalId }),
        () => ledger.decide(mandate, approvalId, 'denied'),
        () => ledger.ask(mandate, '2.00', { approvalId }),
        () => ledger.moveMandate(mandate, 'revoked'),
      ]
      const [one, denial, other] = await Promise.all(
        [...acts.slice(round % 4), ...acts.slice(0, round % 4)].map((act) => act()),
      ).then((results) => [...results.slice(4 - (round % 4)), ...results.slice(0, 4 - (round % 4))])
      const issued = [one, other].filter((result) => isIssued(result)).length
      const { status } = (await ledger.store.findApproval({ ...mandate, id: approvalId })) ?? assert.fail()
      assert.ok(issued <= 1)
      assert.equal(status === 'consumed', issued === 1)
      assert.equal(denial === 'approval_decided', issued === 1, 'a used approval cannot be withdrawn')
      assert.deepEqual(await ledger.sums(mandate), { spent: '0.00', held: '0.00' })
    }
  })

  test('Two concurrent approvers count as two, and one person counts once', async (context) => {
    const ledger = await open(context)
    const { sandbox } = await ledger.tenant()
    const mandate = await ledger.mandate(sandbox, above('1.00', { required: 2 }))
    const id = await ask(ledger, mandate)
    await Promise.all(
      Array.from({ length: 4 }, () => ledger.decide(mandate, id, 'approved', { person: 'ada' })),
    )
    const pending = await ledger.store.findApproval({ ...mandate, id })
    assert.deepEqual([pending?.status, pending?.decisions.length], ['pending', 1])
    assert.equal(await ledger.decide(mandate, id, 'approved', { person: 'requester' }), 'own_request')
    await ledger.decide(mandate, id, 'approved', { person: 'grace' })
    assert.equal((await ledger.store.findApproval({ ...mandate, id }))?.status, 'approved')
  })

  test('If a mandate begins to require two people while proofs use an approval, it is used once or waits again', async (context) => {
    const ledger = await open(context)
    const { sandbox } = await ledger.tenant()
    for (let round = 0; round < 4; round++) {
      const mandate = await ledger.mandate(sandbox, above('1.00'))
      const approvalId = await approved(ledger, mandate)
      const waiting = await ask(ledger, mandate, '3.00')
      const use = () => ledger.ask(mandate, '2.00', { approvalId })
      const amend = () => ledger.amend(mandate, above('1.00', { required: 2 }))
      const outcomes = await Promise.all(
        (round % 2 === 0 ? [amend, use, use] : [use, amend, use]).map((act) => act()),
      )
      const issued = outcomes.filter((outcome) => isIssued(outcome)).length
      const find = async (id: string) =>
        (await ledger.store.findApproval({ ...mandate, id })) ?? assert.fail()
      const { status, required } = await find(approvalId)
      assert.deepEqual([status, required], issued === 1 ? ['consumed', 1] : ['pending', 2])
      assert.equal((await find(waiting)).required, 2)
      assert.equal(isIssued(await use()), false, 'one person is too few')
      if (issued === 1) continue
      await ledger.decide(mandate, approvalId, 'approved', { person: 'grace' })
      assert.equal(isIssued(await use()), true)
    }
  })

  test('A revoked agent gets no request for wider terms', async (context) => {
    const ledger = await open(context)
    const { sandbox } = await ledger.tenant()
    const mandate = await ledger.mandate(sandbox)
    await ledger.revokeAgent({ ...mandate, id: mandate.agentId })
    assert.equal(await ledger.requestIncrease(mandate, { maxTotalText: '200.00' }), 'agent_revoked')
  })

  test('Approvals are listed by status, mandate and agent, newest first, within one scope', async (context) => {
    const ledger = await open(context)
    const { sandbox, production } = await ledger.tenant()
    const stranger = await ledger.tenant()
    const mandate = await ledger.mandate(sandbox, above('1.00'))
    const other = await ledger.mandate(sandbox, above('1.00'))
    const denied = await ask(ledger, mandate, '3.00')
    await ledger.decide(mandate, denied, 'denied')
    const pending = await ask(ledger, mandate, '2.00')
    const ofOther = await ask(ledger, other, '2.00')
    const { nowMs } = ledger.clock
    const list = async (filter: object, scope = sandbox, at = nowMs) => {
      const page = await ledger.store.listApprovals(scope, { nowMs: at, ...filter }, { limit: 10 })
      return page.items.map(({ id }) => id)
    }
    assert.deepEqual(await list({}), [ofOther, pending, denied])
    assert.deepEqual(await list({ status: 'pending' }), [ofOther, pending])
    assert.deepEqual(await list({ mandateId: mandate.id }), [pending, denied])
    assert.deepEqual(await list({ agentId: other.agentId }), [ofOther])
    assert.deepEqual(await list({ status: 'denied' }), [denied])
    assert.deepEqual(await list({ status: 'expired' }), [])
    assert.deepEqual(await list({ status: 'pending' }, sandbox, nowMs + 900_000), [])
    assert.deepEqual(await list({ status: 'expired' }, sandbox, nowMs + 900_000), [ofOther, pending])
    for (const scope of [production, stranger.sandbox]) {
      assert.deepEqual(await list({}, scope), [])
      assert.equal(await ledger.store.findApproval({ ...scope, id: pending }), undefined)
      assert.equal(await ledger.decide({ ...mandate, ...scope }, pending, 'approved'), 'not_found')
    }
    assert.equal(await ledger.decide(other, pending, 'approved'), 'not_found')
    const page = await ledger.store.listApprovals(sandbox, { nowMs }, { limit: 2 })
    assert.equal(page.next, pending)
    const rest = await ledger.store.listApprovals(sandbox, { nowMs }, { limit: 2, olderThan: page.next })
    assert.deepEqual([rest.items.map(({ id }) => id), rest.next], [[denied], undefined])
  })

  test('A first purchase needs approval until one is captured or may still be captured', async (context) => {
    const ledger = await open(context)
    const { sandbox } = await ledger.tenant()
    const mandate = await ledger.mandate(sandbox, above(null, { firstPurchaseAtSeller: true }))
    const approvalId = await approved(ledger, mandate)
    const hold = ledger.newHold(mandate, '1.00')
    assert.equal((await ledger.ask(mandate, '1.00', { approvalId, hold })).decision, 'approved')
    const next = await ledger.hold(mandate)
    await ledger.voidProof(next)
    await ledger.moveMandate(mandate, 'paused')
    await ledger.moveMandate(mandate, 'active')
    assert.equal((await ledger.ask(mandate, '1.00')).decision, 'denied', 'the pause ended the approval')
    const again = await approved(ledger, mandate)
    const second = ledger.newHold(mandate, '1.00')
    await ledger.ask(mandate, '1.00', { approvalId: again, hold: second })
    await ledger.pay(sandbox, second)
    for (let count = 0; count < 2; count++) await ledger.pay(sandbox, await ledger.hold(mandate))
    const purchase = { resourceUrl: second.resourceUrl, issuedAtMs: ledger.clock.nowMs }
    assert.equal(await ledger.store.isKnownSeller(mandate, purchase), true)
    const elsewhere = { ...purchase, resourceUrl: 'https://other.example.com/' }
    assert.equal(await ledger.store.isKnownSeller(mandate, elsewhere), false)
    assert.deepEqual(await ledger.store.listPaidDomains(mandate), ['api.example.com'])
  })

  test('An increase is applied by the transaction that approves it, once if several race', async (context) => {
    const ledger = await open(context)
    const { sandbox } = await ledger.tenant()
    const mandate = await ledger.mandate(sandbox)
    const [first, same] = await Promise.all([
      ledger.requestIncrease(mandate, { maxTotalText: '200.00' }),
      ledger.requestIncrease(mandate, { maxTotalText: '200.00' }),
    ])
    assert(typeof first === 'object' && typeof same === 'object')
    assert.equal(first.id, same.id)
    const outcomes = await Promise.all(
      ['ada', 'grace', 'joan'].map((person) => ledger.decide(mandate, first.id, 'approved', { person })),
    )
    assert.equal(outcomes.filter((outcome) => typeof outcome === 'object').length, 1)
    const raised = await ledger.store.findMandate(mandate)
    assert.deepEqual([raised?.version, raised?.maxTotalMicro], [2, parseAmount('200.00')])
    // Clears what is cached of the mandate for verify-agent.
    const question = { agentId: mandate.agentId, mandateId: mandate.id, merchantDomain: 'api.example.com' }
    const { nowMs } = ledger.clock
    const facts = await ledger.store.readAgentFacts({ caller: sandbox, ...question, nowMs })
    assert.equal(facts.mandate?.maxTotalText, '200.00')
  })

  test('An approved increase of limits keeps the counts of a limit, counts earlier payments in a new one, and drops others', async (context) => {
    const ledger = await open(context)
    const { sandbox } = await ledger.tenant()
    const hour = { window: { rollingSeconds: 3_600 } }
    const mandate = await ledger.mandate(sandbox, {
      limits: [limit('limit_total'), limit('limit_hour', hour)],
    })
    await ledger.pay(sandbox, await ledger.hold(mandate))
    await ledger.hold(mandate)
    assert.equal((await ledger.ask(mandate, '1.00')).decision, 'denied')
    const change = (count: number) => [
      limit(`limit_new_${count}`, { maxCount: 3 }),
      limit(`limit_seller_${count}`, { per: 'seller', maxCount: 5 }),
    ]
    const asked = await ledger.requestIncrease(mandate, { limits: change(1) })
    const same = await ledger.requestIncrease(mandate, { limits: change(2) })
    assert(typeof asked === 'object' && typeof same === 'object')
    assert.equal(same.id, asked.id)
    assert.deepEqual(
      asked.change?.limits?.map(({ id }) => id),
      ['limit_total', 'limit_seller_1'],
    )
    const outcomes = await Promise.all(
      ['ada', 'grace'].map((person) => ledger.decide(mandate, asked.id, 'approved', { person })),
    )
    assert.equal(outcomes.filter((outcome) => typeof outcome === 'object').length, 1)
    const raised = (await ledger.store.findMandate(mandate)) ?? assert.fail()
    assert.deepEqual([raised.limits, raised.version], [asked.change?.limits, 2])
    const usage = await ledger.store.readMandateUsage(raised, ledger.clock.nowMs)
    assert.deepEqual(
      usage.map(({ limit: { id }, committed }) => [id, committed?.count]),
      [
        ['limit_total', 2],
        ['limit_seller_1', undefined],
      ],
    )
    assert.equal((await ledger.ask(mandate, '1.00')).decision, 'approved')
    assert.equal((await ledger.ask(mandate, '1.00')).decision, 'denied')
  })
})

function limit(id: string, fields: Partial<Limit> = {}): Limit {
  return {
    id,
    window: 'lifetime',
    maxAmountText: null,
    maxAmountMicro: null,
    maxCount: 2,
    per: null,
    action: 'deny',
    ...fields,
  }
}

function isIssued(result: unknown): boolean {
  return (
    typeof result === 'object' && result !== null && 'decision' in result && result.decision === 'approved'
  )
}

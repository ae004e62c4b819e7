import assert from 'node:assert/strict'
import { test } from 'node:test'

import { holdLifeMs, scopeOf, shopDomain } from '../../testing/store-ledger.ts'
import { seededRandom } from '../../testing/seeded-random.ts'
import { storeConformance } from '../../testing/stores.ts'
import { validityWindowMs } from '../domain/proof.ts'
import { checkPolicy } from '../domain/policy.ts'
import type { Hold } from '../domain/records.ts'
import type { Capture } from './store.ts'

const proofExpired = { outcome: 'failed', reason: 'proof_expired' }

// Proofs and captures: what is held, what is paid, and what a refusal leaves unchanged.
storeConformance(({ open, openEmpty, openOwn }) => {
  test('An approved proof holds its amount and spends nothing [endpoint.proof]', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const mandate = await ledger.mandate(owner.sandbox)
    const hold = await ledger.hold(mandate, '2.500001')
    assert.deepEqual(await ledger.sums(mandate), { spent: '0.00', held: '2.500001' })
    assert.deepEqual(await ledger.store.findProof(hold), { ...hold, capturedText: null })
    const { items } = await ledger.store.listTransactions(owner.sandbox, {}, { limit: 10 })
    assert.deepEqual(items, [], 'a hold is not yet a transaction')
    assert.deepEqual(await ledger.eventsAbout(owner.sandbox, hold.nonce), [])
  })

  test('A refused proof holds nothing and records nothing', async (context) => {
    const ledger = await open(context)
    const mandate = await ledger.mandate((await ledger.tenant()).sandbox, { maxTotalText: '1.00' })
    const hold = ledger.newHold(mandate, '1.01')
    const refusal = await ledger.store.issueProof(hold)
    assert(refusal.decision === 'denied' && refusal.code === 'total_budget_exceeded')
    assert.equal(await ledger.store.findProof(hold), undefined)
    assert.deepEqual(await ledger.sums(mandate), { spent: '0.00', held: '0.00' })
  })

  test('Check 9 of a proof counts spent and held amounts [limits.total]', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const mandate = await ledger.mandate(owner.sandbox, { maxTotalText: '10.00' })
    await ledger.pay(owner.sandbox, await ledger.hold(mandate, '4.00'))
    await ledger.hold(mandate, '5.00')
    const refusal = await ledger.store.issueProof(ledger.newHold(mandate, '1.000001'))
    assert(refusal.decision === 'denied' && refusal.code === 'total_budget_exceeded')
    await ledger.hold(mandate, '1.00')
    assert.deepEqual(await ledger.sums(mandate), { spent: '4.00', held: '6.00' })
  })

  test('The decision sees only agents and mandates of its own account and environment [policy.1] [policy.3]', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const other = await ledger.tenant()
    const agent = await ledger.agent(owner.sandbox)
    const mandate = await ledger.mandate(agent)
    const rows = [
      [owner.sandbox, agent.id, mandate.id, { agent, mandate }],
      [owner.sandbox, agent.id, 'mandate_none', { agent, mandate: undefined }],
      [owner.sandbox, 'agent_none', mandate.id, { agent: undefined, mandate }],
      [owner.production, agent.id, mandate.id, { agent: undefined, mandate: undefined }],
      [other.sandbox, agent.id, mandate.id, { agent: undefined, mandate: undefined }],
    ] as const
    for (const [scope, agentId, mandateId, facts] of rows) {
      const fields = { ...scopeOf(scope), agentId, mandateId }
      const hold = ledger.newHold(mandate, '1.00', fields)
      const held = checkPolicy(facts, { ...hold, countHolds: true }, ledger.clock.nowMs)
      assert.deepEqual(await ledger.store.issueProof(hold), held)
      const proposal = ledger.newProposal(mandate, fields)
      const asked = { ...proposal, seller: proposal, countHolds: false }
      assert.deepEqual(await ledger.store.evaluate(proposal), checkPolicy(facts, asked, ledger.clock.nowMs))
    }
  })

  test('An evaluation may name ids of any length: it is recorded as a denial and blocks no other call', async (context) => {
    const ledger = await open(context)
    const { sandbox } = await ledger.tenant()
    const mandate = await ledger.mandate(sandbox)
    // Random text, which an index cannot compress.
    const long = Buffer.from(seededRandom(7).bytes(12_000)).toString('hex')
    const proposals = [
      ledger.newProposal({ ...mandate, agentId: long }),
      ledger.newProposal({ ...mandate, id: long }),
      ledger.newProposal(mandate),
    ]
    const decisions = await Promise.all(proposals.map((proposal) => ledger.store.evaluate(proposal)))
    assert.deepEqual(
      decisions.map((decision) => ('check' in decision ? decision.check : decision.decision)),
      [1, 3, 'approved'],
    )
    const { items } = await ledger.store.listTransactions(sandbox, {}, { limit: 10 })
    assert.deepEqual(new Set(items.map(({ id }) => id)), new Set(proposals.map(({ id }) => id)))
    for (const { agentId, mandateId } of items) {
      assert.ok(agentId === mandate.agentId || long.startsWith(agentId))
      assert.ok(mandateId === mandate.id || long.startsWith(mandateId))
    }
  })

  test('A capture moves the amount from held to spent and writes one paid transaction and one event [verify.step.5] [verify.step.6] [verify.step.7] [verify.step.8] [state.paid] [events.1]', async (context) => {
    const ledger = await openEmpty(context)
    const owner = await ledger.tenant()
    const mandate = await ledger.mandate(owner.sandbox)
    const seller = await ledger.seller(owner.sandbox)
    const hold = await ledger.hold(mandate, '2.50')
    await ledger.hold(mandate, '1.00')
    ledger.clock.nowMs += 2_000
    const capture = ledger.newCapture(owner.sandbox, hold, { merchantDomain: 'API.Example.com.' })
    const { transactionId: id } = capture
    assert.deepEqual(await ledger.store.capture(capture), { outcome: 'captured', transactionId: id })
    assert.deepEqual(await ledger.sums(mandate), { spent: '2.50', held: '1.00' })
    const { items } = await ledger.store.listTransactions(owner.sandbox, {}, { limit: 10 })
    assert.deepEqual(items, [
      {
        ...scopeOf(owner.sandbox),
        id,
        status: 'paid',
        agentId: mandate.agentId,
        mandateId: mandate.id,
        amountText: '2.50',
        amountMicro: hold.amountMicro,
        currency: 'USDC',
        resourceUrl: hold.resourceUrl,
        merchantDomain: shopDomain,
        sellerId: seller.id,
        category: null,
        reasonCode: null,
        reasonDetail: null,
        orderId: null,
        refundOf: null,
        refundedText: '0.00',
        isExpense: true,
        isRevenue: true,
        createdAtMs: ledger.clock.nowMs,
        mandateVersion: 1,
        metadata: null,
      },
    ])
    const events = await ledger.store.listAuditEvents(
      owner.sandbox,
      { type: 'payment.verified' },
      { limit: 10 },
    )
    assert.deepEqual(events.items, [
      {
        ...scopeOf(owner.sandbox),
        id: id.replace('txn_', 'event_'),
        type: 'payment.verified',
        actor: owner.sandbox.keyId,
        subjectId: id,
        data: {
          agent_id: mandate.agentId,
          mandate_id: mandate.id,
          amount: '2.50',
          currency: 'USDC',
          merchant_domain: shopDomain,
          nonce: hold.nonce,
        },
        createdAtMs: ledger.clock.nowMs,
      },
    ])
    assert.deepEqual(await ledger.store.findProof(hold), capturedAs(hold, id))
    assert.deepEqual(await ledger.store.findLedgerFaults(), [])
  })

  test('A second capture is nonce_reused and charges nothing [verify.step.4] [limits.nonce]', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const mandate = await ledger.mandate(owner.sandbox)
    const hold = await ledger.hold(mandate, '2.00')
    const transactionId = await ledger.pay(owner.sandbox, hold)
    for (const later of [0, 1_000, 86_400_000]) {
      ledger.clock.nowMs += later
      const again = await ledger.capture(owner.sandbox, hold)
      assert.deepEqual(again, { outcome: 'failed', reason: 'nonce_reused' })
    }
    assert.deepEqual(await ledger.sums(mandate), { spent: '2.00', held: '0.00' })
    const { items } = await ledger.store.listTransactions(owner.sandbox, {}, { limit: 10 })
    assert.deepEqual(
      items.map(({ id }) => id),
      [transactionId],
    )
    const events = await ledger.store.listAuditEvents(
      owner.sandbox,
      { type: 'payment.verified' },
      { limit: 10 },
    )
    assert.equal(events.items.length, 1)
  })

  test('A proof without a hold is proof_expired and cannot be captured [verify.step.1]', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const mandate = await ledger.mandate(owner.sandbox)
    const hold = await ledger.hold(mandate)
    const attempts = [
      ledger.newCapture(owner.sandbox, hold, { nonce: ledger.ids.nonce() }),
      ledger.newCapture(owner.sandbox, ledger.newHold(mandate), { mandateId: 'mandate_none' }),
      ledger.newCapture(owner.production, hold),
    ]
    for (const attempt of attempts) {
      const outcome = await ledger.store.capture(attempt)
      assert.deepEqual(outcome, { outcome: 'failed', reason: 'proof_expired' })
    }
    assert.deepEqual(await ledger.sums(mandate), { spent: '0.00', held: '1.00' })
  })

  test("A payment between two accounts is recorded in both: the payer's row counts, and the payee's is a copy", async (context) => {
    const ledger = await openEmpty(context)
    const payer = await ledger.tenant()
    const shop = await ledger.tenant()
    const third = await ledger.tenant()
    const seller = await ledger.seller(shop.sandbox)
    const mandate = await ledger.mandate(payer.sandbox)
    const hold = await ledger.hold(mandate, '3.00')
    const merchant = await ledger.key(shop.sandbox, 'merchant')
    assert.equal(await ledger.store.findProof({ ...shop.sandbox, nonce: hold.nonce }), undefined)
    const id = await ledger.pay(merchant, hold)

    const paid = await ledger.store.findTransaction({ ...payer.sandbox, id }, {})
    const received = await ledger.store.findTransaction({ ...shop.sandbox, id }, {})
    assert.equal(paid?.sellerId, seller.id)
    assert.deepEqual([paid?.isExpense, paid?.isRevenue], [true, false])
    assert.deepEqual(received, { ...paid, accountId: shop.account.id, isExpense: false, isRevenue: true })
    assert.deepEqual(await ledger.sums(mandate), { spent: '3.00', held: '0.00' })

    const [event, ...more] = await ledger.eventsAbout(payer.sandbox, id)
    assert.equal(event?.actor, merchant.keyId)
    assert.deepEqual(more, [])
    assert.deepEqual(await ledger.eventsAbout(shop.sandbox, id), [])

    for (const { accountId, environment } of [payer.sandbox, shop.sandbox]) {
      const found = await ledger.store.findProof({ accountId, environment, nonce: hold.nonce })
      assert.deepEqual(found, capturedAs(hold, id))
    }
    for (const scope of [payer.production, shop.production, third.sandbox]) {
      assert.equal(await ledger.store.findProof({ ...scopeOf(scope), nonce: hold.nonce }), undefined)
      assert.equal(await ledger.store.findTransaction({ ...scopeOf(scope), id }, {}), undefined)
    }
    assert.deepEqual(await ledger.store.findLedgerFaults(), [])
  })

  test("Another account's seller under the domain is not disclosed if the mandate's own account collects", async (context) => {
    const ledger = await openEmpty(context)
    const payer = await ledger.tenant()
    const stranger = await ledger.tenant()
    await ledger.seller(stranger.sandbox)
    const mandate = await ledger.mandate(payer.sandbox)
    const id = await ledger.pay(payer.sandbox, await ledger.hold(mandate))
    assert.equal((await ledger.store.findTransaction({ ...payer.sandbox, id }, {}))?.sellerId, null)
    assert.equal(await ledger.store.findTransaction({ ...stranger.sandbox, id }, {}), undefined)
    await ledger.store.evaluate(ledger.newProposal(mandate))
    const { items } = await ledger.store.listTransactions(payer.sandbox, {}, { limit: 10 })
    assert.deepEqual(
      items.map(({ sellerId }) => sellerId),
      [null, null],
    )
  })

  test('The check who may collect uses facts read in the transaction; a refusal charges nothing and leaves the proof usable', async (context) => {
    const ledger = await openEmpty(context)
    const payer = await ledger.tenant()
    const shop = await ledger.tenant()
    const stranger = await ledger.tenant()
    await ledger.seller(shop.sandbox)
    const mandate = await ledger.mandate(payer.sandbox)
    const elsewhere = await ledger.mandate(payer.sandbox, { allowedSellers: ['other.example'] })
    const own = await ledger.hold(mandate)
    const rows = [
      ['seller_not_yours', stranger.sandbox, own],
      ['merchant_not_allowed', shop.sandbox, await ledger.hold(elsewhere)],
      [
        'merchant_not_payee',
        shop.sandbox,
        await ledger.hold(mandate, '1.00', { resourceUrl: 'https://other.example/data' }),
      ],
    ] as const
    for (const [code, caller, hold] of rows) {
      assert.deepEqual(await ledger.capture(caller, hold), { outcome: 'refused', code })
      assert.deepEqual(await ledger.store.findProof(hold), { ...hold, capturedText: null })
    }
    assert.deepEqual(await ledger.sums(mandate), { spent: '0.00', held: '2.00' })
    for (const { sandbox } of [payer, shop]) {
      const { items } = await ledger.store.listTransactions(sandbox, {}, { limit: 10 })
      assert.deepEqual(items, [])
    }
    assert.equal((await ledger.capture(shop.sandbox, own)).outcome, 'captured')
    // The calls race: the decision comes before or after the registration, and a refusal leaves the proof
    // usable.
    const second = await ledger.hold(await ledger.mandate(payer.sandbox, { allowedSellers: ['*'] }), '1.00', {
      resourceUrl: 'https://new.example/data',
    })
    const collect = () => ledger.capture(stranger.sandbox, second, { merchantDomain: 'new.example' })
    const [, outcome] = await Promise.all([ledger.seller(stranger.sandbox, 'new.example'), collect()])
    if (outcome.outcome === 'captured') return
    assert.deepEqual(outcome, { outcome: 'refused', code: 'seller_not_yours' })
    assert.equal((await collect()).outcome, 'captured')
  })

  test('The refusal to collect comes before nonce_reused, so that an unrelated account learns nothing [verify.order]', async (context) => {
    const ledger = await open(context)
    const payer = await ledger.tenant()
    const stranger = await ledger.tenant()
    const hold = await ledger.hold(await ledger.mandate(payer.sandbox))
    const refused = { outcome: 'refused', code: 'seller_not_yours' }
    assert.deepEqual(await ledger.capture(stranger.sandbox, hold), refused)
    await ledger.pay(payer.sandbox, hold)
    assert.deepEqual(await ledger.capture(stranger.sandbox, hold), refused)
  })

  test('A retry of a proof with the same key and idempotency key gets the first answer', async (context) => {
    const ledger = await openOwn(context)
    const owner = await ledger.tenant()
    const mandate = await ledger.mandate(owner.sandbox)
    const hold = await ledger.hold(mandate)
    const fields = { idempotencyKey: 'order-1' }
    const transactionId = await ledger.pay(owner.sandbox, hold, fields)
    const replayed = { outcome: 'replayed', transactionId }
    assert.deepEqual(await ledger.capture(owner.sandbox, hold, fields), replayed)
    const spelledOtherwise = { ...fields, merchantDomain: 'API.example.com.' }
    assert.deepEqual(await ledger.capture(owner.sandbox, hold, spelledOtherwise), replayed)

    // Retries still work after the window, after the mandate, and after a restart.
    ledger.clock.nowMs += 86_400_000
    await ledger.sweep()
    await ledger.moveMandate(mandate, 'revoked')
    await ledger.reopen()
    assert.deepEqual(await ledger.capture(owner.sandbox, hold, fields), replayed)
    assert.deepEqual(await ledger.sums(mandate), { spent: '1.00', held: '0.00' })
    const { items } = await ledger.store.listAuditEvents(
      owner.sandbox,
      { type: 'payment.verified' },
      { limit: 10 },
    )
    assert.equal(items.length, 1)
  })

  test('A proof that differs from its hold is invalid_signature, and the issued one can still be captured [verify.step.3]', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const mandate = await ledger.mandate(owner.sandbox)
    const other = await ledger.mandate(owner.sandbox)
    // After this, the store has cached everything that an optimistic capture needs.
    await ledger.pay(owner.sandbox, await ledger.hold(mandate, '0.01'))
    await ledger.pay(owner.sandbox, await ledger.hold(other, '0.01'))
    const hold = await ledger.hold(mandate, '0.01', { resourceUrl: 'https://api.example.com/a b' })
    const forgeries: readonly Partial<Capture>[] = [
      { amountText: '999.00' },
      { amountText: '0.010' },
      { currency: 'USDT' },
      { resourceUrl: `${hold.resourceUrl}/more` },
      { agentId: other.agentId },
      { mandateId: other.id },
      // The same text, split over other fields.
      {
        agentId: `${hold.agentId} 0.01`,
        amountText: 'USDC',
        currency: 'https://api.example.com/a',
        resourceUrl: 'b',
      },
    ]
    const forged = { outcome: 'failed', reason: 'invalid_signature' }
    for (const fields of forgeries) {
      assert.deepEqual(await ledger.capture(owner.sandbox, hold, fields), forged, JSON.stringify(fields))
    }
    assert.deepEqual(await ledger.sums(mandate), { spent: '0.01', held: '0.01' })
    assert.deepEqual(await ledger.sums(other), { spent: '0.01', held: '0.00' })
    const retry = { idempotencyKey: 'order-1' }
    const transactionId = await ledger.pay(owner.sandbox, hold, retry)
    assert.deepEqual(await ledger.sums(mandate), { spent: '0.02', held: '0.00' })
    for (const fields of forgeries) {
      const attempt = ledger.newCapture(owner.sandbox, hold, { ...retry, ...fields })
      assert.deepEqual(await ledger.store.capture(attempt), forged, 'no replay either')
      assert.deepEqual(await ledger.store.settleLate(attempt), proofExpired)
    }
    assert.deepEqual(await ledger.capture(owner.sandbox, hold, retry), { outcome: 'replayed', transactionId })
  })

  const otherwise: readonly (readonly [name: string, fields: Partial<Capture>])[] = [
    ['no idempotency key', { idempotencyKey: null }],
    ['another idempotency key', { idempotencyKey: 'order-2' }],
    ['an uppercase idempotency key', { idempotencyKey: 'ORDER-1' }],
    ['another merchant domain', { merchantDomain: 'other.example' }],
  ]
  for (const [name, fields] of otherwise) {
    test(`The same proof with ${name} is nonce_reused [verify.step.4]`, async (context) => {
      const ledger = await open(context)
      const owner = await ledger.tenant()
      const hold = await ledger.hold(await ledger.mandate(owner.sandbox, { allowedSellers: ['*'] }))
      await ledger.pay(owner.sandbox, hold, { idempotencyKey: 'order-1' })
      const attempt = ledger.newCapture(owner.sandbox, hold, { idempotencyKey: 'order-1', ...fields })
      assert.deepEqual(await ledger.store.capture(attempt), { outcome: 'failed', reason: 'nonce_reused' })
      assert.deepEqual(await ledger.store.settleLate(attempt), proofExpired)
    })
  }

  test('The same proof from another key of the account is nonce_reused, whatever its idempotency key', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const hold = await ledger.hold(await ledger.mandate(owner.sandbox))
    const merchant = await ledger.key(owner.sandbox, 'merchant')
    await ledger.pay(owner.sandbox, hold, { idempotencyKey: 'order-1' })
    const attempt = ledger.newCapture(merchant, hold, { idempotencyKey: 'order-1' })
    assert.deepEqual(await ledger.store.capture(attempt), { outcome: 'failed', reason: 'nonce_reused' })
    assert.deepEqual(await ledger.store.settleLate(attempt), proofExpired)
  })

  test('A proof that was captured without an idempotency key is never replayed', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const hold = await ledger.hold(await ledger.mandate(owner.sandbox))
    await ledger.pay(owner.sandbox, hold)
    for (const idempotencyKey of [null, '', 'null', 'order-1']) {
      const attempt = ledger.newCapture(owner.sandbox, hold, { idempotencyKey })
      assert.deepEqual(await ledger.store.settleLate(attempt), proofExpired)
      assert.deepEqual(await ledger.store.capture(attempt), { outcome: 'failed', reason: 'nonce_reused' })
    }
  })

  test('One idempotency key may serve many proofs: it is compared together with the proof', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const mandate = await ledger.mandate(owner.sandbox)
    const fields = { idempotencyKey: 'the-only-one' }
    const first = await ledger.pay(owner.sandbox, await ledger.hold(mandate), fields)
    const second = await ledger.pay(owner.sandbox, await ledger.hold(mandate), fields)
    assert.notEqual(first, second)
    assert.deepEqual(await ledger.sums(mandate), { spent: '2.00', held: '0.00' })
  })

  test('An answer after the window is final: the hold has ended and cannot be captured', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const mandate = await ledger.mandate(owner.sandbox)
    const hold = await ledger.hold(mandate)
    const attempt = ledger.newCapture(owner.sandbox, hold, { idempotencyKey: 'order-1' })
    const closesAtMs = hold.issuedAtMs + validityWindowMs
    for (const nowMs of [hold.issuedAtMs - 2 * validityWindowMs, closesAtMs]) {
      assert.deepEqual(await ledger.store.settleLate({ ...attempt, nowMs }), proofExpired)
      assert.deepEqual(await ledger.sums(mandate), { spent: '0.00', held: '1.00' }, 'not over yet')
    }
    for (const nowMs of [closesAtMs + 1, closesAtMs + holdLifeMs]) {
      assert.deepEqual(await ledger.store.settleLate({ ...attempt, nowMs }), proofExpired)
      assert.deepEqual(await ledger.sums(mandate), { spent: '0.00', held: '0.00' })
    }
    assert.deepEqual(await ledger.store.capture(attempt), proofExpired)
    assert.equal((await ledger.store.findProof({ ...owner.sandbox, nonce: hold.nonce }))?.status, 'expired')
  })

  test('If a capture races with the answer after its window, both agree', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const mandate = await ledger.mandate(owner.sandbox)
    await ledger.pay(owner.sandbox, await ledger.hold(mandate))
    const holds = await Promise.all(Array.from({ length: 12 }, () => ledger.hold(mandate)))
    const settled = await Promise.all(
      holds.map(async (hold, index) => {
        const attempt = ledger.newCapture(owner.sandbox, hold, { idempotencyKey: 'order-1' })
        const nowMs = hold.issuedAtMs + validityWindowMs + 1
        const late = () => ledger.store.settleLate({ ...attempt, nowMs })
        const early = index % 2 === 0 ? [late()] : []
        const [captured, ...settlements] = await Promise.all([
          ledger.store.capture(attempt),
          ...early,
          late(),
        ])
        const isCaptured = captured.outcome === 'captured'
        const wanted = isCaptured
          ? { outcome: 'replayed', transactionId: attempt.transactionId }
          : proofExpired
        assert.deepEqual(settlements.at(-1), wanted)
        assert.deepEqual(await late(), wanted)
        return isCaptured
      }),
    )
    const paid = settled.filter(Boolean).length
    assert.deepEqual(await ledger.sums(mandate), { spent: `${1 + paid}.00`, held: '0.00' })
  })

  test('A retry finds the transaction of a capture, and none without a capture', async (context) => {
    const ledger = await openEmpty(context)
    const payer = await ledger.tenant()
    const shop = await ledger.tenant()
    await ledger.seller(shop.sandbox)
    const hold = await ledger.hold(await ledger.mandate(payer.sandbox))
    const attempt = ledger.newCapture(shop.sandbox, hold, { idempotencyKey: 'order-1' })
    assert.deepEqual(await ledger.store.settleLate(attempt), proofExpired)
    const refused = await ledger.capture(shop.sandbox, hold, {
      idempotencyKey: 'order-1',
      merchantDomain: 'other.example',
    })
    assert.equal(refused.outcome, 'refused')
    assert.deepEqual(await ledger.store.settleLate(attempt), proofExpired)
    await ledger.store.capture(attempt)
    const { transactionId } = attempt
    const late = { ...attempt, nowMs: attempt.nowMs + 2 * holdLifeMs }
    for (const one of [attempt, late]) {
      assert.deepEqual(await ledger.store.settleLate(one), { outcome: 'replayed', transactionId })
    }
    const { keyId } = shop.sandbox
    for (const others of [
      { caller: payer.sandbox },
      { nonce: ledger.ids.nonce() },
      { caller: { ...shop.production, keyId } },
    ]) {
      assert.deepEqual(await ledger.store.settleLate({ ...late, ...others }), proofExpired)
    }
    assert.deepEqual(await ledger.store.findLedgerFaults(), [])
  })
})

/** A hold that was captured in full. */
function capturedAs(hold: Hold, transactionId: string): Hold {
  return { ...hold, status: 'captured', transactionId, capturedText: hold.amountText }
}

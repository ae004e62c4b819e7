import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Caller, Mandate } from '../domain/records.ts'
import { parseAmount } from '../domain/money.ts'
import { shopDomain, type StoreLedger } from '../../testing/store-ledger.ts'
import { storeConformance } from '../../testing/stores.ts'

// What verify-agent reports: which callers it answers, for which agents, and which facts its risk signals
// use.
storeConformance(({ open, openOwn }) => {
  test("verify-agent answers the agent's own account whatever the seller", async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const agent = await ledger.agent(owner.sandbox)
    const mandate = await ledger.mandate(agent)
    const facts = await ask(ledger, owner.sandbox, mandate)
    assert.deepEqual({ agent: facts.agent, mandate: facts.mandate }, { agent, mandate })
    const inProduction = await ask(ledger, owner.production, mandate)
    assert.deepEqual(inProduction, { agent: undefined, mandate: undefined, risk: undefined })
  })

  test('verify-agent answers another account only if it owns the seller under merchant_domain', async (context) => {
    const ledger = await open(context)
    const customer = await ledger.tenant()
    const shop = await ledger.tenant()
    const stranger = await ledger.tenant()
    await ledger.seller(shop.sandbox)
    await ledger.seller(stranger.sandbox, 'stranger.example')
    await ledger.seller(stranger.production)
    const agent = await ledger.agent(customer.sandbox)
    const mandate = await ledger.mandate(agent)
    const unresolved = { agent: undefined, mandate: undefined, risk: undefined }

    for (const spelling of [shopDomain, 'API.EXAMPLE.COM.']) {
      const facts = await ask(ledger, shop.sandbox, mandate, spelling)
      assert.deepEqual({ agent: facts.agent, mandate: facts.mandate }, { agent, mandate })
    }
    const refused: readonly (readonly [Caller, string])[] = [
      [stranger.sandbox, shopDomain],
      [stranger.sandbox, 'unregistered.example'],
      [shop.sandbox, 'unregistered.example'],
      [shop.sandbox, 'stranger.example'],
      [shop.production, shopDomain],
      [stranger.production, shopDomain],
    ]
    for (const [caller, domain] of refused) {
      assert.deepEqual(await ask(ledger, caller, mandate, domain), unresolved)
    }
  })

  test("An unknown agent, a revoked agent, and another agent's mandate get different answers [policy.3]", async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const agent = await ledger.agent(owner.sandbox)
    const mandate = await ledger.mandate(agent)
    const others = await ledger.mandate(owner.sandbox)
    const unknown = await ask(ledger, owner.sandbox, { ...mandate, agentId: 'agent_none' })
    assert.deepEqual(unknown, { agent: undefined, mandate: undefined, risk: undefined })
    for (const id of ['mandate_none', others.id]) {
      const facts = await ask(ledger, owner.sandbox, { ...mandate, id })
      assert.deepEqual(facts, { agent, mandate: undefined, risk: undefined })
    }
    await ledger.revokeAgent(agent)
    assert.equal((await ask(ledger, owner.sandbox, mandate)).agent?.status, 'revoked')
  })

  test('The risk facts belong to the mandate and come from one snapshot [verify-agent.risk]', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const mandate = await ledger.mandate(owner.sandbox, { allowedSellers: ['*'] })
    const other = await ledger.mandate(owner.sandbox)
    const quiet = {
      maxTotalMicro: parseAmount('100.00'),
      spentMicro: parseAmount('0'),
      expiresAtMs: mandate.expiresAtMs,
      hasPaidThisSeller: false,
      deniedInLastHour: 0,
      transactionsInLastMinute: 0,
    }
    assert.deepEqual((await ask(ledger, owner.sandbox, mandate)).risk, quiet)

    await ledger.pay(owner.sandbox, await ledger.hold(other))
    await ledger.store.evaluate(ledger.newProposal(other, { amountText: '99.00' }))
    assert.deepEqual((await ask(ledger, owner.sandbox, mandate)).risk, quiet, "another mandate's acts")

    await ledger.hold(mandate, '1.00')
    await ledger.pay(owner.sandbox, await ledger.hold(mandate, '2.00'))
    for (let round = 0; round < 3; round++) {
      await ledger.store.evaluate(ledger.newProposal(mandate, { amountText: '99.00' }))
    }
    const busy = {
      ...quiet,
      spentMicro: parseAmount('2.00'),
      hasPaidThisSeller: true,
      deniedInLastHour: 3,
      transactionsInLastMinute: 4,
    }
    assert.deepEqual((await ask(ledger, owner.sandbox, mandate)).risk, busy)
    assert.equal(
      (await ask(ledger, owner.sandbox, mandate, 'API.example.com.')).risk?.hasPaidThisSeller,
      true,
    )
    assert.equal((await ask(ledger, owner.sandbox, mandate, 'other.example')).risk?.hasPaidThisSeller, false)

    ledger.clock.nowMs += 60_000
    const aMinuteLater = { ...busy, transactionsInLastMinute: 0 }
    assert.deepEqual((await ask(ledger, owner.sandbox, mandate)).risk, aMinuteLater)
    ledger.clock.nowMs += 59 * 60_000
    const anHourLater = { ...aMinuteLater, deniedInLastHour: 0 }
    assert.deepEqual((await ask(ledger, owner.sandbox, mandate)).risk, anHourLater)
  })

  test('The risk facts use the thirty newest transactions and ignore earlier denials [verify-agent.risk]', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const mandate = await ledger.mandate(owner.sandbox)
    const countsAfter = async (evaluations: number, amountText: string) => {
      for (let round = 0; round < evaluations; round++) {
        await ledger.store.evaluate(ledger.newProposal(mandate, { amountText }))
      }
      const { risk } = await ask(ledger, owner.sandbox, mandate)
      return [risk?.deniedInLastHour, risk?.transactionsInLastMinute]
    }
    assert.deepEqual(await countsAfter(3, '99.00'), [3, 3])
    assert.deepEqual(await countsAfter(27, '1.00'), [3, 30])
    assert.deepEqual(await countsAfter(2, '1.00'), [1, 30])
    assert.deepEqual(await countsAfter(1, '1.00'), [0, 30])
  })

  test('An evaluation is not a purchase: the first payment to a seller still counts as the first [verify-agent.risk]', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const mandate = await ledger.mandate(owner.sandbox)
    assert.equal((await ledger.store.evaluate(ledger.newProposal(mandate))).decision, 'approved')
    assert.equal((await ask(ledger, owner.sandbox, mandate)).risk?.hasPaidThisSeller, false)
  })

  test('A seller that was paid before a thousand other payments is still known [verify-agent.risk]', async (context) => {
    const ledger = await openOwn(context)
    const owner = await ledger.tenant()
    const mandate = await ledger.mandate(owner.sandbox, { allowedSellers: ['*'] })
    await ledger.pay(owner.sandbox, await ledger.hold(mandate, '0.01'))
    const hasPaid = async () => (await ask(ledger, owner.sandbox, mandate)).risk?.hasPaidThisSeller
    assert.equal(await hasPaid(), true)
    await Promise.all(
      Array.from({ length: 1_001 }, async () => {
        const hold = await ledger.hold(mandate, '0.01')
        const capture = ledger.newCapture(owner.sandbox, hold, { merchantDomain: 'other.example' })
        assert.equal((await ledger.store.capture(capture)).outcome, 'captured')
      }),
    )
    while (await ledger.store.addUpActivity());
    await ledger.reopen()
    assert.equal(await hasPaid(), true)
    const other = await ask(ledger, owner.sandbox, mandate, 'third.example')
    assert.equal(other.risk?.hasPaidThisSeller, false)
  })

  test('The risk facts count every completed decision while others are in progress [verify-agent.risk]', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const mandate = await ledger.mandate(owner.sandbox)
    let answered = 0
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        for (let round = 0; round < 3; round++) {
          await ledger.store.evaluate(ledger.newProposal(mandate))
          const least = ++answered
          const { risk } = await ask(ledger, owner.sandbox, mandate)
          assert.ok((risk?.transactionsInLastMinute ?? 0) >= least)
        }
      }),
    )
  })

  test('A captured authorization and a refund are known at once, also under their mandate [verify-agent.risk]', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const mandate = await ledger.mandate(owner.sandbox)
    const authorized = await ledger.authorized(owner.sandbox, await ledger.hold(mandate, '2.00'))
    const known = async () => {
      const { risk } = await ask(ledger, owner.sandbox, mandate)
      const { items } = await ledger.store.listTransactions(
        owner.sandbox,
        { mandateId: mandate.id },
        { limit: 9 },
      )
      const kinds = items.map(({ status }) => status)
      return [risk?.hasPaidThisSeller, risk?.transactionsInLastMinute, ...kinds]
    }
    assert.deepEqual(await known(), [false, 0])
    const settled = await ledger.settle(owner.sandbox, authorized)
    assert(settled.outcome === 'captured')
    assert.deepEqual(await known(), [true, 1, 'paid'])
    await ledger.refund(owner.sandbox, settled.transactionId, '1.00')
    assert.deepEqual(await known(), [true, 1, 'refunded', 'paid'])
  })

  test('verify-agent records nothing [state.rule.1] [what.4]', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const mandate = await ledger.mandate(owner.sandbox)
    const events = await ledger.store.listAuditEvents(owner.sandbox, {}, { limit: 10 })
    await ask(ledger, owner.sandbox, mandate)
    assert.deepEqual(await ledger.store.listAuditEvents(owner.sandbox, {}, { limit: 10 }), events)
    assert.deepEqual(await ledger.store.findMandate(mandate), mandate)
    const { items } = await ledger.store.listTransactions(owner.sandbox, {}, { limit: 10 })
    assert.deepEqual(items, [])
  })
})

function ask(
  ledger: StoreLedger,
  caller: Caller,
  mandate: Pick<Mandate, 'id' | 'agentId'>,
  merchantDomain = shopDomain,
) {
  const { id: mandateId, agentId } = mandate
  return ledger.store.readAgentFacts({
    caller,
    agentId,
    mandateId,
    merchantDomain,
    nowMs: ledger.clock.nowMs,
  })
}

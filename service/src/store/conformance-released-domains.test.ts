import assert from 'node:assert/strict'
import { test } from 'node:test'

import { shopDomain } from '../../testing/store-ledger.ts'
import { storeConformance } from '../../testing/stores.ts'

// What remains of a seller after an operator releases its domain.
storeConformance(({ openEmpty }) => {
  test('The seller of a released domain cannot collect, past payments keep its id, and another account can register the domain', async (context) => {
    const ledger = await openEmpty(context)
    const [operator, payer, former, owner] = [
      await ledger.tenant(),
      await ledger.tenant(),
      await ledger.tenant(),
      await ledger.tenant(),
    ]
    const seller = await ledger.seller(former.sandbox)
    const [elsewhere, kept] = [
      await ledger.seller(former.production),
      await ledger.seller(former.sandbox, 'other.example'),
    ]
    const mandate = await ledger.mandate(payer.sandbox)
    const [paid, second, third] = [
      await ledger.hold(mandate),
      await ledger.hold(mandate),
      await ledger.hold(mandate),
    ]
    const id = await ledger.pay(former.sandbox, paid, { idempotencyKey: 'once' })

    const released = { accountId: former.account.id, id: seller.id }
    assert.deepEqual(await ledger.releaseDomain(operator.sandbox), released)
    assert.equal(await ledger.releaseDomain(operator.sandbox), undefined, 'a second release finds none')
    const refused = { outcome: 'refused', code: 'seller_not_yours' }
    assert.deepEqual(await ledger.capture(former.sandbox, second), refused)
    assert.equal(await ledger.store.ownsDomain({ ...former.sandbox, domain: shopDomain }), false)
    const listed = await ledger.store.listSellers(former.sandbox, { limit: 10 })
    assert.deepEqual(listed.items, [kept])
    const inProduction = await ledger.store.listSellers(former.production, { limit: 10 })
    assert.deepEqual(inProduction.items, [elsewhere])

    const question = { agentId: mandate.agentId, mandateId: mandate.id, merchantDomain: shopDomain }
    const facts = { ...question, nowMs: ledger.clock.nowMs }
    const asked = await ledger.store.readAgentFacts({ caller: former.sandbox, ...facts })
    assert.equal(asked.risk, undefined, 'it sees no agent through that domain')

    for (const account of [payer, former]) {
      const past = await ledger.store.findTransaction({ ...account.sandbox, id }, {})
      assert.equal(past?.sellerId, seller.id, 'the payment keeps its seller')
    }
    const retry = await ledger.capture(former.sandbox, paid, { idempotencyKey: 'once' })
    assert.deepEqual(retry, { outcome: 'replayed', transactionId: id })

    const next = await ledger.seller(owner.sandbox)
    const nextId = await ledger.pay(owner.sandbox, second)
    const payment = await ledger.store.findTransaction({ ...owner.sandbox, id: nextId }, {})
    assert.equal(payment?.sellerId, next.id)
    assert.deepEqual(await ledger.capture(former.sandbox, third), refused)

    const events = (scope: typeof operator.sandbox) => ledger.eventsAbout(scope, seller.id)
    const data = { domain: shopDomain }
    const summary = (event: Awaited<ReturnType<typeof events>>[number]) => [event.type, event.data]
    assert.deepEqual((await events(operator.sandbox)).map(summary), [
      ['seller.released', { ...data, account_id: former.account.id }],
    ])
    assert.deepEqual((await events(former.sandbox)).map(summary).at(-1), ['seller.released', data])
    assert.deepEqual(await events(former.production), [])
    assert.deepEqual(await ledger.store.findLedgerFaults(), [])
  })

  test('A payment within one account names the seller only while its domain is registered', async (context) => {
    const ledger = await openEmpty(context)
    const { account, sandbox } = await ledger.tenant()
    const mandate = await ledger.mandate(sandbox)
    const sellerOfNext = async () => {
      const id = await ledger.pay(sandbox, await ledger.hold(mandate))
      return (await ledger.store.findTransaction({ ...sandbox, id }, {}))?.sellerId
    }
    const first = await ledger.seller(sandbox)
    // The first payment makes the store cache the seller.
    assert.deepEqual([await sellerOfNext(), await sellerOfNext()], [first.id, first.id])
    assert.deepEqual(await ledger.releaseDomain(sandbox), { accountId: account.id, id: first.id })
    assert.deepEqual([await sellerOfNext(), await sellerOfNext()], [null, null])
    const second = await ledger.seller(sandbox)
    assert.deepEqual([await sellerOfNext(), await sellerOfNext()], [second.id, second.id])
    const types = (await ledger.eventsAbout(sandbox, first.id)).map(({ type }) => type)
    assert.deepEqual(types, ['seller.created', 'seller.released'], 'one event if both accounts are the same')
    assert.deepEqual(await ledger.store.findLedgerFaults(), [])
  })

  test('If captures race with a release, only those that started before its answer reach the seller', async (context) => {
    const ledger = await openEmpty(context)
    const [operator, payer, former] = [await ledger.tenant(), await ledger.tenant(), await ledger.tenant()]
    await ledger.seller(former.sandbox)
    const mandate = await ledger.mandate(payer.sandbox)
    await ledger.pay(former.sandbox, await ledger.hold(mandate))
    const holds = await Promise.all(Array.from({ length: 24 }, () => ledger.hold(mandate)))
    let isReleased = false
    let charged = 1
    const racing = holds.map(async (hold, index) => {
      await Promise.all(Array.from({ length: index % 8 }, () => ledger.store.isEmpty()))
      const mayCharge = !isReleased
      const { outcome } = await ledger.capture(former.sandbox, hold)
      if (outcome !== 'captured') return
      assert.ok(mayCharge, 'a capture that started after the answer charged')
      charged++
    })
    await Promise.all([ledger.releaseDomain(operator.sandbox), ledger.releaseDomain(operator.sandbox)])
    isReleased = true
    const late = await ledger.hold(mandate)
    assert.equal((await ledger.capture(former.sandbox, late)).outcome, 'refused')
    await Promise.all(racing)
    assert.equal((await ledger.sums(mandate)).spent, `${charged}.00`)
    const { items } = await ledger.store.listAuditEvents(
      operator.sandbox,
      { type: 'seller.released' },
      { limit: 10 },
    )
    assert.equal(items.length, 1, 'of two releases, one finds the seller')
    assert.deepEqual(await ledger.store.findLedgerFaults(), [])
  })
})

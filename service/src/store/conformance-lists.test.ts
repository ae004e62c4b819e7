import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Scope } from '../domain/records.ts'
import { scopeOf, shopDomain, type StoreLedger, type Tenant } from '../../testing/store-ledger.ts'
import { storeConformance, type OpenLedger } from '../../testing/stores.ts'
import type { AuditFilter, Page, PageOf, TransactionFilter } from './store.ts'

// Lists: newest first, page by page, each within one account and one environment.
storeConformance(({ open, openEmpty }) => {
  test('Lists are newest first, and pages join without a gap or an overlap', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const ids: string[] = []
    for (let index = 0; index < 9; index++) {
      ids.push((await ledger.agent(owner.sandbox)).id)
      if (index % 3 === 0) ledger.clock.nowMs += 1
    }
    const newestFirst = ids.toReversed()
    for (const limit of [1, 2, 3, 4, 8, 9, 10, 200]) {
      const pages = await allPages((page) => ledger.store.listAgents(owner.sandbox, {}, page), limit)
      assert.deepEqual(
        pages.flat().map(({ id }) => id),
        newestFirst,
      )
      assert.equal(pages.length, Math.ceil(9 / limit), 'no page is empty or missing')
    }
  })

  test('The next page continues after the last one, whatever was added in between', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const old: string[] = []
    for (let index = 0; index < 5; index++) old.push((await ledger.agent(owner.sandbox)).id)
    const first = await ledger.store.listAgents(owner.sandbox, {}, { limit: 2 })
    const added = await ledger.agent(owner.sandbox)
    await ledger.revokeAgent({ ...owner.sandbox, id: old[2] ?? '' })
    const second = await ledger.store.listAgents(owner.sandbox, {}, { limit: 2, olderThan: first.next })
    const third = await ledger.store.listAgents(owner.sandbox, {}, { limit: 2, olderThan: second.next })
    const listed = [...first.items, ...second.items, ...third.items].map(({ id }) => id)
    assert.deepEqual(listed, old.toReversed())
    assert.equal(third.next, undefined)
    const now = await ledger.store.listAgents(owner.sandbox, {}, { limit: 1 })
    assert.equal(now.items[0]?.id, added.id)
  })

  test('An empty list is one empty page, and so is a page after the oldest item', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const nothing = { items: [], next: undefined }
    assert.deepEqual(await ledger.store.listAgents(owner.sandbox, {}, { limit: 10 }), nothing)
    const { id } = await ledger.agent(owner.sandbox)
    assert.deepEqual(await ledger.store.listAgents(owner.sandbox, {}, { limit: 10, olderThan: id }), nothing)
    assert.deepEqual(await ledger.store.listAgents(owner.sandbox, {}, { limit: 10, olderThan: '' }), nothing)
    const { items } = await ledger.store.listAgents(owner.sandbox, {}, { limit: 10, olderThan: '~' })
    assert.equal(items.length, 1)
  })

  test('Every list stays within its account and environment [auth.2]', async (context) => {
    const ledger = await open(context)
    const tenants = [await ledger.tenant(), await ledger.tenant()]
    for (const [index, { sandbox, production }] of tenants.entries()) {
      for (const caller of [sandbox, production]) {
        const agent = await ledger.agent(caller)
        const mandate = await ledger.mandate(agent)
        await ledger.seller(caller, `shop-${index}.example`)
        await ledger.store.evaluate(ledger.newProposal(mandate))
      }
    }
    for (const tenant of tenants) {
      for (const scope of [scopeOf(tenant.sandbox), scopeOf(tenant.production)]) {
        const page = { limit: 50 }
        const lists = await Promise.all([
          ledger.store.listAgents(scope, {}, page),
          ledger.store.listMandates(scope, {}, page),
          ledger.store.listSellers(scope, page),
          ledger.store.listTransactions(scope, {}, page),
        ])
        for (const { items, next } of lists) {
          assert.deepEqual(items.map(scopeOf), [scope])
          assert.equal(next, undefined)
        }
        const events = await ledger.store.listAuditEvents(scope, {}, page)
        assert.deepEqual(events.items.map(scopeOf), [scope, scope, scope])
      }
      const keys = await ledger.store.listApiKeys(scopeOf(tenant.sandbox), { limit: 50 })
      const { production, sandbox } = tenant
      assert.deepEqual(keys.items.map(scopeOf), [production, sandbox].map(scopeOf), 'keys of both')
    }
  })

  test('Keys of both environments are listed in pages, including revoked ones', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const merchant = await ledger.key(owner.sandbox, 'merchant', { label: 'shop', hint: 'wxyz' })
    await ledger.revokeKey(merchant, 'sandbox')
    const pages = await allPages((page) => ledger.store.listApiKeys(owner.sandbox, page), 2)
    const ids = pages.flat().map(({ id }) => id)
    assert.deepEqual(ids, [merchant.keyId, owner.production.keyId, owner.sandbox.keyId])
    const [newest] = pages.flat()
    assert.deepEqual([newest?.label, newest?.hint, newest?.revokedAtMs], ['shop', 'wxyz', ledger.clock.nowMs])
    assert(!pages.flat().some((key) => 'secretHash' in key), 'the hash stays in the store')
  })

  test("An agent's key sees only its own agent and mandates", async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const mine = await ledger.agent(owner.sandbox)
    const other = await ledger.agent(owner.sandbox)
    const mandates = [await ledger.mandate(mine), await ledger.mandate(other), await ledger.mandate(mine)]
    const filter = { agentId: mine.id }
    const agents = await ledger.store.listAgents(owner.sandbox, filter, { limit: 10 })
    assert.deepEqual(agents.items, [mine])
    const listed = await allPages((page) => ledger.store.listMandates(owner.sandbox, filter, page), 1)
    assert.deepEqual(listed.flat(), [mandates[2], mandates[0]])
    const none = await ledger.store.listMandates(owner.sandbox, { agentId: 'agent_none' }, { limit: 10 })
    assert.deepEqual(none.items, [])
  })

  const transactionFilters: readonly (readonly [
    name: string,
    filter: (world: World) => TransactionFilter,
  ])[] = [
    ['nothing', () => ({})],
    ['the agent', ({ agents }) => ({ agentId: agents[0] })],
    ['the mandate', ({ mandates }) => ({ mandateId: mandates[1] })],
    ['approved', () => ({ status: 'approved' })],
    ['denied', () => ({ status: 'denied' })],
    ['paid', () => ({ status: 'paid' })],
    ['pending', () => ({ status: 'pending' })],
    ['the merchant domain', () => ({ merchantDomain: shopDomain })],
    ['another merchant domain', () => ({ merchantDomain: 'other.example' })],
    ['agent and status', ({ agents }) => ({ agentId: agents[1], status: 'paid' })],
    ['mandate and merchant', ({ mandates }) => ({ mandateId: mandates[0], merchantDomain: 'other.example' })],
    [
      'everything at once',
      ({ agents, mandates }) => ({
        agentId: agents[0],
        mandateId: mandates[0],
        status: 'paid',
        merchantDomain: shopDomain,
      }),
    ],
    ['an agent without transactions', () => ({ agentId: 'agent_none' })],
    ['nothing that is undefined', () => ({ agentId: undefined, mandateId: undefined, status: undefined })],
  ]
  test('Filtering transactions by agent, mandate, status and merchant returns exactly the matches', async (context) => {
    const world = await makeWorld(open, context)
    const { ledger, owner } = world
    for (const [name, filter] of transactionFilters) {
      const wanted = filter(world)
      const everything = (await ledger.store.listTransactions(owner.sandbox, {}, { limit: 200 })).items
      const matching = everything.filter(
        (one) =>
          (wanted.agentId ?? one.agentId) === one.agentId &&
          (wanted.mandateId ?? one.mandateId) === one.mandateId &&
          (wanted.status ?? one.status) === one.status &&
          (wanted.merchantDomain ?? one.merchantDomain) === one.merchantDomain,
      )
      assert.equal(everything.length, 12)
      const pages = await allPages((page) => ledger.store.listTransactions(owner.sandbox, wanted, page), 2)
      assert.deepEqual(pages.flat(), matching, name)
      for (const one of everything) {
        const found = await ledger.store.findTransaction({ ...owner.sandbox, id: one.id }, wanted)
        assert.deepEqual(found, matching.includes(one) ? one : undefined, name)
      }
    }
  })

  test("A merchant's key sees payments to its account's sellers and payments that its account collected", async (context) => {
    const ledger = await openEmpty(context)
    const payer = await ledger.tenant()
    const shop = await ledger.tenant()
    await ledger.seller(shop.sandbox)
    const theirs = await ledger.mandate(payer.sandbox, { allowedSellers: ['*'] })
    const own = await ledger.mandate(shop.sandbox, { allowedSellers: ['*'] })
    await ledger.store.evaluate(ledger.newProposal(own))
    const fromPayer = await ledger.pay(shop.sandbox, await ledger.hold(theirs))
    const unregistered = { merchantDomain: 'unregistered.example' }
    const fromItself = await ledger.pay(shop.sandbox, await ledger.hold(own), unregistered)
    const toItself = await ledger.pay(shop.sandbox, await ledger.hold(own))
    const received = { receivedOnly: true }
    const ids = async (tenant: Tenant, filter: TransactionFilter) =>
      (await ledger.store.listTransactions(tenant.sandbox, filter, { limit: 10 })).items.map(({ id }) => id)
    assert.deepEqual(await ids(shop, received), [toItself, fromItself, fromPayer])
    assert.deepEqual(await ids(shop, { ...received, merchantDomain: shopDomain }), [toItself, fromPayer])
    assert.deepEqual(await ids(payer, received), [], 'payments to another account were not received')
    assert.deepEqual(await ids(payer, {}), [fromPayer])
    const found = await ledger.store.findTransaction({ ...payer.sandbox, id: fromPayer }, received)
    assert.equal(found, undefined)
  })

  const auditFilters: readonly (readonly [name: string, filter: (world: World) => AuditFilter])[] = [
    ['nothing', () => ({})],
    ['type', () => ({ type: 'payment.verified' })],
    ['another type', () => ({ type: 'mandate.created' })],
    ['a type that never occurred', () => ({ type: 'seller.created' })],
    ['subject', ({ agents }) => ({ subjectId: agents[0] })],
    ['type and subject', ({ mandates }) => ({ type: 'mandate.created', subjectId: mandates[1] })],
    [
      'a type that the subject does not have',
      ({ agents }) => ({ type: 'mandate.created', subjectId: agents[0] }),
    ],
  ]
  test('Filtering audit events by type and subject returns exactly the matches', async (context) => {
    const world = await makeWorld(open, context)
    const { ledger, owner } = world
    for (const [name, filter] of auditFilters) {
      const wanted = filter(world)
      const everything = (await ledger.store.listAuditEvents(owner.sandbox, {}, { limit: 200 })).items
      const matching = everything.filter(
        (one) =>
          (wanted.type ?? one.type) === one.type && (wanted.subjectId ?? one.subjectId) === one.subjectId,
      )
      assert.equal(
        everything.length,
        8,
        'two agents, two mandates and four payments; an evaluation changes nothing',
      )
      const pages = await allPages((page) => ledger.store.listAuditEvents(owner.sandbox, wanted, page), 3)
      assert.deepEqual(pages.flat(), matching, name)
    }
  })

  test('Payment events are sorted by time among the others on every page', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const mandate = await ledger.mandate(owner.sandbox)
    for (let payments = 0; payments < 4; payments++) {
      ledger.clock.nowMs += 10
      await ledger.pay(owner.sandbox, await ledger.hold(mandate))
      if (payments % 2 === 0) await ledger.agent(owner.sandbox)
    }
    const read = async (filter: AuditFilter, limit: number, scope: Scope = owner.sandbox) =>
      (await allPages((page) => ledger.store.listAuditEvents(scope, filter, page), limit)).flat()
    const all = await read({}, 100)
    assert.deepEqual(
      all.map(({ type }) => type).filter((type) => type === 'payment.verified' || type === 'agent.created'),
      // Newest first; the first agent is the mandate's.
      ['payment', 'agent', 'payment', 'payment', 'agent', 'payment', 'agent'].map((what) =>
        what === 'agent' ? 'agent.created' : 'payment.verified',
      ),
    )
    assert.deepEqual(
      all.map(({ id }) => id),
      all.map(({ id }) => id).toSorted((left, right) => (left < right ? 1 : -1)),
    )
    for (const limit of [1, 2, 3, 5]) {
      assert.deepEqual(await read({}, limit), all)
      for (const type of ['payment.verified', 'agent.created'] as const) {
        assert.deepEqual(
          await read({ type }, limit),
          all.filter((event) => event.type === type),
        )
      }
    }
    for (const event of all) {
      const { subjectId, type } = event
      assert.deepEqual(
        await read({ subjectId }, 1),
        all.filter((other) => other.subjectId === subjectId),
      )
      assert.deepEqual(await read({ subjectId, type }, 10), [event])
    }
    assert.deepEqual(await read({}, 10, owner.production), [])
  })
})

/**
 * Creates an account with two agents, a mandate for each, and a few records of each kind at two merchants.
 */
interface World {
  readonly ledger: StoreLedger
  readonly owner: Tenant
  readonly agents: readonly string[]
  readonly mandates: readonly string[]
}

async function makeWorld(open: OpenLedger, context: Parameters<OpenLedger>[0]): Promise<World> {
  const ledger = await open(context)
  const owner = await ledger.tenant()
  const mandates = [
    await ledger.mandate(owner.sandbox, { allowedSellers: ['*'] }),
    await ledger.mandate(owner.sandbox, { allowedSellers: ['*'] }),
  ]
  for (const mandate of mandates) {
    for (const merchantDomain of [shopDomain, 'other.example']) {
      await ledger.store.evaluate(ledger.newProposal(mandate, { merchantDomain }))
      await ledger.store.evaluate(ledger.newProposal(mandate, { merchantDomain, amountText: '99.00' }))
      await ledger.pay(owner.sandbox, await ledger.hold(mandate), { merchantDomain })
    }
  }
  const agents = mandates.map(({ agentId }) => agentId)
  return { ledger, owner, agents, mandates: mandates.map(({ id }) => id) }
}

async function allPages<Item>(list: (page: Page) => Promise<PageOf<Item>>, limit: number): Promise<Item[][]> {
  const pages: Item[][] = []
  let olderThan: string | undefined
  do {
    const { items, next } = await list({ limit, olderThan })
    assert(items.length <= limit)
    pages.push(items)
    olderThan = next
  } while (olderThan !== undefined && pages.length < 100)
  return pages
}

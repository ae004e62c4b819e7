import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { advanceFeed, settledAt } from '../domain/feed.ts'
import type { Mandate, Scope, Transaction } from '../domain/records.ts'
import { storeConformance } from '../../testing/stores.ts'
import { scopeOf, shopDomain, type StoreLedger } from '../../testing/store-ledger.ts'
import type { ConsoleFilter } from './console/store.ts'
import type { Page, PageOf } from './store.ts'

// Filters that match few of many transactions: a console page reads a bounded number, and an API page is
// always full.
storeConformance(({ open }) => {
  // Made once, because it has many transactions; its tests only read.
  let world: World
  let close: (() => Promise<void>) | undefined
  before(async () => {
    world = await makeWorld(await open({ after: (own) => (close = own) }))
  })
  after(() => close?.())

  test('A list by time includes what was recorded after the clock was set back by an hour', async (context) => {
    const ledger = await open(context)
    const { sandbox } = await ledger.tenant()
    const mandate = await ledger.mandate(sandbox)
    const startMs = ledger.clock.nowMs
    const before = ledger.newProposal(mandate)
    await ledger.store.evaluate(before)
    ledger.clock.nowMs -= 60 * 60_000
    const setBackMs = ledger.clock.nowMs
    const after = ledger.newProposal(mandate)
    await ledger.store.evaluate(after)
    const paidId = await ledger.pay(sandbox, await ledger.hold(mandate))
    const idsIn = async (fromMs: number, beforeMs: number) => {
      const filter = { fromMs, beforeMs }
      const { items } = await ledger.store.listTransactions(sandbox, filter, { limit: 10 })
      return items.map(({ id }) => id)
    }
    assert.deepEqual(await idsIn(setBackMs, setBackMs + 1), [paidId, after.id])
    assert.deepEqual(await idsIn(startMs, startMs + 1), [before.id])
    assert.deepEqual(await idsIn(setBackMs, startMs + 1), [before.id, paidId, after.id])
  })

  test('A feed says that it skipped transactions if only those of the other environment were read', async (context) => {
    const ledger = await open(context)
    const { sandbox, production } = await ledger.tenant()
    const place = { settledBelow: settledAt(ledger.clock.nowMs), tails: new Set<string>() }
    const mandates = [await ledger.mandate(production), await ledger.mandate(sandbox)]
    for (const mandate of [mandates[0]!, ...Array.from({ length: 3 }, () => mandates[1]!)]) {
      await ledger.store.evaluate(ledger.newProposal(mandate))
    }
    const read = async (limit: number) => {
      const newest = await ledger.store.newestTransactions(production, { id: place.settledBelow, limit })
      const { fresh, hasGap } = advanceFeed(place, newest, ledger.clock.nowMs)
      return { shown: fresh.length, hasGap }
    }
    assert.deepEqual(await read(5), { shown: 1, hasGap: false })
    assert.deepEqual(await read(3), { shown: 0, hasGap: true })
  })

  test("The console's filters, alone or combined, find every match over several pages", async () => {
    for (const filter of filtersOf(world)) {
      const name = JSON.stringify(filter)
      const fitting = world.transactions.filter((one) => fits(one, filter, world))
      const pages = await allPages((page) => world.ledger.store.listConsoleTransactions(world, filter, page))
      assert.deepEqual(pages.flat(), fitting, name)
      // Each page but the last is full, or advances by as many entries as it may read.
      const most = Math.ceil(recorded / (pageSize * 6)) + Math.ceil(fitting.length / pageSize)
      assert.ok(pages.length <= most, `${name} took ${pages.length} pages`)
    }
  })

  test("The API's filters return full pages, and a next page only if there is one", async () => {
    for (const { reasonCode, ...filter } of filtersOf(world)) {
      if (reasonCode !== undefined) continue
      const name = JSON.stringify(filter)
      const fitting = world.transactions.filter((one) => fits(one, filter, world))
      const pages = await allPages((page) => world.ledger.store.listTransactions(world, filter, page))
      assert.deepEqual(pages.flat(), fitting, name)
      assert.equal(pages.length, Math.max(1, Math.ceil(fitting.length / pageSize)), name)
    }
  })

  test('An environment without transactions answers at once, however many the other one has', async (context) => {
    const ledger = await open(context)
    const { sandbox, production } = await ledger.tenant()
    const mandate = await ledger.mandate(sandbox)
    for (let made = 0; made < 10; made++) await ledger.store.evaluate(ledger.newProposal(mandate))
    const page = await ledger.store.listConsoleTransactions(production, {}, { limit: 1 })
    assert.deepEqual(page, { items: [], next: undefined })
    await ledger.store.evaluate(ledger.newProposal(await ledger.mandate(production)))
    const { items } = await ledger.store.listConsoleTransactions(production, {}, { limit: 1 })
    assert.equal(items.length, 1)
  })
})

const pageSize = 2

/** A sandbox history, newest first: many identical records, and far behind them a few of each kind. */
interface World extends Scope {
  readonly ledger: StoreLedger
  readonly agentIds: readonly string[]
  readonly mandates: readonly Mandate[]
  readonly transactions: readonly Transaction[]
}

const rareDomain = 'rare.example'

/** A name that is escaped in JSON and has a meaning in the JSON paths of some databases. */
const oddName = '$."größe"[0]'

/** How often each mandate, and one in production, has the same record. */
const identical = 12

/** The number of transactions in its account, including the other environment. */
const recorded = 4 * 2 * 4 + 5 * identical + 3

async function makeWorld(ledger: StoreLedger): Promise<World> {
  const owner = await ledger.tenant()
  const agents = [await ledger.agent(owner.sandbox), await ledger.agent(owner.sandbox)]
  const mandates: Mandate[] = []
  for (const agent of agents) {
    for (let made = 0; made < 2; made++)
      mandates.push(await ledger.mandate(agent, { allowedSellers: ['*'], maxTotalText: '1000.00' }))
  }
  let orders = 0
  const next = () =>
    ++orders % 3 === 0 ? null : { order: String(orders % 7), [oddName]: `"${orders % 2}", a:b` }
  const evaluate = async (mandate: Mandate, merchantDomain: string, amountText: string) => {
    ledger.clock.nowMs += 1_000
    await ledger.store.evaluate(ledger.newProposal(mandate, { merchantDomain, amountText, metadata: next() }))
  }
  for (const mandate of mandates) {
    for (const merchantDomain of [shopDomain, rareDomain]) {
      await evaluate(mandate, merchantDomain, '1.00')
      await evaluate(mandate, merchantDomain, '99.00')
      await evaluate(mandate, merchantDomain, '9999.00')
      const hold = await ledger.hold(mandate, '1.00', { metadata: next() })
      await ledger.pay(owner.sandbox, hold, { merchantDomain })
    }
  }
  const inProduction = await ledger.mandate(owner.production)
  // None of these belongs to a mandate of the agent that it names.
  const [first, , other] = mandates
  assert(first && other)
  const stray = { ...other, agentId: first.agentId }
  await evaluate(stray, shopDomain, '1.00')
  await evaluate({ ...stray, id: ledger.ids.next('mandate') }, rareDomain, '1.00')
  ledger.clock.nowMs += 1_000
  const { decision } = await ledger.store.issueProof(ledger.newHold(stray, '1.00', { metadata: next() }))
  assert.equal(decision, 'denied')
  // More entries than one step towards a full page reads.
  for (let made = 0; made < identical; made++) {
    for (const mandate of mandates) await evaluate(mandate, shopDomain, '1.00')
    await evaluate(inProduction, shopDomain, '1.00')
  }
  const { items } = await ledger.store.listTransactions(owner.sandbox, {}, { limit: 1_000 })
  assert.equal(items.length, recorded - identical)
  const agentIds = agents.map(({ id }) => id)
  return {
    ...scopeOf(owner.sandbox),
    ledger,
    agentIds,
    mandates,
    transactions: items,
  }
}

/** Filters, alone and combined. */
function filtersOf({ agentIds, mandates, transactions }: World): ConsoleFilter[] {
  const early = transactions.at(-5)?.createdAtMs
  const late = transactions.at(-30)?.createdAtMs
  const days: ConsoleFilter[] = [
    { fromMs: early, beforeMs: late },
    { fromMs: early, beforeMs: late, merchantDomain: rareDomain },
    { fromMs: early, agentId: agentIds[0], status: 'approved' },
    { beforeMs: late, mandateId: mandates[2]?.id },
    { direction: 'sent', status: 'paid' },
    { direction: 'sent', merchantDomain: rareDomain },
    { direction: 'received' },
  ]
  let filters: ConsoleFilter[] = [{}]
  for (const choices of [
    [{}, { agentId: agentIds[0] }],
    [{}, { mandateId: mandates[0]?.id }],
    [{}, { merchantDomain: shopDomain.toUpperCase() }, { merchantDomain: rareDomain }],
    [{}, { status: 'denied' }, { status: 'paid' }],
    [{}, { reasonCode: 'amount_exceeds_per_transaction_limit' }],
  ] as const) {
    filters = filters.flatMap((filter) => choices.map((choice) => ({ ...filter, ...choice })))
  }
  return [
    ...filters,
    ...days,
    { metadata: { order: '3' } },
    { metadata: { order: '3', [oddName]: '"1", a:b' } },
    { metadata: {} },
    { metadata: { order: '3' }, agentId: agentIds[0], status: 'denied' },
    { metadata: { constructor: '' } },
    { status: 'pending' },
    { agentId: agentIds[0], mandateId: mandates[2]?.id },
    { agentId: agentIds[0], reasonCode: 'agent_revoked' },
  ]
}

function fits(one: Transaction, filter: ConsoleFilter, { mandates }: World): boolean {
  const own = mandates.find(({ id }) => id === filter.mandateId)
  return (
    // A mandate lists no requests of another agent.
    (own?.agentId ?? one.agentId) === one.agentId &&
    (filter.agentId ?? one.agentId) === one.agentId &&
    (filter.mandateId ?? one.mandateId) === one.mandateId &&
    (filter.merchantDomain ?? one.merchantDomain).toLowerCase() === one.merchantDomain &&
    (filter.status ?? one.status) === one.status &&
    (filter.reasonCode ?? one.reasonCode) === one.reasonCode &&
    Object.entries(filter.metadata ?? {}).every(([name, text]) => one.metadata?.[name] === text) &&
    // Nothing here was received from another account.
    filter.direction !== 'received' &&
    one.createdAtMs >= (filter.fromMs ?? 0) &&
    one.createdAtMs < (filter.beforeMs ?? Infinity)
  )
}

async function allPages<Item>(list: (page: Page) => Promise<PageOf<Item>>): Promise<Item[][]> {
  const pages: Item[][] = []
  let olderThan: string | undefined
  do {
    const { items, next } = await list({ limit: pageSize, olderThan })
    pages.push(items)
    olderThan = next
  } while (olderThan !== undefined && pages.length < 1_000)
  return pages
}

import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Caller, Hold, Mandate, Scope } from '../domain/records.ts'
import { seededRandom, type SeededRandom } from '../../testing/seeded-random.ts'
import type { StoreLedger } from '../../testing/store-ledger.ts'
import { storeConformance } from '../../testing/stores.ts'

// Random histories, for combinations that nobody has thought of.
storeConformance(({ openEmpty }) => {
  for (const seed of [3, 10]) {
    test(`A random history of orders, captures, refunds and freezes under clocks that differ adds up, and pays no order twice (${seed})`, async (context) => {
      const market = await openMarket(await openEmpty(context), seed)
      for (let step = 1; step <= 300; step++) {
        market.passTime()
        await market.act()
        if (step % 100 === 0) assert.deepEqual(await market.ledger.store.findLedgerFaults(), [])
      }
      const { orders, refunds } = market.counts
      assert.ok(orders > 2 && refunds > 5, JSON.stringify(market.counts))
    })
  }
})

interface Charge {
  readonly transactionId: string
  readonly by: Caller
}

async function openMarket(ledger: StoreLedger, seed: number) {
  const random = seededRandom(seed)
  const { store } = ledger
  const owner = (await ledger.tenant()).sandbox
  const shop = (await ledger.tenant()).sandbox
  await ledger.seller(shop)
  const budgetId = await createBudget(ledger, owner)
  const agent = await ledger.agent(owner)
  const mandates: readonly [Mandate, Mandate] = [
    await ledger.mandate(agent, { budgetPath: [budgetId] }),
    await ledger.mandate(agent),
  ]
  const holds: (Hold & { readonly by?: Caller })[] = []
  const charges: Charge[] = []
  const paidOrders = new Set<string>()
  const counts = { orders: 0, refunds: 0 }
  let latestMs = ledger.clock.nowMs

  const anyHold = () => holds[Math.max(0, holds.length - 1 - random.below(6))]
  const key = () => random.pick([{ idempotencyKey: 'one' }, { idempotencyKey: 'other' }])

  function noteCharge(hold: Hold, by: Caller, outcome: { outcome: string; transactionId?: string }): void {
    if (outcome.outcome !== 'captured') return
    charges.push({ transactionId: outcome.transactionId ?? '', by })
    if (hold.orderId === null) return
    const order = `${hold.mandateId} ${hold.orderId}`
    assert.ok(!paidOrders.has(order), `${order} is paid twice`)
    paidOrders.add(order)
    counts.orders += 1
  }

  const acts = {
    async issue() {
      const orderId = random.below(3) > 0 ? `order ${random.below(12)}` : null
      const hold = ledger.newHold(random.pick(mandates), `${1 + random.below(4)}.00`, { orderId })
      const outcome = await store.issueProof(hold)
      if (outcome.decision === 'approved') holds.push(hold)
    },
    async authorize() {
      const hold = anyHold()
      if (!hold) return
      const by = random.pick([owner, shop])
      const { outcome } = await ledger.authorize(by, hold, { ...key(), captureSeconds: 60 })
      if (outcome === 'authorized') holds.push({ ...hold, by })
    },
    async settle() {
      const hold = anyHold()
      if (!hold) return
      const by = hold.by ?? random.pick([owner, shop])
      const amount = random.pick([undefined, '0.000001', '1', '2.50'])
      noteCharge(hold, by, await ledger.settle(by, hold, amount, key()))
    },
    async capture() {
      const hold = anyHold()
      if (!hold) return
      const by = random.pick([owner, shop])
      noteCharge(hold, by, await ledger.capture(by, hold, key()))
    },
    async void() {
      const hold = anyHold()
      if (!hold) return
      if (hold.by) await ledger.voidAuthorized(hold.by, hold)
      else await ledger.voidProof(hold)
    },
    async refund() {
      const charge = charges[random.below(charges.length || 1)]
      if (!charge) return
      const amount = random.pick(['0.000001', '0.50', '1.0', '4.00'])
      const fields = random.below(3) === 0 ? { idempotencyKey: 'return' } : {}
      const { outcome } = await ledger.refund(charge.by, charge.transactionId, amount, fields)
      if (outcome === 'refunded') counts.refunds += 1
    },
    async freeze() {
      const event = () => ledger.newEvent(owner, 'budget.frozen', budgetId)
      await store.freezeBudget({ ...owner, id: budgetId }, true, event())
      if (random.below(2) > 0) await acts.issue()
      await store.freezeBudget({ ...owner, id: budgetId }, false, event())
    },
    async assign() {
      const event = ledger.newEvent(owner, 'agent.budget_changed', agent.id)
      await store.assignAgent({ ...owner, id: agent.id }, { budgetId: random.pick([null, budgetId]) }, event)
    },
    async sweep() {
      await ledger.sweep()
    },
  }

  return {
    ledger,
    counts,
    act: () => chosen(random, acts)(),
    /** Time passes, and the next call comes from any of several processes. */
    passTime() {
      latestMs += random.pick([0, 0, 100, 1_000, 20_000, 60_000, random.below(6) === 0 ? 301_000 : 0])
      ledger.clock.nowMs = latestMs - random.pick([0, 0, 400, 2_000])
    },
  }
}

/** What comes next; what makes and collects payments is more frequent. */
function chosen<Act>(random: SeededRandom, acts: Readonly<Record<string, Act>>): Act {
  const frequent = [
    'issue',
    'issue',
    'issue',
    'authorize',
    'authorize',
    'settle',
    'settle',
    'capture',
    'refund',
  ]
  const names = [...Object.keys(acts), ...frequent]
  return acts[names[random.below(names.length)] ?? ''] ?? assert.fail('no such act')
}

async function createBudget(ledger: StoreLedger, { accountId, environment }: Scope): Promise<string> {
  const id = ledger.ids.next('budget')
  const maxAmount = { maxAmountText: '50.00', maxAmountMicro: '50000000' }
  const window = { rollingSeconds: 3_600 }
  const limit = {
    id: ledger.ids.next('limit'),
    window,
    ...maxAmount,
    maxCount: null,
    per: null,
    action: 'deny',
  }
  const times = { createdAtMs: ledger.clock.nowMs, updatedAtMs: ledger.clock.nowMs }
  const details = { name: 'Team', ancestors: [], limits: [limit], frozenAtMs: null, version: 1, ...times }
  const event = ledger.newEvent({ accountId, environment }, 'budget.created', id)
  await ledger.store.createBudget({ accountId, environment, id, ...details } as never, event)
  return id
}

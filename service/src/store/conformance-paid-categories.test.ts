import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Hold, Mandate } from '../domain/records.ts'
import { storeConformance, type OpenLedger } from '../../testing/stores.ts'
import { type StoreLedger, type Tenant } from '../../testing/store-ledger.ts'
import type { ProposedTransaction } from './store.ts'

const minuteMs = 60_000

interface World {
  readonly ledger: StoreLedger
  readonly owner: Tenant
  readonly mandate: Mandate
  readonly other: Mandate
  /** Records an approved evaluation, one second after the previous record. */
  readonly evaluate: (category: string | null, fields?: Partial<ProposedTransaction>) => Promise<void>
  readonly hold: (fields?: Partial<Hold>, amountText?: string) => Promise<Hold>
  /** The category shown for the payment of a hold. */
  readonly paidCategory: (hold: Hold) => Promise<string | null>
}

// Proofs have no category: a paid row shows that of its matching evaluation.
storeConformance(({ open, openEmpty }) => {
  async function prepare(context: Parameters<OpenLedger>[0], openLedger = open): Promise<World> {
    const ledger = await openLedger(context)
    const owner = await ledger.tenant()
    const generous = { allowedSellers: ['*'], maxTotalText: '1000.00' }
    const mandate = await ledger.mandate(owner.sandbox, generous)
    const other = await ledger.mandate(owner.sandbox, generous)
    const pass = () => (ledger.clock.nowMs += 1_000)
    return {
      ledger,
      owner,
      mandate,
      other,
      evaluate: async (category, fields = {}) => {
        pass()
        const proposal = { ...ledger.newProposal(mandate, { category }), ...fields }
        const { decision } = await ledger.store.evaluate(proposal)
        assert.equal(decision, 'approved')
      },
      hold: (fields, amountText = '1.00') => {
        pass()
        return ledger.hold(mandate, amountText, fields)
      },
      paidCategory: async (hold) => {
        pass()
        const id = await ledger.pay(owner.sandbox, hold)
        return categoryEverywhere(ledger, owner, id)
      },
    }
  }

  test('A paid row shows the category of the latest approved evaluation of the same purchase before its proof', async (context) => {
    const { evaluate, hold, paidCategory } = await prepare(context)
    await evaluate('games')
    await evaluate('data')
    assert.equal(await paidCategory(await hold()), 'data')
    // The same amount in another notation is the same purchase.
    assert.equal(await paidCategory(await hold({}, '1.000')), 'data')
    await evaluate(null)
    assert.equal(await paidCategory(await hold()), null)
  })

  test('The category of another purchase is not used', async (context) => {
    const { ledger, mandate, other, evaluate, hold, paidCategory } = await prepare(context)
    await evaluate('a', { merchantDomain: 'other.example' })
    await evaluate('b', { resourceUrl: 'https://api.example.com/other' })
    await evaluate('c', ledger.newProposal(mandate, { amountText: '2.00', category: 'c' }))
    await evaluate('d', ledger.newProposal(other, { category: 'd' }))
    ledger.clock.nowMs += 1_000
    const denied = { category: 'e', amountText: '5000.00' }
    await ledger.store.evaluate(ledger.newProposal(mandate, denied))
    assert.equal(await paidCategory(await hold()), null)
  })

  test('An evaluation after the proof, or more than an hour before it, does not match', async (context) => {
    const { ledger, evaluate, hold, paidCategory } = await prepare(context)
    const early = await hold()
    await evaluate('data')
    assert.equal(await paidCategory(early), null)
    ledger.clock.nowMs += 58 * minuteMs
    assert.equal(await paidCategory(await hold()), 'data')
    ledger.clock.nowMs += 2 * minuteMs
    assert.equal(await paidCategory(await hold()), null)
  })

  test('The evaluation is searched for among the latest 100 approved ones of the mandate', async (context) => {
    const { ledger, mandate, evaluate, hold, paidCategory } = await prepare(context)
    await evaluate('data')
    const between = (count: number) =>
      Promise.all(
        Array.from({ length: count }, () =>
          ledger.store.evaluate(ledger.newProposal(mandate, { amountText: '2.00' })),
        ),
      )
    await between(99)
    assert.equal(await paidCategory(await hold()), 'data')
    await between(1)
    assert.equal(await paidCategory(await hold()), null)
  })

  test('Evaluations of another environment or account provide no category', async (context) => {
    const { ledger, owner, hold, paidCategory } = await prepare(context)
    const inProduction = await ledger.mandate(owner.production)
    await ledger.store.evaluate(ledger.newProposal(inProduction, { category: 'data' }))
    const stranger = await ledger.tenant()
    const theirs = await ledger.mandate(stranger.sandbox)
    await ledger.store.evaluate(ledger.newProposal(theirs, { category: 'data' }))
    assert.equal(await paidCategory(await hold()), null)
  })

  test('A payment received from another account has no category: the evaluation belongs to the payer', async (context) => {
    const { ledger, owner, evaluate, hold } = await prepare(context, openEmpty)
    const seller = await ledger.tenant()
    await ledger.seller(seller.sandbox)
    await evaluate('data')
    const paid = await hold()
    const id = await ledger.pay(seller.sandbox, paid)
    assert.equal(await categoryEverywhere(ledger, owner, id), 'data')
    assert.equal(await categoryEverywhere(ledger, seller, id), null)
  })
})

/** The category of a transaction, after checking that all reads agree on it. */
async function categoryEverywhere(ledger: StoreLedger, { sandbox }: Tenant, id: string) {
  const { store } = ledger
  const page = { limit: 200 }
  const shown = [
    await store.findTransaction({ ...sandbox, id }, {}),
    (await store.findDecision({ ...sandbox, id }))?.transaction,
    ...(
      await Promise.all([
        store.listTransactions(sandbox, {}, page),
        store.listTransactions(sandbox, { status: 'paid' }, page),
        store.listConsoleTransactions(sandbox, {}, page),
        store.newestTransactions(sandbox, { id: '', limit: 200 }),
      ])
    ).map(({ items }) => items.find((one) => one.id === id)),
  ]
  const categories = shown.map((one) => (one ?? assert.fail('the payment is missing')).category)
  assert.equal(new Set(categories).size, 1, JSON.stringify(categories))
  return categories[0] ?? null
}

import assert from 'node:assert/strict'

import { systemActor } from '../../src/domain/audit.ts'
import type { Limit } from '../../src/domain/limits.ts'
import type { Caller, Hold, Mandate, Scope } from '../../src/domain/records.ts'
import { allAtOnce } from '../load.ts'
import { holdLifeMs, scopeOf, shopDomain, type StoreLedger } from '../store-ledger.ts'

export interface MixedLedger {
  /** Every account in each environment. */
  readonly scopes: readonly Scope[]
  /** A caller of each account who may collect there. */
  readonly callers: readonly Caller[]
  readonly nonces: readonly string[]
}

/** How many payments are made at once. */
const width = 64

/** Fills a store with records of every kind, and with the given number of payments. */
export async function fillMixedLedger(ledger: StoreLedger, payments: number): Promise<MixedLedger> {
  const buyer = await ledger.tenant()
  const seller = await ledger.tenant()
  const shop = await ledger.seller(seller.sandbox)
  await ledger.seller(buyer.production, 'überall.example.com')
  await ledger.createSeller(
    ledger.newSeller(buyer.sandbox, 'data.example.com', {
      priceConfig: '{"per_call":"0.01","note":"Größe ≤ 1"}',
    }),
  )
  const revokedKey = await ledger.key(buyer.sandbox, 'merchant', { label: 'old “shop”, {a\\b}' })
  await ledger.revokeKey(revokedKey, 'sandbox')

  const agent = await ledger.agent(buyer.sandbox, {
    description: 'Kauft "Daten", \\ und {mehr} 🛒\n',
    capabilities: ['search', 'käufe'],
  })
  await ledger.key(buyer.sandbox, 'agent', { agentId: agent.id })
  const mandates = [
    await ledger.mandate(agent, { maxTotalText: '999999999999.999999', maxPerTransactionText: '100' }),
    await ledger.mandate(agent, {
      maxTotalText: '1000000',
      allowedSellers: ['*'],
      allowedCategories: ['data', 'NULL', ''],
    }),
    await ledger.mandate(buyer.sandbox, { maxTotalText: '500000' }),
  ] as const
  await ledger.mandate(buyer.production, {
    expiresAtText: '2020-01-01T00:00:00Z',
    expiresAtMs: 1_577_836_800_000,
  })

  await ledger.store.issueProof(ledger.newHold({ ...mandates[0], id: ledger.ids.next('mandate') }))
  const keyed = ledger.newHold(mandates[0])
  await ledger.store.issueProof(keyed, { callerId: buyer.sandbox.keyId, idempotencyKey: 'order-1' })
  await ledger.store.stopMandates(seller.production, {
    stopId: ledger.ids.next('stop'),
    actor: systemActor,
    now: () => ledger.clock.nowMs,
    nextEventId: () => ledger.ids.next('auditEvent'),
  })

  const nonces: string[] = [keyed.nonce]
  const note = (hold: Hold) => void nonces.push(hold.nonce)
  await endHoldsInEveryWay(ledger, buyer.sandbox, note)
  await collectUnderLimits(ledger, { buyer: buyer.sandbox, seller: seller.sandbox }, note)
  await evaluateInEveryWay(ledger, mandates[1])

  let made = 0
  await allAtOnce(width, async () => {
    while (made < payments) {
      const number = made++
      const mandate = mandates[number % mandates.length] ?? mandates[0]
      const hold = await ledger.hold(mandate, ['0.000001', '1.50', '0.25'][number % 3])
      note(hold)
      // Most are collected by the shop of another account, so they are in both.
      const collector = number % 4 === 0 ? buyer.sandbox : seller.sandbox
      await ledger.pay(collector, hold, { idempotencyKey: number % 5 === 0 ? `retry ${number}` : null })
    }
  })
  assert.equal(shop.domain, shopDomain)
  note(await ledger.hold(mandates[0], '7'))
  await ledger.store.addTallies({
    refusals: [
      {
        ...scopeOf(seller.sandbox),
        subject: shopDomain,
        reason: 'nonce_reused',
        startsAtMs: 0,
        count: 3,
      },
    ],
    keyUses: [{ ...buyer.sandbox, usedAtMs: ledger.clock.nowMs }],
  })
  // Some transactions are in the console's sums, and some are not yet.
  while (await ledger.store.addUpActivity());
  await ledger.store.evaluate(ledger.newProposal(mandates[1], { category: 'data' }))
  return {
    scopes: [buyer, seller].flatMap(({ sandbox, production }) => [sandbox, production]),
    callers: [buyer.sandbox, seller.sandbox],
    nonces,
  }
}

/** Holds that expired, or were voided with their mandate, by an amendment, or with their agent. */
async function endHoldsInEveryWay(
  ledger: StoreLedger,
  scope: Scope,
  note: (hold: Hold) => void,
): Promise<void> {
  const expiring = await ledger.mandate(scope)
  note(await ledger.hold(expiring))
  ledger.clock.nowMs += holdLifeMs
  await ledger.sweep()
  const paused = await ledger.mandate(scope)
  note(await ledger.hold(paused))
  await ledger.moveMandate(paused, 'paused')
  const amended = await ledger.mandate(scope)
  note(await ledger.hold(amended))
  await ledger.amend(amended, { allowedSellers: ['*'] }, { endsHolds: true })
  const asking = await ledger.mandate(scope, {
    approval: { above: null, firstPurchaseAtSeller: true, required: 1 },
  })
  const asked = await ledger.ask(asking, '1.00')
  const approvalId = asked.decision === 'denied' ? (asked.approval?.id ?? '') : ''
  await ledger.decide(asking, approvalId, 'approved')
  const approved = ledger.newHold(asking)
  await ledger.ask(asking, '1.00', { approvalId, hold: approved })
  note(approved)
  await ledger.requestIncrease(asking, { maxTotalText: '500.00' })
  const agent = await ledger.agent(scope)
  note(await ledger.hold(await ledger.mandate(agent)))
  await ledger.revokeAgent(agent)
}

/** Payments under a limit per seller and a shared budget: authorized, partly captured, and refunded. */
async function collectUnderLimits(
  ledger: StoreLedger,
  { buyer, seller }: { readonly buyer: Caller; readonly seller: Caller },
  note: (hold: Hold) => void,
): Promise<void> {
  const limit = (per: Limit['per']): Limit => ({
    id: ledger.ids.next('limit'),
    window: { calendar: 'month', timeZone: 'Europe/Berlin' },
    per,
    maxAmountText: '90.00',
    maxAmountMicro: '90000000',
    maxCount: 12,
    action: 'deny',
  })
  const id = ledger.ids.next('budget')
  const { accountId, environment } = buyer
  const times = { createdAtMs: ledger.clock.nowMs, updatedAtMs: ledger.clock.nowMs }
  const budget = { id, accountId, environment, name: 'Research', ancestors: [], limits: [limit(null)] }
  await ledger.store.createBudget(
    { ...budget, frozenAtMs: null, version: 1, ...times },
    ledger.newEvent(buyer, 'budget.created', id),
    { kind: 'budget', requestKey: 'team 1', requestHash: 'of its body' },
  )
  const mandate = await ledger.mandate(buyer, { limits: [limit('seller')], budgetPath: [id] })
  note(await ledger.authorized(seller, await ledger.hold(mandate, '2.00', { orderId: 'order 1' })))
  const settled = await ledger.authorized(seller, await ledger.hold(mandate, '4.00'))
  note(settled)
  const outcome = await ledger.settle(seller, settled, '3.00')
  assert(outcome.outcome === 'captured', outcome.outcome)
  await ledger.refund(seller, outcome.transactionId, '1.00', { reason: 'Zu spät' })
}

async function evaluateInEveryWay(ledger: StoreLedger, mandate: Mandate): Promise<void> {
  await ledger.store.evaluate(ledger.newProposal(mandate, { category: 'data' }))
  await ledger.store.evaluate(ledger.newProposal(mandate, { category: 'weapons' }))
  await ledger.store.evaluate(ledger.newProposal(mandate, { merchantDomain: 'nobody.example.net' }))
  await ledger.store.evaluate(ledger.newProposal({ ...mandate, agentId: 'agent_unknown' }))
}

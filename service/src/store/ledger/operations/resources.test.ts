import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'

import { openMemoryLedger, scope, type MemoryLedger } from '../../../../testing/memory-ledger.ts'
import { revokeAgent, voidAll } from '../several-transactions.ts'
import { OutcomeUnknownError, type Driver } from '../driver.ts'
import { Ledger } from '../ledger.ts'
import {
  accounts,
  agents,
  apiKeys,
  auditEvents,
  budgets,
  keyUses,
  mandates,
  payments,
  refusals,
  sellerDomains,
  sellers,
} from '../tables.ts'
import { revokeAgent as revokeAgentAtFirst } from './agents.ts'
import { issueApiKey, revokeApiKey } from './api-keys.ts'
import { addTallies, recordEvent } from './figures.ts'
import { moveAccount } from './accounts.ts'
import { assignAgent, createBudget, freezeBudget } from './limits/budgets.ts'
import { createMandate, moveMandate, releaseExpiredPayments } from './mandates.ts'
import { statusOf } from './payment-rows.ts'
import { claimDomain, createSeller, releaseDomain } from './sellers.ts'
import { mandatesVoidedAtOnce } from './voids.ts'
import { changeTransactions } from '../../../../testing/transactions.ts'

test('A revoked agent has no open payments under any of its mandates, and no payment row is written', async () => {
  const ledger = await openMemoryLedger()
  const count = 2 * mandatesVoidedAtOnce + 3
  const holds = []
  for (let made = 0; made < count; made++) holds.push(await ledger.proof(await ledger.mandate(), '1.00'))
  const before = ledger.transactions()
  const revoked = await revoke(ledger)
  assert(typeof revoked === 'object')
  assert.equal(revoked.status, 'revoked')
  assert.ok(ledger.transactions() - before < count / 2, 'mandates share transactions')
  assert.ok(
    ledger.rows(mandates).every(({ openPayments, heldMicro }) => openPayments === 0 && heldMicro === 0n),
  )
  assert.ok(ledger.rows(payments).every(({ status }) => status === 'open'))
  for (const hold of holds) assert.equal((await ledger.capture(hold)).outcome, 'failed')
  const counts = ledger
    .rows(auditEvents)
    .flatMap(({ data }) => (typeof data['voided_holds'] === 'number' ? [data['voided_holds']] : []))
  assert.deepEqual(counts, [203])
  assert.deepEqual(await revoke(ledger), revoked, 'a retry changes nothing')
})

test('An interrupted revocation is completed by the sweep or by a retry, and meanwhile no proof is captured', async () => {
  for (const by of ['the sweep', 'a repetition'] as const) {
    const ledger = await openMemoryLedger()
    const mandate = await ledger.mandate()
    const hold = await ledger.proof(mandate, '1.00')
    const event = ledger.event('agent.revoked', ledger.agent.id)
    const first = await ledger.run(revokeAgentAtFirst, [ledger.agent, event])
    assert(typeof first === 'object')
    assert.equal(ledger.row(mandates, mandate).openPayments, 1)
    assert.deepEqual(await ledger.capture(hold), { outcome: 'failed', reason: 'proof_expired' })
    if (by === 'a repetition') await revoke(ledger)
    else {
      const call = { accountId: scope.accountId, mandateId: mandate.id, nowMs: ledger.clock.nowMs }
      await ledger.run(releaseExpiredPayments, call)
    }
    assert.equal(ledger.row(mandates, mandate).openPayments, 0)
  }
})

test('An agent is revoked only in its own account and environment, and then gets no mandate or key', async () => {
  const ledger = await openMemoryLedger()
  const { agent } = ledger
  for (const foreign of [
    { environment: 'production' as const },
    { accountId: 'acct_2' },
    { id: 'agent_none' },
  ]) {
    const event = ledger.event('agent.revoked', agent.id)
    assert.equal(await ledger.run(revokeAgentAtFirst, [{ ...agent, ...foreign }, event]), 'not_found')
  }
  await revoke(ledger)
  const mandate = ledger.newMandate()
  const created = ledger.event('mandate.created', mandate.id)
  assert.equal(await ledger.run(createMandate, [mandate, created]), 'agent_revoked')
  const key = ledger.newKey(scope, 'agent', agent.id)
  const issued = ledger.event('api_key.created', key.id)
  assert.equal(await ledger.run(issueApiKey, [key, issued]), 'agent_revoked')
  assert.deepEqual([ledger.rows(mandates), ledger.rows(apiKeys)], [[], []])
})

test('The open payments of a scope end step by step, and those of the other environment stay open', async () => {
  const ledger = await openMemoryLedger()
  for (let made = 0; made < mandatesVoidedAtOnce + 3; made++)
    await ledger.proof(await ledger.mandate(), '1.00')
  const production = { accountId: scope.accountId, environment: 'production' } as const
  await voidAll(ledger.ledger, production, () => ledger.event('proofs.voided', ''))
  assert.ok(ledger.rows(mandates).every(({ openPayments }) => openPayments === 1))
  await voidAll(ledger.ledger, scope, () => ledger.event('proofs.voided', 'acct_1'))
  const row = (id: string) => ledger.row(mandates, { ...scope, id })
  for (const payment of ledger.rows(payments)) {
    assert.equal(statusOf(payment, row(payment.mandateId), ledger.clock.nowMs), 'voided')
  }
  const events = ledger.rows(auditEvents).filter(({ type }) => type === 'proofs.voided')
  assert.deepEqual(
    events.map(({ data }) => data['voided_holds']),
    [mandatesVoidedAtOnce, 3],
  )
})

for (const losesAnswers of [false, true]) {
  test(`The last working key of an owner cannot be revoked${losesAnswers ? ', even if answers are lost' : ''}`, async () => {
    const ledger = await openMemoryLedger({ losesAnswers })
    const of = { accountId: 'acct_2', environment: 'sandbox' } as const
    const first = ledger.newKey(of, 'owner')
    await ledger.account(of.accountId, [first])
    const issue = async (role: 'owner' | 'operator' | 'merchant') => {
      const key = ledger.newKey(of, role)
      const event = ledger.event('api_key.created', key.id, of)
      assert.equal(await ledger.run(issueApiKey, [key, event]), 'created')
      return key
    }
    const revokeKey = (key: { id: string }, fields: { accountId?: string; mayBeLast?: boolean } = {}) =>
      ledger.run(revokeApiKey, [{ ...of, id: key.id, ...fields }, ledger.event('api_key.revoked', key.id)])
    const merchant = await issue('merchant')
    assert.equal(await revokeKey(first), 'last_owner_key')
    assert.equal(await revokeKey(first, { accountId: 'acct_1' }), 'not_found')
    const operator = await issue('operator')
    const revoked = await revokeKey(first)
    assert.deepEqual(await revokeKey(first), revoked)
    assert(typeof (await revokeKey(merchant)) === 'object')
    assert.equal(await revokeKey(operator), 'last_owner_key')
    assert(typeof (await revokeKey(operator, { mayBeLast: true })) === 'object')
    assert.equal(ledger.row(accounts, { id: of.accountId }).ownerKeys, 0)
  })
}

test('A pending seller has no domain until it claims a free one', async () => {
  const ledger = await openMemoryLedger()
  await ledger.account('acct_2')
  const other = { accountId: 'acct_2', environment: 'sandbox' } as const
  const create = (of: typeof other | typeof scope, isPending: boolean) => {
    const fields = { name: 'Shop', domain: 'shop.example', priceConfig: '{}', createdAtMs: 1 }
    const seller = { ...of, id: ledger.nextId('seller'), ...fields, isPending }
    return ledger.run(createSeller, [seller, ledger.event('seller.created', seller.id, of)])
  }
  const claim = (of: typeof other | typeof scope) => {
    const event = ledger.event('seller.created', '', of)
    return ledger.run(claimDomain, [{ ...of, domain: 'shop.example' }, event])
  }
  assert.equal(await claim(scope), 'not_found')
  assert.deepEqual([await create(scope, true), await create(other, true)], ['created', 'created'])
  assert.equal(await create(scope, true), 'seller_exists')
  assert.deepEqual(ledger.rows(sellerDomains), [])
  assert.deepEqual(
    [await claim(scope), await claim(scope), await claim(other)],
    ['claimed', 'claimed', 'seller_exists'],
  )
  assert.equal(await create(other, false), 'seller_exists')
  assert.equal(ledger.rows(sellerDomains)[0]?.accountId, scope.accountId)
})

test('A claim that commits after another one and the release of the domain registers nothing', async () => {
  let driver: Driver | undefined
  let meanwhile: (() => Promise<unknown>) | undefined
  const ledger = await openMemoryLedger({
    changeDriver: (own) => beforeNextCommit((driver = own), () => meanwhile),
  })
  const other = new Ledger({ driver: driver!, stopwatch: { nowMs: () => 0, sleep }, random: () => 0 })
  const own = { ...scope, domain: 'shop.example' }
  const fields = { name: 'Shop', domain: own.domain, priceConfig: '{}', createdAtMs: 1, isPending: true }
  const seller = { ...scope, id: 'seller_1', ...fields }
  await ledger.run(createSeller, [seller, ledger.event('seller.created', seller.id)])
  const claim = (by: Pick<Ledger, 'run'>) => by.run(claimDomain, [own, ledger.event('seller.verified', '')])
  const event = () => ledger.event('seller.released', '')
  const release = () => other.run(releaseDomain, [own, { own: event(), theirs: event() }])
  let racing: Promise<unknown> | undefined
  meanwhile = async () => {
    meanwhile = undefined
    racing = claim(other).then(release)
    // They do all that they can while the first claim has not committed.
    for (let turns = 0; turns < 100; turns++) await turn()
  }
  await claim(ledger)
  await racing
  assert.deepEqual([ledger.rows(sellers), ledger.rows(sellerDomains)], [[], []])
})

test('Tallies are added once even if the answer is lost, and only for domains of the account', async () => {
  const ledger = await openMemoryLedger({ losesAnswers: true })
  const fields = { name: 'Shop', domain: 'shop.example', priceConfig: '{}', createdAtMs: 1, isPending: false }
  const seller = { ...scope, id: 'seller_1', ...fields }
  await ledger.run(createSeller, [seller, ledger.event('seller.created', seller.id)])
  const refusal = { ...scope, subject: 'shop.example', reason: 'nonce_reused' } as const
  const counted = { ...refusal, startsAtMs: 900_000, count: 2 }
  const use = { accountId: scope.accountId, keyId: 'key_1', usedAtMs: 7 }
  const strange = { ...counted, subject: 'other.example' }
  const add = (id: string, usedAtMs: number) =>
    ledger.run(addTallies, {
      writerId: 'one',
      id,
      refusals: [counted, strange],
      keyUses: [{ ...use, usedAtMs }],
    })
  await add('tally_1', 7)
  await add('tally_2', 5)
  assert.deepEqual(
    ledger.rows(refusals).map(({ subject, count }) => [subject, count]),
    [['shop.example', 4]],
  )
  assert.deepEqual(ledger.rows(keyUses), [use])
})

test('Tallies are added once if the answer is lost and another process adds to them before the rerun', async () => {
  let driver: Driver | undefined
  let meanwhile: (() => Promise<unknown>) | undefined
  const ledger = await openMemoryLedger({
    changeDriver: (own) => losingAnswerOnce((driver = own), () => meanwhile),
  })
  const fields = { name: 'Shop', domain: 'shop.example', priceConfig: '{}', createdAtMs: 1, isPending: false }
  const seller = { ...scope, id: 'seller_1', ...fields }
  await ledger.run(createSeller, [seller, ledger.event('seller.created', seller.id)])
  const refusal = {
    ...scope,
    subject: 'shop.example',
    reason: 'nonce_reused',
    startsAtMs: 0,
    count: 2,
  } as const
  const other = new Ledger({ driver: driver!, stopwatch: { nowMs: () => 0, sleep }, random: () => 0 })
  const add = (by: Pick<typeof other, 'run'>, writerId: string) =>
    by.run(addTallies, { writerId, id: `first of ${writerId}`, refusals: [refusal], keyUses: [] })
  meanwhile = async () => {
    meanwhile = undefined
    await add(other, 'other')
  }
  await add(ledger, 'one')
  assert.equal(ledger.row(refusals, refusal).count, 4)
})

test('An event is written once even if the answer is lost', async () => {
  const ledger = await openMemoryLedger({ losesAnswers: true })
  const event = ledger.event('agents.stopped', 'stop_1')
  await ledger.run(recordEvent, event)
  assert.deepEqual(
    ledger.rows(auditEvents).filter(({ type }) => type === 'agents.stopped'),
    [event],
  )
})

test('A clock that is ahead releases payments early, and those issued after it is set back are released too', async () => {
  const ledger = await openMemoryLedger()
  const mandate = await ledger.mandate()
  const sweep = () =>
    ledger.run(releaseExpiredPayments, {
      accountId: scope.accountId,
      mandateId: mandate.id,
      nowMs: ledger.clock.nowMs,
    })
  await ledger.proof(mandate, '1.00')
  ledger.clock.nowMs += 10 * 3_600_000
  await sweep()
  ledger.clock.nowMs -= 10 * 3_600_000
  const hold = await ledger.proof(mandate, '2.00')
  // The service looks for expired payments once a second.
  ledger.clock.nowMs = hold.expiresAtMs + 1_000
  await sweep()
  assert.equal(ledger.row(mandates, mandate).heldMicro, 0n)
  assert.equal(ledger.row(payments, hold).status, 'expired')
})

test('A change whose answer is lost is reported as done if another process undoes it before the rerun', async () => {
  let driver: Driver | undefined
  let meanwhile: (() => Promise<unknown>) | undefined
  const ledger = await openMemoryLedger({
    changeDriver: (own) => losingAnswerOnce((driver = own), () => meanwhile),
  })
  const other = new Ledger({ driver: driver!, stopwatch: { nowMs: () => 0, sleep }, random: () => 0 })
  const { agent, clock } = ledger
  const times = { createdAtMs: clock.nowMs, updatedAtMs: clock.nowMs }
  const budget = { ...scope, ...times, id: 'budget_1', name: 'team', ancestors: [], limits: [], version: 1 }
  await ledger.run(createBudget, [{ ...budget, frozenAtMs: null }, ledger.event('budget.created', budget.id)])
  const mandate = await ledger.mandate()
  const changes: readonly ((by: Pick<Ledger, 'run'>, isUndone: boolean) => Promise<unknown>)[] = [
    (by, isUndone) => by.run(freezeBudget, [budget, !isUndone, ledger.event('budget.frozen', budget.id)]),
    (by, isUndone) =>
      by.run(assignAgent, [
        agent,
        { budgetId: isUndone ? null : budget.id },
        ledger.event('agent.budget_changed', agent.id),
      ]),
    (by, isUndone) =>
      by.run(moveMandate, [
        mandate,
        isUndone ? 'active' : 'paused',
        ledger.event('mandate.paused', mandate.id),
      ]),
    (by, isUndone) => {
      const events = [ledger.event('account.disabled', scope.accountId)]
      return by.run(moveAccount, [
        scope.accountId,
        isUndone ? 'active' : 'disabled',
        { atMs: clock.nowMs, events },
      ])
    },
  ]
  for (const change of changes) {
    const before = ledger.rows(auditEvents).length
    meanwhile = async () => {
      meanwhile = undefined
      await change(other, true)
    }
    assert.equal(typeof (await change(ledger, false)), 'object')
    assert.equal(ledger.rows(auditEvents).length, before + 2)
  }
  assert.equal(ledger.row(budgets, budget).frozenAtMs, null)
  assert.equal(ledger.row(agents, agent).budgetPath, null)
  assert.equal(ledger.row(accounts, { id: scope.accountId }).disabledAtMs, null)
})

function revoke(ledger: MemoryLedger) {
  const { agent } = ledger
  return revokeAgent(ledger.ledger, agent, ledger.event('agent.revoked', agent.id))
}

/** A driver that commits, lets others run, and then loses the answer. */
function losingAnswerOnce(driver: Driver, work: () => (() => Promise<unknown>) | undefined): Driver {
  return changeTransactions(driver, (transaction) => ({
    commit: async (changes) => {
      const meanwhile = work()
      await transaction.commit(changes)
      if (!meanwhile) return
      await meanwhile()
      throw new OutcomeUnknownError('the connection was closed')
    },
  }))
}

/** A driver that lets others run before it commits. */
function beforeNextCommit(driver: Driver, work: () => (() => Promise<unknown>) | undefined): Driver {
  return changeTransactions(driver, (transaction) => ({
    commit: async (changes) => {
      await work()?.()
      await transaction.commit(changes)
    },
  }))
}

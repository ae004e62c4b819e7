import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Caller, Mandate, Scope } from '../domain/records.ts'
import { storeConformance } from '../../testing/stores.ts'
import { shopDomain, type StoreLedger } from '../../testing/store-ledger.ts'
import { quarterMs } from './ledger/activity.ts'
import type { Activity, ActivityQuestion } from './console/store.ts'

const hourMs = 4 * quarterMs

storeConformance(({ open, openEmpty }) => {
  test('A search finds a record by its id, however many are newer', async (context) => {
    const ledger = await open(context)
    const { sandbox } = await ledger.tenant()
    const { id, name } = await ledger.agent(sandbox, { name: 'the oldest' })
    await Promise.all(Array.from({ length: 1_000 }, () => ledger.agent(sandbox)))
    assert.deepEqual(await ledger.store.search(sandbox, id, 20), [{ kind: 'agent', id, label: name }])
    const production = { ...sandbox, environment: 'production' } as const
    assert.deepEqual(await ledger.store.search(production, id, 20), [])
  })

  test("The console's sums equal the sums of the transactions, whatever races with the rollup", async (context) => {
    const ledger = await openEmpty(context)
    const { sandbox: caller } = await ledger.tenant()
    await ledger.seller(caller)
    const mandates = await manyMandates(ledger, caller, 4)
    const paying = mandates.flatMap((mandate, index) =>
      Array.from({ length: 12 }, async (_, round) => {
        const amount = `${index}.${String(round + 1).padStart(2, '0')}`
        ledger.clock.nowMs += quarterMs / 8
        const atMs = ledger.clock.nowMs
        const hold = await ledger.hold(mandate, amount, { issuedAtMs: atMs, expiresAtMs: atMs + 24 * hourMs })
        const captured = await ledger.store.capture(ledger.newCapture(caller, hold, { nowMs: atMs }))
        assert.equal(captured.outcome, 'captured')
        const amountText = round % 3 ? '1.00' : '999.00'
        await ledger.store.evaluate(ledger.newProposal(mandate, { amountText, createdAtMs: atMs }))
      }),
    )
    const paid = new AbortController()
    const adding = (async () => {
      while (!paid.signal.aborted) {
        await ledger.store.addUpActivity()
        // Concurrent reads each see one snapshot: no payment is missing or counted twice.
        const [all] = await total(ledger, caller, { dimension: 'all', subjects: [''] })
        const parts = await total(ledger, caller, {
          dimension: 'mandate',
          subjects: mandates.map(({ id }) => id),
        })
        const sum = parts.reduce((count, { paidCount }) => count + paidCount, 0)
        assert.ok(sum >= (all?.paidCount ?? 0), 'the later answer includes everything in the earlier one')
      }
    })()
    await Promise.all(paying)
    paid.abort()
    await adding
    await assertActivityAddsUp(ledger, caller, mandates)
    while (await ledger.store.addUpActivity());
    await assertActivityAddsUp(ledger, caller, mandates)
  })

  test('A denied proof for a host that is longer than any domain counts in the sums, for nobody', async (context) => {
    const ledger = await open(context)
    const { sandbox } = await ledger.tenant()
    const mandate = await ledger.mandate(sandbox)
    // In ASCII, as IDNA writes it, the host is longer than this URL.
    const host = Array.from({ length: 680 }, (_, index) =>
      String.fromCodePoint(0x3300 + (((index * 31) ^ (index >> 3)) % 88)),
    ).join('')
    const hold = ledger.newHold(mandate, '999.00', { resourceUrl: `https://${host}/` })
    assert.equal((await ledger.store.issueProof(hold)).decision, 'denied')
    while (await ledger.store.addUpActivity());
    const { items } = await ledger.store.listTransactions(sandbox, {}, { limit: 10 })
    assert.deepEqual(
      items.map(({ merchantDomain }) => merchantDomain),
      [''],
    )
    const [all] = await total(ledger, sandbox, { dimension: 'all', subjects: [''] })
    assert.equal(all?.deniedCount, 1)
  })

  test('Mandates are listed below a shared budget, and a denial keeps the budget that refused it', async (context) => {
    const ledger = await open(context)
    const { sandbox: caller } = await ledger.tenant()
    const [company, team] = [ledger.ids.next('budget'), ledger.ids.next('budget')]
    const limit = { id: ledger.ids.next('limit'), window: 'lifetime', per: null, action: 'deny' } as const
    const limits = [{ ...limit, maxAmountText: '1.00', maxAmountMicro: '1000000', maxCount: null }]
    const budget = { ...caller, limits, frozenAtMs: null, version: 1, createdAtMs: 0, updatedAtMs: 0 }
    const event = ledger.newEvent(caller, 'budget.created', company)
    await ledger.store.createBudget({ ...budget, id: company, name: 'Company', ancestors: [] }, event)
    const below = ledger.newEvent(caller, 'budget.created', team)
    await ledger.store.createBudget({ ...budget, id: team, name: 'Team', ancestors: [company] }, below)
    const mandate = await ledger.mandate(caller, { budgetPath: [team] })
    await ledger.mandate(caller)
    for (const budgetId of [company, team]) {
      const page = { limit: 10, olderThan: undefined }
      const { items } = await ledger.store.listConsoleMandates(caller, { budgetId, nowMs: 0 }, page)
      assert.equal(items.map(({ id }) => id).join(), mandate.id)
    }
    const denied = ledger.newProposal(mandate, { amountText: '1.01' })
    await ledger.store.evaluate(denied)
    const decision = await ledger.store.findDecision({ ...caller, id: denied.id })
    assert.equal(decision?.budgets.map(({ name }) => name).join(), 'Team,Company')
    assert.deepEqual(decision?.refusedBy?.budget, { id: team, name: 'Team' })
    assert.equal(decision?.refusedBy?.limit?.window, 'lifetime')
    for (const isFrozen of [true, false]) {
      await ledger.store.freezeBudget(
        { ...caller, id: team },
        isFrozen,
        ledger.newEvent(caller, 'budget.frozen', team),
      )
      const { frozenBudgets } = await ledger.store.readBudgets(caller, ledger.clock.nowMs)
      assert.equal(frozenBudgets, isFrozen ? 1 : 0)
    }
  })

  test('The sums of an account and of an agent have its open proofs, and its authorized payments, of which each is in one', async (context) => {
    const ledger = await openEmpty(context)
    const { sandbox: caller } = await ledger.tenant()
    await ledger.seller(caller)
    const mandate = await ledger.mandate(caller)
    const heldAndAuthorized = async () => {
      const { heldMicro, openHolds, authorized } = await ledger.store.readBudgets(caller, ledger.clock.nowMs)
      const ofAgent = await ledger.store.findConsoleAgent(
        { ...caller, id: mandate.agentId },
        ledger.clock.nowMs,
      )
      assert.deepEqual(
        [ofAgent?.openHolds, ofAgent?.heldMicro, ofAgent?.authorizedPayments, ofAgent?.authorizedMicro],
        [openHolds, heldMicro, authorized.count, authorized.amountMicro],
        'those of its only agent are the same',
      )
      return { held: [openHolds, heldMicro], authorized: [authorized.count, authorized.amountMicro] }
    }
    const [hold, other] = [await ledger.hold(mandate, '4.00'), await ledger.hold(mandate, '0.50')]
    assert.deepEqual(await heldAndAuthorized(), { held: [2, 4_500_000n], authorized: [0, 0n] })
    await ledger.authorized(caller, hold)
    assert.deepEqual(await heldAndAuthorized(), { held: [1, 500_000n], authorized: [1, 4_000_000n] })
    await ledger.authorized(caller, other)
    assert.deepEqual(await heldAndAuthorized(), { held: [0, 0n], authorized: [2, 4_500_000n] })
  })

  test('Amounts are added up beyond the range of one integer', async (context) => {
    const ledger = await open(context)
    const { sandbox: caller } = await ledger.tenant()
    const most = '999999999999'
    for (const mandate of await manyMandates(ledger, caller, 11, { total: most, each: most })) {
      await ledger.pay(caller, await ledger.hold(mandate, most))
    }
    while (await ledger.store.addUpActivity());
    const [all] = await total(ledger, caller, { dimension: 'all', subjects: [''] })
    assert.equal(all?.paidMicro, 11n * 999_999_999_999_000_000n)
  })

  test('A stop pauses every active mandate and ends its holds, and the undo resumes what it paused', async (context) => {
    const ledger = await open(context)
    const { sandbox: caller, production } = await ledger.tenant()
    const other = await ledger.tenant()
    const [bystander] = await manyMandates(ledger, other.sandbox, 1)
    const mandates = await manyMandates(ledger, caller, 5)
    const [first, second] = mandates
    assert.ok(first && second && bystander)
    await ledger.hold(first, '2.00')
    await ledger.moveMandate(second, 'paused')

    const stop = async (stopId: string, scope: Scope = caller) => {
      const stopped = await ledger.store.stopMandates(scope, { ...byKey(ledger), stopId })
      return { ...stopped, mandateIds: stopped.mandateIds.toSorted() }
    }
    const [firstStop, otherStop] = ['first', 'other'].map((name) => ledger.ids.ofStop(caller, name))
    assert.ok(firstStop && otherStop)
    const outstanding = { count: 0, amountMicro: 0n }
    const whole = {
      outstanding,
      mandateIds: mandates.filter(({ id }) => id !== second.id).map(({ id }) => id),
      pausedNow: 4,
      voidedHolds: 1,
      failedIds: [],
    }
    assert.deepEqual(await stop(firstStop), whole)
    for (const mandate of mandates) assert.equal((await found(ledger, mandate)).status, 'paused')
    assert.equal((await found(ledger, bystander)).status, 'active')
    assert.deepEqual(await ledger.sums(first), { spent: '0.00', held: '0.00' })
    const refused = await ledger.store.issueProof(ledger.newHold(first))
    assert.equal(refused.decision, 'denied')
    // A stop that is retried under its id reports what it did before and now; another stop does not.
    assert.deepEqual(await stop(firstStop), { ...whole, pausedNow: 0 })
    const none = { outstanding, mandateIds: [], pausedNow: 0, voidedHolds: 0, failedIds: [] }
    for (const scope of [other.production, production]) assert.deepEqual(await stop(firstStop, scope), none)

    // A mandate that a person pauses while it is stopped stays paused after the undo, and a revoked one stays
    // revoked.
    const [, , third, fourth] = mandates
    assert.ok(third && fourth)
    await ledger.moveMandate(third, 'paused')
    await ledger.moveMandate(fourth, 'revoked')
    const resume = async (stopId: string | null) =>
      (await ledger.store.resumeMandates(caller, { ...byKey(ledger), stopId })).mandateIds
    assert.deepEqual(await resume(otherStop), [])
    assert.deepEqual((await resume(firstStop)).toSorted(), [first.id, mandates[4]?.id])
    const statuses = await Promise.all(mandates.map(async (mandate) => (await found(ledger, mandate)).status))
    assert.deepEqual(statuses, ['active', 'paused', 'paused', 'revoked', 'active'])
  })

  test('Nothing is authorized after a stop, whatever races with it', async (context) => {
    const ledger = await open(context)
    const { sandbox: caller } = await ledger.tenant()
    const mandates = await manyMandates(ledger, caller, 6)
    let isStopped = false
    const late: string[] = []
    const racing = mandates.map(async (mandate) => {
      for (let round = 0; round < 15; round++) {
        const begunAfter = isStopped
        const proof = await ledger.store.issueProof(ledger.newHold(mandate, '0.10'))
        const evaluation = await ledger.store.evaluate(ledger.newProposal(mandate, { amountText: '0.10' }))
        if (begunAfter) late.push(proof.decision, evaluation.decision)
      }
    })
    const stopId = ledger.ids.ofStop(caller, 'first')
    await ledger.store.stopMandates(caller, { ...byKey(ledger), stopId })
    isStopped = true
    await Promise.all(racing)
    for (const mandate of mandates) {
      late.push((await ledger.store.issueProof(ledger.newHold(mandate, '0.10'))).decision)
      assert.deepEqual((await ledger.sums(mandate)).held, '0.00')
    }
    assert.ok(late.length >= mandates.length && late.every((decision) => decision === 'denied'), late.join())
  })

  test('A list with few matches is read in short pages that miss none', async (context) => {
    const ledger = await open(context)
    const { sandbox: caller } = await ledger.tenant()
    const mandates = await manyMandates(ledger, caller, 3)
    for (const [index, mandate] of mandates.entries()) {
      for (let count = 0; count < 4; count++) {
        ledger.clock.nowMs += 60_000
        await ledger.store.evaluate(
          ledger.newProposal(mandate, { amountText: count === index ? '999.00' : '1.00' }),
        )
      }
    }
    const all = (await ledger.store.listTransactions(caller, {}, { limit: 50 })).items
    const [first] = mandates
    for (const filter of [
      {},
      { status: 'denied' as const },
      { status: 'approved' as const },
      { mandateId: first?.id },
      { mandateId: first?.id, status: 'denied' as const },
      { agentId: first?.agentId },
      { merchantDomain: shopDomain.toUpperCase() },
      { reasonCode: 'total_budget_exceeded' },
      { reasonCode: 'amount_exceeds_per_transaction_limit' },
      { fromMs: all[8]?.createdAtMs, beforeMs: all[3]?.createdAtMs },
    ]) {
      const fits = all.filter(
        (one) =>
          (filter.status === undefined || one.status === filter.status) &&
          (filter.mandateId === undefined || one.mandateId === filter.mandateId) &&
          (filter.agentId === undefined || one.agentId === filter.agentId) &&
          (filter.reasonCode === undefined || one.reasonCode === filter.reasonCode) &&
          (filter.fromMs === undefined || one.createdAtMs >= filter.fromMs) &&
          (filter.beforeMs === undefined || one.createdAtMs < filter.beforeMs),
      )
      const read = []
      let olderThan: string | undefined
      do {
        const page = await ledger.store.listConsoleTransactions(caller, filter, { limit: 2, olderThan })
        read.push(...page.items)
        olderThan = page.next
      } while (olderThan !== undefined)
      assert.deepEqual(read, fits, JSON.stringify(filter))
    }
  })

  test('A decision is shown with the values that it compared, even after they have changed', async (context) => {
    const ledger = await open(context)
    const { sandbox: caller } = await ledger.tenant()
    const [mandate] = await manyMandates(ledger, caller, 1, { total: '10.00', each: '9.00' })
    assert.ok(mandate)
    await ledger.pay(caller, await ledger.hold(mandate, '4.20'))
    await ledger.hold(mandate, '1.00')
    const proposal = ledger.newProposal(mandate, { amountText: '6.00' })
    assert.equal((await ledger.store.evaluate(proposal)).decision, 'denied')
    const capture = await ledger.pay(caller, await ledger.hold(mandate, '2.00'))
    await ledger.moveMandate(mandate, 'revoked')

    const denied = await ledger.store.findDecision({ ...caller, id: proposal.id })
    assert.equal(denied?.failedCheck, 9)
    assert.equal(denied.spentBeforeMicro, 4_200_000n)
    const { items } = await ledger.store.listConsoleTransactions(caller, { status: 'paid' }, { limit: 1 })
    assert.ok(capture && items[0])
    const paid = await ledger.store.findDecision({ ...caller, id: items[0].id })
    assert.deepEqual(
      [paid?.holdSpentBeforeMicro, paid?.holdHeldBeforeMicro, paid?.hold?.amountText],
      [4_200_000n, 1_000_000n, '2.00'],
    )
    assert.equal(
      await ledger.store.findDecision({ ...(await ledger.tenant()).sandbox, id: proposal.id }),
      undefined,
    )
  })

  test('A session is found only by its own account, until it ends or its key is revoked', async (context) => {
    const ledger = await open(context)
    const { sandbox: caller } = await ledger.tenant()
    const other = await ledger.tenant()
    const session = (account: Caller, name: string, keyId: string | null) => ({
      accountId: account.accountId,
      tokenHash: Buffer.alloc(32, name),
      id: ledger.ids.next('session'),
      kind: 'key' as const,
      role: 'owner' as const,
      keyId,
      environment: 'sandbox' as const,
      createdAtMs: ledger.clock.nowMs,
      usedAtMs: ledger.clock.nowMs,
      endsAtMs: ledger.clock.nowMs + hourMs,
    })
    const own = session(caller, 'a', caller.keyId)
    const second = session(caller, 'b', null)
    await ledger.store.createSession(own, undefined)
    await ledger.store.createSession(second, undefined)
    assert.deepEqual(await ledger.store.findSession(own), own)
    assert.equal(await ledger.store.findSession({ ...own, accountId: other.sandbox.accountId }), undefined)
    await ledger.store.touchSession(own, ledger.clock.nowMs + 5)
    assert.equal((await ledger.store.findSession(own))?.usedAtMs, ledger.clock.nowMs + 5)
    const third = session(caller, 'd', null)
    assert.equal(await ledger.store.createSession(third, undefined, second), true)
    assert.equal(await ledger.store.createSession(session(caller, 'e', null), undefined, second), false)
    assert.equal(await ledger.store.findSession(second), undefined, 'it was used up')
    const event = ledger.newEvent(caller, 'session.ended', third.id)
    assert.equal(await ledger.store.endSession(third, event), true)
    assert.equal(await ledger.store.endSession(third, event), false, 'it ends once')
    assert.equal(await ledger.store.findSession(third), undefined)
    // A new session deletes the ended ones.
    ledger.clock.nowMs += 2 * hourMs
    await ledger.store.createSession(session(caller, 'c', null), undefined)
    assert.equal(await ledger.store.findSession(own), undefined)
  })

  test('Unrecorded refusals and uses of keys are added to the counters', async (context) => {
    const ledger = await openEmpty(context)
    const { sandbox: caller } = await ledger.tenant()
    await ledger.seller(caller)
    const startsAtMs = ledger.clock.nowMs - (ledger.clock.nowMs % quarterMs)
    const refusal = {
      accountId: caller.accountId,
      environment: caller.environment,
      subject: shopDomain,
      reason: 'nonce_reused' as const,
      startsAtMs,
      count: 2,
    }
    const { production } = await ledger.tenant()
    assert.equal(await ledger.store.ownsDomain({ ...caller, domain: shopDomain }), true)
    assert.equal(
      await ledger.store.ownsDomain({ ...caller, environment: 'production', domain: shopDomain }),
      false,
    )
    assert.equal(
      await ledger.store.ownsDomain({ ...production, environment: 'sandbox', domain: shopDomain }),
      false,
    )
    assert.equal(await ledger.store.ownsDomain({ ...caller, domain: 'not-registered.example.org' }), false)
    const use = { accountId: caller.accountId, keyId: caller.keyId, usedAtMs: startsAtMs }
    const strange = { ...refusal, subject: 'not-registered.example.org' }
    await ledger.store.addTallies({ refusals: [refusal, strange], keyUses: [use] })
    await ledger.store.addTallies({ refusals: [refusal], keyUses: [{ ...use, usedAtMs: startsAtMs - 1 }] })
    const subjects = [shopDomain, strange.subject]
    const read = await ledger.store.readRefusals(caller, {
      subjects,
      fromMs: startsAtMs,
    })
    assert.deepEqual(read, [{ ...refusal, count: 4 }])
    const keys = (await ledger.store.listConsoleKeys(caller, { limit: 10 })).items
    assert.deepEqual(keys.find(({ id }) => id === caller.keyId)?.lastUsedAtMs, startsAtMs)
  })
})

async function manyMandates(
  ledger: StoreLedger,
  scope: Caller,
  count: number,
  { total = '100.00', each = '10.00' } = {},
): Promise<Mandate[]> {
  const agent = await ledger.agent(scope)
  const mandates: Mandate[] = []
  for (let made = 0; made < count; made++) {
    mandates.push(await ledger.mandate(agent, { maxTotalText: total, maxPerTransactionText: each }))
  }
  return mandates
}

function total(
  ledger: StoreLedger,
  scope: Scope,
  question: Pick<ActivityQuestion, 'dimension' | 'subjects'>,
): Promise<Activity[]> {
  return ledger.store.readActivity(scope, { ...question, fromMs: 0, isTotal: true })
}

/** Compares the console's sums with the transactions, added up again. */
async function assertActivityAddsUp(ledger: StoreLedger, scope: Caller, mandates: readonly Mandate[]) {
  const { items } = await ledger.store.listTransactions(scope, {}, { limit: 200 })
  assert.ok(items.length < 200)
  const expected = new Map<string, Activity>()
  for (const { mandateId, createdAtMs, status, amountMicro } of items) {
    const startsAtMs = createdAtMs - (createdAtMs % quarterMs)
    const key = `${mandateId} ${startsAtMs}`
    const known = expected.get(key)
    expected.set(key, {
      subject: mandateId,
      startsAtMs,
      paidCount: (known?.paidCount ?? 0) + Number(status === 'paid'),
      paidMicro: ((known?.paidMicro ?? 0n) + (status === 'paid' ? amountMicro : 0n)) as Activity['paidMicro'],
      approvedCount: (known?.approvedCount ?? 0) + Number(status === 'approved'),
      deniedCount: (known?.deniedCount ?? 0) + Number(status === 'denied'),
      refundedCount: 0,
      refundedMicro: 0n as Activity['refundedMicro'],
    })
  }
  const subjects = mandates.map(({ id }) => id)
  const byQuarter = await ledger.store.readActivity(scope, { dimension: 'mandate', subjects, fromMs: 0 })
  assert.deepEqual(byQuarter, [...expected.values()].sort(inOrder))
  const paid = items.filter(({ status }) => status === 'paid')
  const revenue = paid.reduce((sum, { amountMicro }) => sum + amountMicro, 0n)
  const [seller] = await total(ledger, scope, { dimension: 'seller_total', subjects: [shopDomain] })
  assert.deepEqual([seller?.paidCount, seller?.paidMicro], [paid.length, revenue])
  const [all] = await total(ledger, scope, { dimension: 'all', subjects: [''] })
  const denied = items.filter(({ status }) => status === 'denied').length
  assert.deepEqual([all?.paidMicro, all?.deniedCount], [revenue, denied])
  const agentIds = [...new Set(mandates.map(({ agentId }) => agentId))]
  const byAgent = await total(ledger, scope, { dimension: 'agent', subjects: agentIds })
  assert.deepEqual(
    new Map(byAgent.map(({ subject, paidMicro }) => [subject, paidMicro])),
    new Map(
      agentIds.map((agentId) => [
        agentId,
        paid.reduce((sum, one) => sum + (one.agentId === agentId ? one.amountMicro : 0n), 0n),
      ]),
    ),
  )
  assert.deepEqual(await ledger.store.topSubjects(scope, { dimension: 'payee', fromMs: 0, limit: 1 }), [
    shopDomain,
  ])
  const reasons = await total(ledger, scope, {
    dimension: 'reason',
    subjects: ['amount_exceeds_per_transaction_limit'],
  })
  assert.equal(reasons[0]?.deniedCount, denied)
}

async function found(ledger: StoreLedger, mandate: Mandate): Promise<Mandate> {
  const known = await ledger.store.findMandate(mandate)
  assert.ok(known)
  return known
}

function byKey({ clock, ids }: StoreLedger) {
  return { actor: 'key', now: () => clock.nowMs, nextEventId: () => ids.next('auditEvent') }
}

function inOrder(left: Activity, right: Activity): number {
  if (left.subject === right.subject) return left.startsAtMs - right.startsAtMs
  return left.subject < right.subject ? -1 : 1
}

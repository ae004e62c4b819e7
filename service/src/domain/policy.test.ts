import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { DenialCode } from '@purser/wire/policy'

import { seededRandom } from '../../testing/seeded-random.ts'
import { parseAmount, type MicroUsdc } from './money.ts'
import { mandateDefaults } from './new-records.ts'
import { admitsSeller, checkPolicy, remainingBudget, type PolicyFacts, type PolicyPayment } from './policy.ts'
import type { Agent, Mandate } from './records.ts'

const nowMs = Date.UTC(2026, 10, 20, 12)

const agent: Agent = {
  accountId: 'acct_1',
  environment: 'sandbox',
  id: 'agent_1',
  name: 'research-bot',
  description: null,
  capabilities: [],
  budgetPath: null,
  status: 'active',
  createdAtMs: nowMs,
  revokedAtMs: null,
}

const mandate: Mandate = {
  accountId: 'acct_1',
  environment: 'sandbox',
  id: 'mandate_1',
  agentId: 'agent_1',
  purpose: 'Buy research data',
  ...limits('100.00', '10.00'),
  currency: 'USDC',
  allowedSellers: ['api.example.com'],
  allowedCategories: ['data'],
  limits: null,
  budgetPath: null,
  expiresAtText: '2026-11-20T12:00:00.001Z',
  expiresAtMs: nowMs + 1,
  ...mandateDefaults,
  spentMicro: parseAmount('90.00'),
  heldMicro: parseAmount('0.00'),
  createdAtMs: nowMs,
  updatedAtMs: nowMs,
}

const payment: PolicyPayment = {
  ...amount('10.00'),
  resourceUrl: 'https://api.example.com/reports/1',
  category: 'data',
  seller: { merchantDomain: 'api.example.com' },
  countHolds: false,
}

interface Situation {
  readonly agent: Agent | undefined
  readonly mandate: Mandate | undefined
  readonly payment: PolicyPayment
}

const situation: Situation = { agent, mandate, payment }

function decide({ agent, mandate, payment }: Situation) {
  const facts: PolicyFacts = { agent, mandate }
  return checkPolicy(facts, payment, nowMs)
}

/** A way to fail exactly one check, its code, and the values that its detail names. */
interface Failure {
  readonly check: number
  readonly name: string
  readonly spoil: (from: Situation) => Situation
  readonly code: DenialCode
  readonly detail: string
}

const failures: readonly Failure[] = [
  {
    check: 1,
    name: 'the agent does not exist',
    spoil: (from) => ({ ...from, agent: undefined }),
    code: 'agent_revoked',
    detail: 'No such agent exists in this account and environment.',
  },
  {
    check: 2,
    name: 'the agent is revoked',
    spoil: (from) => ({ ...from, agent: from.agent && { ...from.agent, status: 'revoked' } }),
    code: 'agent_revoked',
    detail: 'The agent research-bot is permanently revoked; use another agent.',
  },
  {
    check: 3,
    name: 'the mandate does not exist',
    spoil: (from) => ({ ...from, mandate: undefined }),
    code: 'mandate_expired',
    detail: 'The agent research-bot has no such mandate.',
  },
  {
    check: 3,
    name: 'the mandate belongs to another agent',
    spoil: changeMandate({ agentId: 'agent_2' }),
    code: 'mandate_expired',
    detail: 'The agent research-bot has no such mandate.',
  },
  {
    check: 4,
    name: 'the mandate is paused',
    spoil: changeMandate({ status: 'paused' }),
    code: 'mandate_expired',
    detail: 'The mandate is paused; its owner can resume it.',
  },
  {
    check: 4,
    name: 'the mandate is revoked',
    spoil: changeMandate({ status: 'revoked' }),
    code: 'mandate_expired',
    detail: 'The mandate is revoked; ask its owner for a new one.',
  },
  {
    check: 5,
    name: 'the mandate has expired',
    spoil: changeMandate({ expiresAtMs: nowMs, expiresAtText: '2026-11-20T12:00:00Z' }),
    code: 'mandate_expired',
    detail: 'The mandate expired at 2026-11-20T12:00:00Z; ask its owner for a new one.',
  },
  {
    check: 6,
    name: 'the seller is not on the list',
    spoil: changeSeller({ merchantDomain: 'shop.example.org' }),
    code: 'merchant_not_allowed',
    detail: 'shop.example.org is not an allowed seller; the mandate allows api.example.com.',
  },
  {
    check: 7,
    name: 'the category is not on the list',
    spoil: changePayment({ category: 'games' }),
    code: 'merchant_not_allowed',
    detail: 'The category of the payment is not allowed; the mandate allows data.',
  },
  {
    check: 7,
    name: 'no category is given where there is a list',
    spoil: changePayment({ category: null }),
    code: 'merchant_not_allowed',
    detail: 'A payment without a category is not allowed; the mandate allows data.',
  },
  {
    check: 8,
    name: 'the amount exceeds the cap by a millionth',
    spoil: changeMandate(limits('100.00', '9.999999')),
    code: 'amount_exceeds_per_transaction_limit',
    detail: '10.00 > 9.999999, the limit per payment.',
  },
  {
    check: 9,
    name: 'spent and amount exceed the total by a millionth',
    spoil: changeMandate({ spentMicro: parseAmount('90.000001') }),
    code: 'total_budget_exceeded',
    detail: '90.000001 spent + 10.00 > 100.00, the total budget; 9.999999 is left.',
  },
]

test('A payment exactly at every limit is approved [policy.order] [what.2]', () => {
  assert.deepEqual(decide(situation), { decision: 'approved' })
})

for (const { check, name, spoil, code, detail } of failures) {
  test(`Check ${check}, ${name}: ${code}, with the value and the limit [errors.codes] [limits.per-transaction] [limits.total]`, () => {
    assert.deepEqual(decide(spoil(situation)), { decision: 'denied', code, detail, check })
  })
}

test('Each of the nine checks can fail alone [policy.1] [policy.2] [policy.3] [policy.4] [policy.5] [policy.6] [policy.7] [policy.8] [policy.9]', () => {
  assert.deepEqual([...new Set(failures.map(({ check }) => check))], [1, 2, 3, 4, 5, 6, 7, 8, 9])
})

test('Of any two failures, the earlier check determines the reason [policy.order]', () => {
  let pairs = 0
  for (const earlier of failures) {
    for (const later of failures.filter(({ check }) => check > earlier.check)) {
      pairs += 1
      const { code, detail, check } = earlier
      const expected = { decision: 'denied', code, detail, check }
      const both = `${earlier.name} and ${later.name}`
      assert.deepEqual(decide(earlier.spoil(later.spoil(situation))), expected, both)
      // Breaking a field must not restore a missing agent or mandate.
      assert.deepEqual(decide(later.spoil(earlier.spoil(situation))), expected, both)
    }
  }
  assert(pairs >= 36)
})

test('If everything fails, fixing the checks one by one reports the next reason each time [policy.order]', () => {
  for (const { code, detail, check } of failures) {
    const from = failures.filter((other) => other.check > check || other.detail === detail)
    const spoiled = from.reduceRight((result, { spoil }) => spoil(result), situation)
    assert.deepEqual(decide(spoiled), { decision: 'denied', code, detail, check })
  }
})

test('A proof names no seller, so checks 6 and 7 are skipped and all others apply', () => {
  const { seller: _, ...withoutSeller } = payment
  const closed = changeMandate({ allowedSellers: [], allowedCategories: ['games'] })(situation)
  assert.deepEqual(decide({ ...closed, payment: withoutSeller }), { decision: 'approved' })
  for (const { check, spoil, code, detail } of failures) {
    const spoiled = spoil(situation)
    const expected =
      check === 6 || check === 7 ? { decision: 'approved' } : { decision: 'denied', code, detail, check }
    assert.deepEqual(decide({ ...spoiled, payment: withoutSeller }), expected)
  }
})

const reportsOnly = { allowedResources: ['https://api.example.com/reports/*'] }

test('Check 6a: only resources that match a pattern are allowed, for both evaluations and proofs', () => {
  const { seller: _, ...withoutSeller } = payment
  for (const asked of [payment, withoutSeller]) {
    const decideFor = (resourceUrl: string) =>
      decide({ ...changeMandate(reportsOnly)(situation), payment: { ...asked, resourceUrl } })
    assert.deepEqual(decideFor('https://api.example.com/reports/1'), { decision: 'approved' })
    assert.deepEqual(decideFor('https://api.example.com/admin'), {
      decision: 'denied',
      code: 'resource_not_allowed',
      detail: 'The URL of the resource is not allowed; the mandate allows https://api.example.com/reports/*.',
      check: 6,
    })
    assert.deepEqual(decideFor('https://api.example.com/reports/..%2fadmin'), {
      decision: 'denied',
      code: 'resource_not_allowed',
      detail:
        'Servers could read the URL of the resource in different ways; use a plain one, without dot segments and encoded slashes.',
      check: 6,
    })
  }
})

test('Check 6a comes after the seller and before the category', () => {
  const elsewhere = changePayment({ resourceUrl: 'https://api.example.com/admin', category: 'games' })
  const both = changeMandate(reportsOnly)(elsewhere(situation))
  assert.equal(codeOf(changeSeller({ merchantDomain: 'shop.example.org' })(both)), 'merchant_not_allowed')
  assert.equal(codeOf(both), 'resource_not_allowed')
})

test('A mandate that enforces categories allows no proof without an allowed category', () => {
  const { seller: _, ...withoutSeller } = payment
  const rows: readonly (readonly [allowedCategories: string[], category: string | null, detail?: string])[] =
    [
      [['data'], 'data'],
      [['data'], 'games', 'The category of the payment is not allowed; the mandate allows data.'],
      [['data'], null, 'A payment without a category is not allowed; the mandate allows data.'],
      [['*'], 'games'],
      [['*'], null, 'A payment without a category is not allowed; the mandate needs one, of any name.'],
      [[], 'games'],
      [[], null, 'A payment without a category is not allowed; the mandate needs one, of any name.'],
    ]
  for (const [allowedCategories, category, detail] of rows) {
    const enforced = changeMandate({ allowedCategories, categoryCheck: 'enforced' })(situation)
    for (const asked of [withoutSeller, payment]) {
      const decision = decide({ ...enforced, payment: { ...asked, category } })
      assert.equal(decision.decision === 'denied' ? decision.detail : undefined, detail)
    }
    const advisory = changeMandate({ allowedCategories })(situation)
    assert.equal(decide({ ...advisory, payment: { ...withoutSeller, category } }).decision, 'approved')
  }
})

function codeOf(from: Situation): DenialCode | undefined {
  const decision = decide(from)
  return decision.decision === 'denied' ? decision.code : undefined
}

test('For a proof check 9 counts spent plus open holds plus the amount', () => {
  const held = changeMandate({ spentMicro: parseAmount('60.00'), heldMicro: parseAmount('30.00') })(situation)
  const proof = { ...payment, countHolds: true }
  assert.deepEqual(decide({ ...held, payment: proof }), { decision: 'approved' })
  assert.deepEqual(decide({ ...changeMandate(limits('99.99', '10.00'))(held), payment: proof }), {
    decision: 'denied',
    code: 'total_budget_exceeded',
    detail: '60.00 spent + 30.00 held by open proofs + 10.00 > 99.99, the total budget; 9.99 is left.',
    check: 9,
  })
})

test('For evaluate and verify-agent, check 9 counts spent only, not holds [policy.9]', () => {
  const held = changeMandate({ heldMicro: parseAmount('10.00') })(situation)
  assert.deepEqual(decide(held), { decision: 'approved' })
  assert.equal(remainingBudget(held.mandate ?? mandate), parseAmount('10.00'))
})

const sellers: readonly (readonly [allowed: readonly string[], domain: string, admitted: boolean])[] = [
  [[], 'api.example.com', false],
  [['*'], 'api.example.com', true],
  [['*'], 'no host name!', true],
  [['other.example', '*'], 'api.example.com', true],
  [['api.example.com'], 'API.Example.com.', true],
  [['API.EXAMPLE.COM.'], 'api.example.com', true],
  [['bücher.example'], 'xn--bcher-kva.example', true],
  [['example.com'], 'api.example.com', false],
  [['api.example.com'], 'example.com', false],
  [['*.example.com'], 'api.example.com', false],
  // IDNA turns it into the ASCII character, which is not what the owner wrote.
  [['\uff0a'], 'api.example.com', false],
  [['api.example.com'], 'api.example.com.evil.org', false],
  [['api.example.com'], '', false],
]
for (const [allowedSellers, domain, admitted] of sellers) {
  test(`allowed_sellers ${JSON.stringify(allowedSellers)} ${admitted ? 'allows' : 'does not allow'} ${JSON.stringify(domain)} [policy.6] [mandate.allowed_sellers]`, () => {
    assert.equal(admitsSeller({ allowedSellers }, domain), admitted)
    const spoiled = changeMandate({ allowedSellers })(changeSeller({ merchantDomain: domain })(situation))
    assert.equal(decide(spoiled).decision, admitted ? 'approved' : 'denied')
  })
}

test('The names of an allowlist are normalized only once', () => {
  let read = 0
  const entries = Array.from({ length: 1_000 }, (_, index) => `bücher-${index}.example`)
  const counted = new Proxy(entries, {
    get(list, property, receiver) {
      read += 1
      return Reflect.get(list, property, receiver) as unknown
    },
  })
  assert.ok(admitsSeller({ allowedSellers: counted }, 'bücher-999.example'))
  const readFirst = read
  assert.ok(readFirst >= 1_000)
  assert.ok(!admitsSeller({ allowedSellers: counted }, 'other.example'))
  assert.equal(read, readFirst)
})

const categories: readonly (readonly [
  allowed: readonly string[],
  category: string | null,
  admitted: boolean,
])[] = [
  [[], 'data', true],
  [[], null, true],
  [['*'], 'data', true],
  [['*'], null, true],
  [['games', '*'], 'data', true],
  [['data'], 'data', true],
  [['data'], 'Data', false],
  [['data'], 'data ', false],
  [['data'], '', false],
  [['data'], null, false],
  [['data', 'games'], 'games', true],
]
for (const [allowedCategories, category, admitted] of categories) {
  test(`allowed_categories ${JSON.stringify(allowedCategories)} ${admitted ? 'allows' : 'does not allow'} ${JSON.stringify(category)} [policy.7] [mandate.allowed_categories]`, () => {
    const spoiled = changeMandate({ allowedCategories })(changePayment({ category })(situation))
    assert.equal(decide(spoiled).decision, admitted ? 'approved' : 'denied')
  })
}

test('A refusal lists five entries and counts the rest [policy.6]', () => {
  const names = ['a.example', 'b.example', 'c.example', 'd.example', 'e.example', 'f.example', 'g.example']
  const refused = 'api.example.com is not an allowed seller; the mandate allows'
  assert.equal(detailFor([]), `${refused} none.`)
  assert.equal(detailFor(names.slice(0, 5)), `${refused} ${names.slice(0, 5).join(', ')}.`)
  assert.equal(detailFor(names), `${refused} ${names.slice(0, 5).join(', ')} and 2 more.`)
})

function detailFor(allowedSellers: string[]): string | undefined {
  const decision = decide(changeMandate({ allowedSellers })(situation))
  return decision.decision === 'denied' ? decision.detail : undefined
}

test('A cap above the total is allowed, and the total still applies [policy.8] [policy.9]', () => {
  const wide = changeMandate({ ...limits('5.00', '50.00'), spentMicro: 0n as MicroUsdc })
  assert.equal(
    decide(wide({ ...situation, payment: { ...payment, ...amount('5.00') } })).decision,
    'approved',
  )
  const over = decide(wide({ ...situation, payment: { ...payment, ...amount('5.000001') } }))
  assert(over.decision === 'denied' && over.code === 'total_budget_exceeded')
})

test('An invalid expiry fails closed [policy.5] [state.rule.4]', () => {
  const decision = decide(changeMandate({ expiresAtMs: Number.NaN })(situation))
  assert(decision.decision === 'denied' && decision.code === 'mandate_expired')
})

test('No approved payment ever exceeds the cap or the total, whatever the numbers [limits.per-transaction] [limits.total]', () => {
  const random = seededRandom(9)
  const micro = () => BigInt(random.below(1_000)) as MicroUsdc
  const seen = { approved: 0, denied: 0 }
  for (let round = 0; round < 5_000; round++) {
    const fields = {
      maxTotalMicro: micro(),
      maxPerTransactionMicro: micro(),
      spentMicro: micro(),
      heldMicro: micro(),
    }
    const { maxTotalMicro, maxPerTransactionMicro, spentMicro, heldMicro } = fields
    const amountMicro = micro()
    const countHolds = random.below(2) === 1
    const fits =
      amountMicro <= maxPerTransactionMicro &&
      spentMicro + (countHolds ? heldMicro : 0n) + amountMicro <= maxTotalMicro
    const asked = { ...payment, amountMicro, countHolds }
    const { decision } = decide(changeMandate(fields)({ ...situation, payment: asked }))
    assert.equal(decision, fits ? 'approved' : 'denied')
    seen[decision] += 1
  }
  assert(seen.approved > 100 && seen.denied > 100, JSON.stringify(seen))
})

function changeMandate(fields: Partial<Mandate>): (from: Situation) => Situation {
  return (from) => ({ ...from, mandate: from.mandate && { ...from.mandate, ...fields } })
}

function changeSeller(fields: Partial<NonNullable<PolicyPayment['seller']>>): (from: Situation) => Situation {
  return (from) => ({
    ...from,
    payment: {
      ...from.payment,
      seller: { merchantDomain: '', ...from.payment.seller, ...fields },
    },
  })
}

function changePayment(fields: Partial<PolicyPayment>): (from: Situation) => Situation {
  return (from) => ({ ...from, payment: { ...from.payment, ...fields } })
}

function limits(total: string, perTransaction: string) {
  return {
    maxTotalText: total,
    maxTotalMicro: parseAmount(total),
    maxPerTransactionText: perTransaction,
    maxPerTransactionMicro: parseAmount(perTransaction),
  }
}

function amount(amountText: string) {
  return { amountText, amountMicro: parseAmount(amountText) }
}

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Purser, type NewMandate, type PolicyCheck } from '@purser/client'

import { shareTestService } from '../../../testing/shared-service.ts'

const day = { calendar: 'day', time_zone: 'Europe/Berlin' } as const
const url = 'https://api.example.com/data'

test('A mandate without limits, shared budgets and approvals has the nine checks', async () => {
  const { evaluate, labels } = await start({})
  assert.deepEqual(labels(await evaluate('1.00')), ['1', '2', '3', '4', '5', '6', '7', '8', '9'])
})

test('A denial by a limit names it, with the committed amount, its max and its reset', async () => {
  const { purser, agentId, mandateId, evaluate, labels } = await start({
    limits: [{ window: day, max_amount: '5.00' }],
  })
  await purser.payments.requestProof({
    agent_id: agentId,
    mandate_id: mandateId,
    amount: '4.00',
    resource_url: url,
  })
  const passed = await evaluate('1.00')
  assert.deepEqual(labels(passed), ['1', '2', '3', '4', '5', '6', '7', '8', '9', '10'])
  const [checked] = passed.slice(-1)
  assert.equal(checked?.state, 'passed')
  assert.deepEqual(
    checked?.checked_limits?.map(({ max_amount }) => max_amount),
    ['5.00'],
  )
  const [failed] = (await evaluate('2.00')).slice(-1)
  assert.deepEqual(
    [failed?.check, failed?.state, failed?.value, failed?.relation, failed?.limits],
    [10, 'failed', '4.00 committed + 2.00', 'above', ['5.00']],
  )
  assert.deepEqual(
    [failed?.limit?.scope, failed?.limit?.scope_id, failed?.limit?.committed, failed?.limit?.max],
    ['mandate', mandateId, '4.00', '5.00'],
  )
  assert.deepEqual(failed?.limit?.window, day)
  assert.match(failed?.limit?.resets_at ?? '', /^\d{4}-.*T2[23]:00:00/)
})

test('A denial by a shared budget names the budget, for an evaluation and for a proof', async () => {
  const { purser, agentId, mandateId, evaluate, labels, newest } = await start({ withBudget: true })
  const approved = await evaluate('1.00')
  assert.deepEqual(labels(approved), ['1', '2', '3', '4', '5', '6', '7', '8', '9', '11'])
  assert.deepEqual([approved.at(-1)?.state, approved.at(-1)?.value], ['passed', 'Team, Company'])
  const proof = { agent_id: agentId, mandate_id: mandateId, amount: '9.00', resource_url: url }
  const result = await purser.payments.requestProof(proof)
  assert.equal(result.decision, 'denied')
  for (const checks of [await evaluate('9.00'), await newest('denied')]) {
    const failed = checks.at(-1)
    assert.deepEqual([failed?.check, failed?.state, failed?.budget?.name], [11, 'failed', 'Company'])
    assert.deepEqual(
      [failed?.limit?.max, failed?.limit?.committed, failed?.limit?.resets_at],
      ['8.00', '0.00', null],
    )
  }
  const { items } = await purser.budgets.list().page()
  const team = items.find(({ name }) => name === 'Team')
  await purser.budgets.freeze(team?.id ?? '')
  const frozen = (await evaluate('1.00')).at(-1)
  assert.deepEqual(
    [frozen?.check, frozen?.state, frozen?.budget?.name, frozen?.limit],
    [11, 'failed', 'Team', undefined],
  )
})

test('Check 12 says why approval was needed, and that a person approved', async () => {
  const { purser, agentId, mandateId, evaluate, newest, withKey } = await start({
    approval: { above: '2.00' },
  })
  const needless = (await evaluate('1.00')).at(-1)
  assert.deepEqual([needless?.label, needless?.state, needless?.value], ['12', 'passed', 'needed above 2.00'])
  const unreached = (await evaluate('999.00')).at(-1)
  assert.deepEqual(
    [unreached?.label, unreached?.state, unreached?.value],
    ['12', 'not_reached', 'needed above 2.00'],
  )
  const failed = (await evaluate('3.00')).at(-1)
  assert.deepEqual(
    [failed?.check, failed?.state, failed?.value, failed?.relation, failed?.limits],
    [12, 'failed', '3.00', 'above', ['2.00']],
  )
  const asked = { agent_id: agentId, mandate_id: mandateId, amount: '3.00', resource_url: url }
  const { key } = await purser.apiKeys.create({ environment: 'sandbox', role: 'agent', agent_id: agentId })
  const payer = withKey(key)
  const refused = await payer.payments.requestProof(asked)
  assert.equal(refused.decision, 'denied')
  const approval_id = refused.approval?.id ?? ''
  await purser.approvals.approve(approval_id)
  const granted = await payer.payments.requestProof({ ...asked, approval_id })
  assert.equal(granted.decision, 'approved')
  await purser.sellers.create({ name: 'API', domain: 'api.example.com', price_config: {} })
  const { proof } = granted
  await purser.payments.verify({ proof, merchant_domain: 'api.example.com', expected_amount: '3.00' })
  const paid = (await newest('paid')).at(-1)
  assert.deepEqual(
    [paid?.label, paid?.state, paid?.value],
    ['12', 'passed', '3.00 > 2.00: approved by a person'],
  )
})

test('Earlier decisions are shown with the terms that applied to them', async () => {
  const { purser, mandateId, transactionOf, evaluate, labels } = await start({
    limits: [{ window: day, max_amount: '5.00' }],
    allowed_resources: ['https://api.example.com/*'],
  })
  const before = await transactionOf('1.00')
  await purser.mandates.amend(mandateId, 1, {
    limits: [],
    allowed_resources: [],
    max_spend_per_transaction: '2.00',
  })
  const { checks } = await purser.console.transactions.get(before)
  assert.deepEqual(labels(checks), ['1', '2', '3', '4', '5', '6', '6a', '7', '8', '9', '10'])
  assert.deepEqual(checks.find(({ label }) => label === '8')?.limits, ['10.00'])
  assert.deepEqual(labels(await evaluate('1.00')), ['1', '2', '3', '4', '5', '6', '7', '8', '9'])
})

async function start({
  withBudget = false,
  ...terms
}: Partial<NewMandate> & { readonly withBudget?: boolean }) {
  const service = await shareTestService()
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const agent = await purser.agents.create({ name: 'research-bot' })
  const company = withBudget
    ? await purser.budgets.create({ name: 'Company', limits: [{ window: 'lifetime', max_amount: '8.00' }] })
    : undefined
  const team = company && (await purser.budgets.create({ name: 'Team', parent_id: company.id, limits: [] }))
  const mandate = await purser.mandates.create({
    agent_id: agent.id,
    purpose: 'Research data',
    max_spend_total: '100.00',
    max_spend_per_transaction: '10.00',
    allowed_sellers: ['api.example.com'],
    expires_at: '2099-01-01T00:00:00Z',
    ...(team ? { budget_id: team.id } : {}),
    ...terms,
  })
  const transactionOf = async (amount: string): Promise<string> => {
    const { transaction_id } = await purser.policy.evaluate({
      agent_id: agent.id,
      mandate_id: mandate.id,
      merchant_domain: 'api.example.com',
      amount,
      resource_url: url,
    })
    return transaction_id
  }
  const checksOf = async (id: string) => (await purser.console.transactions.get(id)).checks
  return {
    purser,
    agentId: agent.id,
    mandateId: mandate.id,
    transactionOf,
    evaluate: async (amount: string) => checksOf(await transactionOf(amount)),
    withKey: (apiKey: string) => new Purser({ apiKey, baseUrl: service.url }),
    newest: async (status: 'denied' | 'paid') => {
      const { items } = await purser.console.transactions.list({ status }).page()
      return checksOf(items[0]?.id ?? '')
    },
    labels: (checks: readonly PolicyCheck[]) => checks.map(({ label }) => label),
  }
}

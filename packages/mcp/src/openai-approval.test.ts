import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Agent, Runner, setTracingDisabled } from '@openai/agents'
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents/testing'

import { shareTestService } from '../../../service/testing/shared-service.ts'
import { openShop, type Shop } from '../testing/shop.ts'
import { purserTools, type OpenAiAgentsOptions } from './openai-agents.ts'
import type { ProposedPurchase } from './purchases/order.ts'

setTracingDisabled(true)

const service = await shareTestService()

/** An agent that makes these calls in sequence, and a run until it ends or asks. */
async function run(shop: Shop, options: OpenAiAgentsOptions, ...calls: (readonly [string, object])[]) {
  const steps = calls.map(([name, args], index) => [
    functionCall(name, { ...args }, { callId: `call_${index}` }),
  ])
  const model = new ScriptedModel([...steps, [assistantMessage('done')]])
  const agent = new Agent({ name: 'Researcher', model, tools: purserTools(shop.wallet, options) })
  const runner = new Runner()
  const first = await runner.run(agent, 'Find out about the weather.')
  const answer = async (approved: boolean) => {
    for (const question of first.interruptions) {
      if (approved) first.state.approve(question)
      else first.state.reject(question)
    }
    return runner.run(agent, first.state)
  }
  return { questions: first.interruptions.map(({ name }) => name), first, answer }
}

/** Asserts that nothing was requested, held, recorded or charged. */
async function assertUntouched(shop: Shop): Promise<void> {
  assert.deepEqual(shop.merchant.requests, [])
  await shop.assertUntouched()
}

const fetchReport = (shop: Shop) =>
  [
    'fetch_paid_resource',
    { purchase_id: 'report', url: `${shop.merchant.url}/report`, max_amount: '4.50' },
  ] as const

test('needsApproval: true asks the OpenAI Agents SDK about tools that spend, and a refusal costs nothing', async (context) => {
  const shop = await openShop(context, {}, service)
  const agent = await run(shop, { needsApproval: true }, ['get_budget', {}], fetchReport(shop))
  assert.deepEqual(agent.questions, ['fetch_paid_resource'])
  await assertUntouched(shop)
  assert.equal((await agent.answer(false)).finalOutput, 'done')
  await assertUntouched(shop)
})

test('An approved call of the OpenAI Agents SDK buys once', async (context) => {
  const shop = await openShop(context, {}, service)
  const agent = await run(shop, { needsApproval: true }, fetchReport(shop))
  const result = await agent.answer(true)
  assert.match(JSON.stringify(result.newItems), /outcome\W+paid\W/)
  assert.deepEqual(await shop.spent(), { spent: '4.00', held: '0.00' })
})

test('The OpenAI Agents SDK calls needsApproval with price, resource, seller and the call', async (context) => {
  const shop = await openShop(context, {}, service)
  const asked: (ProposedPurchase & { readonly callId: string | undefined })[] = []
  const options: OpenAiAgentsOptions = {
    needsApproval: async (purchase, { callId, runContext }) => {
      assert.ok(runContext)
      asked.push({ ...purchase, callId })
      return purchase.isExact
    },
  }
  const order = ['pay', { purchase_id: 'o', resource_url: `${shop.merchant.url}/order`, amount: '2.00' }]
  const agent = await run(shop, options, fetchReport(shop), order as ['pay', object])
  assert.deepEqual(asked, [
    {
      callId: 'call_0',
      purchaseId: 'report',
      price: '4.50',
      isExact: false,
      resource: `${shop.merchant.url}/report`,
      seller: 'localhost',
      method: 'GET',
      mandateId: undefined,
    },
    {
      callId: 'call_1',
      purchaseId: 'o',
      price: '2.00',
      isExact: true,
      resource: `${shop.merchant.url}/order`,
      seller: 'localhost',
      method: 'GET',
      mandateId: undefined,
    },
  ])
  assert.deepEqual(agent.questions, ['pay'])
  assert.deepEqual(await shop.spent(), { spent: '4.00', held: '0.00' })
})

test('Invalid arguments are refused by the tool, not put to a person', async (context) => {
  const shop = await openShop(context, {}, service)
  const options = { needsApproval: () => assert.fail('nobody can decide about this') }
  const agent = await run(shop, options, ['pay', { purchase_id: 'bad', amount: '-1' }])
  assert.match(JSON.stringify(agent.first.newItems), /invalid_request/)
  await assertUntouched(shop)
})

test('If needsApproval returns neither true nor false, or throws, the OpenAI Agents SDK buys nothing', async (context) => {
  const shop = await openShop(context, {}, service)
  const forgetful = { needsApproval: () => undefined as unknown as boolean }
  assert.deepEqual((await run(shop, forgetful, fetchReport(shop))).questions, ['fetch_paid_resource'])
  const broken = { needsApproval: () => Promise.reject(new Error('nobody is there')) }
  await assert.rejects(run(shop, broken, fetchReport(shop)), /nobody is there/)
  await assertUntouched(shop)
})

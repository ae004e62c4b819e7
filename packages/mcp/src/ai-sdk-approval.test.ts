import assert from 'node:assert/strict'
import { test } from 'node:test'

import { generateText, isStepCount, type ModelMessage } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'

import { shareTestService } from '../../../service/testing/shared-service.ts'
import { openShop, type Shop } from '../testing/shop.ts'
import { purserTools, type AiSdkOptions } from './ai-sdk.ts'
import type { ProposedPurchase } from './purchases/order.ts'

const service = await shareTestService()

const tokens = { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0, text: 0, reasoning: 0 }
const usage = { inputTokens: tokens, outputTokens: tokens }

/** A model that makes these calls at once, then repeats their results. */
function modelThatCalls(...calls: (readonly [tool: string, args: object])[]): MockLanguageModelV4 {
  return new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      const results = prompt.at(-1)?.role === 'tool'
      if (results) {
        const content = [{ type: 'text' as const, text: JSON.stringify(prompt.at(-1)?.content) }]
        return { content, finishReason: { unified: 'stop', raw: undefined }, usage, warnings: [] }
      }
      const content = calls.map(([toolName, args], index) => ({
        type: 'tool-call' as const,
        toolCallId: `call_${index}`,
        toolName,
        input: JSON.stringify(args),
      }))
      return { content, finishReason: { unified: 'tool-calls', raw: undefined }, usage, warnings: [] }
    },
  })
}

/** Runs an agent until it ends or asks; `answer` continues. */
async function run(shop: Shop, options: AiSdkOptions, ...calls: (readonly [string, object])[]) {
  const model = modelThatCalls(...calls)
  const tools = purserTools(shop.wallet, options)
  const messages: ModelMessage[] = [{ role: 'user', content: 'Find out about the weather.' }]
  const go = async () => {
    const result = await generateText({ model, tools, messages, stopWhen: isStepCount(4) })
    messages.push(...result.responseMessages)
    return result
  }
  const first = await go()
  const questions = first.content.filter((part) => part.type === 'tool-approval-request')
  const answer = async (approved: boolean) => {
    const content = questions.map(({ approvalId }) => ({
      type: 'tool-approval-response' as const,
      approvalId,
      approved,
    }))
    messages.push({ role: 'tool', content })
    return go()
  }
  return { questions: questions.map(({ toolCall }) => toolCall.toolName), text: first.text, answer }
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

test('needsApproval: true asks the AI SDK about tools that spend, and a refusal costs nothing', async (context) => {
  const shop = await openShop(context, {}, service)
  const payReport = ['pay', { purchase_id: 'b', resource_url: `${shop.merchant.url}/report`, amount: '4.00' }]
  const agent = await run(
    shop,
    { needsApproval: true },
    ['get_budget', {}],
    fetchReport(shop),
    payReport as ['pay', object],
  )
  assert.deepEqual(agent.questions, ['fetch_paid_resource', 'pay'])
  await assertUntouched(shop)
  assert.match((await agent.answer(false)).text, /denied/)
  await assertUntouched(shop)
})

test('An approved call of the AI SDK buys once', async (context) => {
  const shop = await openShop(context, {}, service)
  const agent = await run(shop, { needsApproval: true }, fetchReport(shop))
  await assertUntouched(shop)
  assert.match((await agent.answer(true)).text, /"outcome":"paid"/)
  assert.deepEqual(await shop.spent(), { spent: '4.00', held: '0.00' })
})

test('The AI SDK calls needsApproval with price, resource, seller and the call', async (context) => {
  const shop = await openShop(context, {}, service)
  const asked: (ProposedPurchase & { readonly callId: string })[] = []
  const options: AiSdkOptions = {
    needsApproval: async (purchase, { toolCallId }) => {
      asked.push({ ...purchase, callId: toolCallId })
      return purchase.isExact
    },
  }
  const order = { resource_url: `${shop.merchant.url}/order`, amount: '2.00', method: 'POST', body: '{}' }
  const agent = await run(shop, options, fetchReport(shop), ['pay', { purchase_id: 'order', ...order }])
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
      purchaseId: 'order',
      price: '2.00',
      isExact: true,
      resource: `${shop.merchant.url}/order`,
      seller: 'localhost',
      method: 'POST',
      mandateId: undefined,
    },
  ])
  assert.deepEqual(agent.questions, ['pay'])
  assert.deepEqual(await shop.spent(), { spent: '4.00', held: '0.00' })
})

test('If needsApproval returns neither true nor false, or throws, the AI SDK buys nothing', async (context) => {
  const shop = await openShop(context, {}, service)
  const forgetful = { needsApproval: () => undefined as unknown as boolean }
  assert.deepEqual((await run(shop, forgetful, fetchReport(shop))).questions, ['fetch_paid_resource'])
  const broken: AiSdkOptions = { needsApproval: () => Promise.reject(new Error('nobody is there')) }
  await assert.rejects(run(shop, broken, fetchReport(shop)), /nobody is there/)
  await assertUntouched(shop)
})

test('Without needsApproval, the AI SDK requests no approval', async (context) => {
  const shop = await openShop(context, {}, service)
  for (const options of [{}, { needsApproval: false }]) {
    assert.deepEqual((await run(shop, options, fetchReport(shop))).questions, [])
  }
})

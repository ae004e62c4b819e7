import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Agent, Runner, setTracingDisabled } from '@openai/agents'
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents/testing'

import { openShop } from '../testing/shop.ts'
import { purserTools } from './openai-agents.ts'

setTracingDisabled(true)

test('An agent of the OpenAI Agents SDK is refused with a reason, and buys within its limit', async (context) => {
  const shop = await openShop(context)
  let calls = 0
  const step = (name: string, args: Record<string, unknown>) => [
    functionCall(name, args, { callId: `call_${++calls}` }),
  ]
  const model = new ScriptedModel([
    step('get_budget', {}),
    step('pay', { purchase_id: 'bad', resource_url: 'no address', amount: '4.00' }),
    step('pay', { purchase_id: 'dear', resource_url: `${shop.merchant.url}/dear`, amount: '7.00' }),
    step('fetch_paid_resource', {
      purchase_id: 'report',
      url: `${shop.merchant.url}/report`,
      max_amount: '5.00',
    }),
    [assistantMessage('It will be sunny.')],
  ])
  const agent = new Agent({ name: 'Researcher', model, tools: purserTools(shop.wallet) })
  const result = await new Runner().run(agent, 'Find out about the weather.')
  assert.equal(result.finalOutput, 'It will be sunny.')

  const outputs = result.newItems.flatMap((item) =>
    item.type === 'tool_call_output_item' ? [item.output as Record<string, unknown>] : [],
  )
  assert.deepEqual(
    outputs.slice(1).map(({ outcome, reason_code }) => [outcome, reason_code]),
    [
      ['failed', 'invalid_request'],
      ['denied', 'amount_exceeds_per_transaction_limit'],
      ['paid', null],
    ],
  )
  assert.ok(!JSON.stringify(result.history).includes(shop.merchant.shown[0]?.proof.signature ?? 'none'))
  assert.deepEqual(await shop.spent(), { spent: '4.00', held: '0.00' })
})

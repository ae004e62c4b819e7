import assert from 'node:assert/strict'
import { test } from 'node:test'

import { openShop } from '../testing/shop.ts'
import { purserTools } from './ai-sdk.ts'

test('The AI SDK gets every tool with a description and a schema', async (context) => {
  const shop = await openShop(context)
  const tools = purserTools(shop.wallet)
  assert.deepEqual(Object.keys(tools), [
    'get_budget',
    'check_payment',
    'pay',
    'fetch_paid_resource',
    'list_payments',
    'request_increase',
  ])
  for (const { description, inputSchema, execute } of Object.values(tools)) {
    assert.ok(description && inputSchema && execute)
  }
})

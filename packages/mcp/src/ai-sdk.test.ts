import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { ToolSet } from 'ai'

import { openShop } from '../testing/shop.ts'
import { purserTools } from './ai-sdk.ts'
import { toolNames } from './tools/tool.ts'

test('The AI SDK gets every tool with a description and a schema', async (context) => {
  const shop = await openShop(context)
  const tools = purserTools(shop.wallet)
  assert.deepEqual(Object.keys(tools), toolNames)
  for (const { description, inputSchema, execute } of Object.values(tools)) {
    assert.ok(description && inputSchema && execute)
  }
  // An agent may get only some of them; their names are part of the type.
  const { get_budget, pay } = tools
  assert.deepEqual(Object.keys({ get_budget, pay } satisfies ToolSet), ['get_budget', 'pay'])
})

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'

import { openShop } from '../../packages/mcp/testing/shop.ts'

test('The MCP client buys once, however often it asks, and is told why it may not buy more', async (context) => {
  const shop = await openShop(context)
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [join(import.meta.dirname, 'client.ts')],
    { env: { ...shop.environment, SHOP_URL: shop.merchant.url } },
  )
  assert.equal(stderr, '')
  assert.match(stdout, /^tools: get_budget, check_payment, pay, fetch_paid_resource, list_payments$/m)
  assert.match(stdout, /^Paid 4\.00 USDC to localhost for purchase weather-today\. Transaction txn_/m)
  assert.match(stdout, /^Paid 4\.00 .* by an earlier call; nothing was bought again\./m)
  assert.match(stdout, /^Denied; nothing was charged/m)
  assert.equal(shop.merchant.shown.length, 1)
  assert.deepEqual(await shop.spent(), { spent: '4.00', held: '0.00' })
})

test("The guide's code is that of the examples, to the letter", () => {
  const guide = readFileSync(join(import.meta.dirname, '../../docs/guides/mcp.md'), 'utf8')
  for (const path of ['client.ts', '../ai-sdk-agent/agent.ts']) {
    const code = readFileSync(join(import.meta.dirname, path), 'utf8')
    assert.ok(guide.includes(`\`\`\`ts\n${code}\`\`\`\n`), path)
  }
})

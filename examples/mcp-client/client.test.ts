import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'

import { openShop } from '../../packages/mcp/testing/shop.ts'
import { shareTestService } from '../../service/testing/shared-service.ts'

test('The MCP client buys once, however often it asks, and learns why it may not buy more', async (context) => {
  const shop = await openShop(context, {}, await shareTestService())
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [join(import.meta.dirname, 'client.ts'), `${shop.merchant.url}/report`, `${shop.merchant.url}/dear`],
    { env: { ...shop.environment }, timeout: 30_000 },
  )
  assert.equal(stderr, '')
  assert.match(stdout, /^Paid 4\.00 USDC to localhost for purchase read http:\S+\/report\. Transaction txn_/m)
  assert.match(stdout, /^Paid 4\.00 .* by an earlier call; nothing was bought again\./m)
  assert.match(stdout, /^Denied; nothing was charged/m)
  assert.equal(shop.merchant.shown.length, 1)
  assert.deepEqual(await shop.spent(), { spent: '4.00', held: '0.00' })
})

test("The guide's code matches the examples exactly", () => {
  const guide = readFileSync(join(import.meta.dirname, '../../docs/guides/mcp.md'), 'utf8')
  for (const path of ['client.ts', '../ai-sdk-agent/agent.ts', '../ai-sdk-agent/approving-agent.ts']) {
    const code = readFileSync(join(import.meta.dirname, path), 'utf8')
    assert.ok(guide.includes(`\`\`\`ts\n${code}\`\`\`\n`), path)
  }
})

import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'

import { openShop } from '../../packages/mcp/testing/shop.ts'
import { shareTestService } from '../../service/testing/shared-service.ts'

test('The AI SDK agent is refused with a reason, and buys what it may', async (context) => {
  const shop = await openShop(context, {}, await shareTestService())
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [join(import.meta.dirname, 'agent.ts'), `${shop.merchant.url}/dear`, `${shop.merchant.url}/report`],
    { env: { ...shop.environment }, timeout: 30_000 },
  )
  assert.equal(stderr, '')
  assert.match(stdout, /^fetch_paid_resource \{\s+outcome: 'denied',\s+reason_detail: '.*7\.00.*5\.00.*',/m)
  assert.match(stdout, /^fetch_paid_resource \{\s+outcome: 'paid',/m)
  assert.match(stdout, /^The source says: .*Sunny, 21 degrees/m)
  for (const secret of [shop.agentKey, shop.merchant.shown[0]?.proof.signature ?? 'no proof was sent']) {
    assert.ok(!stdout.includes(secret))
  }
  assert.deepEqual(await shop.spent(), { spent: '4.00', held: '0.00' })
})

test('The approving agent asks before it buys, and buys what was approved', async (context) => {
  const shop = await openShop(context, {}, await shareTestService())
  const agent = spawn(
    process.execPath,
    [
      join(import.meta.dirname, 'approving-agent.ts'),
      `${shop.merchant.url}/tagged`,
      `${shop.merchant.url}/report`,
    ],
    { env: { ...shop.environment }, stdio: ['pipe', 'pipe', 'inherit'], timeout: 30_000 },
  )
  const answers = ['n', 'y']
  let output = ''
  for await (const chunk of agent.stdout) {
    output += String(chunk)
    if (!output.endsWith('[y/N] ')) continue
    // Nothing is bought before the answer.
    assert.deepEqual(shop.merchant.requests, [])
    agent.stdin.write(`${answers.shift()}\n`)
  }
  assert.match(output, /"url":"http:\S+\/tagged".*\? \[y\/N\] .*"url":"http:\S+\/report".*\? \[y\/N\] /)
  assert.match(output, /The source says: .*Sunny, 21 degrees/)
  assert.deepEqual(await shop.spent(), { spent: '4.00', held: '0.00' })
})

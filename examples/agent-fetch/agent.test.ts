import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'

import { merchantDomain, startMerchant } from '../../packages/client/testing/merchant.ts'
import { issueKey, preparePurchase } from '../../service/testing/service.ts'
import { shareTestService } from '../../service/testing/shared-service.ts'

const script = join(import.meta.dirname, 'agent.js')

for (const page of ['docs/guides/agents.md', 'packages/client/README.md']) {
  test(`The agent in ${page} matches the example exactly`, () => {
    const text = readFileSync(join(import.meta.dirname, '../..', page), 'utf8')
    assert.ok(text.includes(`\`\`\`js\n${readFileSync(script, 'utf8')}\`\`\`\n`))
  })
}

test("The README's paying code matches the example exactly", () => {
  const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8')
  const code = readFileSync(script, 'utf8')
  const shown = code.slice(code.indexOf('const client'), code.indexOf('\nfunction report'))
  assert.ok(shown.includes('wrapFetchWithPayment') && readme.includes(`\`\`\`js\n${shown}\`\`\`\n`))
})

test('The agent buys within its mandate, and reports why it does not buy the rest', async (context) => {
  const service = await shareTestService()
  const cheap = await startMerchant(context, service, { price: '4.00' })
  const dear = await startMerchant(context, service, { price: '5.01' })
  const { agentId, mandateId } = await preparePurchase(service, {
    max_spend_total: '7.00',
    allowed_sellers: [merchantDomain],
  })
  const addresses = [`${cheap.url}/one`, `${dear.url}/two`, `${cheap.url}/three`]
  const { stdout } = await promisify(execFile)(process.execPath, [script, ...addresses], {
    env: {
      ...process.env,
      PURSER_URL: service.url,
      PURSER_AGENT_KEY: await issueKey(service, { role: 'agent', agent_id: agentId }),
      PURSER_AGENT_ID: agentId,
      PURSER_MANDATE_ID: mandateId,
    },
    timeout: 30_000,
  })
  const lines = stdout.split('\n')
  assert.deepEqual(lines.slice(0, 2), [`paying 4.00 for ${cheap.url}/one`, '200 {"data":[1,2,3]}'])
  assert.equal(lines[2], 'not paid (over_max_amount): the price of 5.01 USDC is above maxAmount 5.00')
  assert.match(lines[3] ?? '', /^402 \{.*"amount":"5\.01"/)
  assert.match(lines[4] ?? '', /^denied \(total_budget_exceeded\): .*4\.00/)
  assert.match(lines[5] ?? '', /^402 /)
  const { body } = await service.call('GET', `/mandates/${mandateId}`)
  assert.deepEqual([body.spent_total, body.held_total], ['4.00', '0.00'])
})

import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'

import { merchantDomain, startMerchant } from '../../packages/client/testing/merchant.ts'
import { issueKey, preparePurchase } from '../../service/testing/service.ts'
import { shareTestService } from '../../service/testing/shared-service.ts'

const script = join(import.meta.dirname, 'buy.sh')
const hasCurl = spawnSync('curl', ['--version']).status === 0

test('The script in docs/guides/agents.md matches the example exactly', () => {
  const guide = readFileSync(join(import.meta.dirname, '../../docs/guides/agents.md'), 'utf8')
  assert.ok(guide.includes(`\`\`\`sh\n${readFileSync(script, 'utf8')}\`\`\`\n`))
})

const options = { skip: hasCurl ? false : 'there is no curl on this machine' }

test('curl buys within the mandate, and shows a refusal', options, async (context) => {
  const service = await shareTestService()
  const merchant = await startMerchant(context, service, { price: '4.00' })
  const { agentId, mandateId } = await preparePurchase(service, {
    max_spend_total: '7.00',
    allowed_sellers: [merchantDomain],
  })
  const env = {
    ...process.env,
    PURSER_URL: service.url,
    PURSER_AGENT_KEY: await issueKey(service, { role: 'agent', agent_id: agentId }),
    PURSER_AGENT_ID: agentId,
    PURSER_MANDATE_ID: mandateId,
  }
  const buy = (address: string) =>
    promisify(execFile)('sh', [script, address], { env, timeout: 30_000 }).then(
      ({ stdout }) => ({ code: 0, stdout, stderr: '' }),
      (failure: { code: number; stdout: string; stderr: string }) => failure,
    )
  assert.equal((await buy(`${merchant.url}/data`)).stdout, '{"data":[1,2,3]}')
  const refused = await buy(`${merchant.url}/more`)
  assert.deepEqual([refused.code, refused.stdout], [1, ''])
  assert.match(refused.stderr, /refused: .*total_budget_exceeded/)
  const nothing = await buy(`${service.url}/healthz`)
  assert.equal(nothing.code, 1)
  assert.match(nothing.stderr, /not an offer/)
  const { body } = await service.call('GET', `/mandates/${mandateId}`)
  assert.deepEqual([body.spent_total, body.held_total], ['4.00', '0.00'])
})

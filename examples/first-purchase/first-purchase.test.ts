import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'

import { shareTestService } from '../../service/testing/shared-service.ts'

const script = join(import.meta.dirname, 'first-purchase.js')

test('The first purchase in the guide to payments matches the example exactly', () => {
  const guide = readFileSync(join(import.meta.dirname, '../../docs/guides/payments.md'), 'utf8')
  assert.ok(guide.includes(`\`\`\`js\n${readFileSync(script, 'utf8')}\`\`\`\n`))
})

test('The first purchase is charged once, and a payment over the cap is refused', async () => {
  const service = await shareTestService()
  const { stdout } = await promisify(execFile)(process.execPath, [script], {
    env: { ...process.env, PURSER_URL: service.url, PURSER_SANDBOX_KEY: service.sandboxKey },
  })
  assert.match(stdout, /^verified +\{ verified: true, transaction_id: 'txn_\w+' \}$/m)
  assert.match(stdout, /^shown again +\{ verified: false, reason: 'nonce_reused' \}$/m)
  assert.match(stdout, /reason_code: 'amount_exceeds_per_transaction_limit'/)
  const { body } = await service.call('GET', '/mandates')
  assert.deepEqual([body[0].spent_total, body[0].held_total], ['4.00', '0.00'])
})

test('The first purchase without a key says what is missing', async () => {
  const service = await shareTestService()
  const { PURSER_SANDBOX_KEY: _, ...environment } = process.env
  const run = promisify(execFile)(process.execPath, [script], {
    env: { ...environment, PURSER_URL: service.url },
  })
  await assert.rejects(run, /PURSER_SANDBOX_KEY is missing/)
})

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'

import { shareTestService } from '../../service/testing/shared-service.ts'

const script = join(import.meta.dirname, 'calls.ts')

test("The calls in the client's README match the example exactly", () => {
  const readme = readFileSync(join(import.meta.dirname, '../../packages/client/README.md'), 'utf8')
  assert.ok(readme.includes(`\`\`\`ts\n${readFileSync(script, 'utf8')}\`\`\`\n`))
})

test('The calls charge once, show the refusal, and find nothing of other tenants', async () => {
  const service = await shareTestService()
  const { stdout } = await promisify(execFile)(process.execPath, [script], {
    env: { ...process.env, PURSER_URL: service.url, PURSER_SANDBOX_KEY: service.sandboxKey },
    timeout: 30_000,
  })
  const [refusal, ...rest] = stdout.trim().split('\n')
  assert.match(refusal ?? '', /^amount_exceeds_per_transaction_limit - .*6\.00/)
  assert.deepEqual(rest, ['charged', 'paid 4.00', 'denied 6.00', '404 not_found'])
})

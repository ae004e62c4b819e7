import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'

test('set-up.js sends no key to a default URL', () => {
  for (const missing of ['PURSER_URL', 'PURSER_SANDBOX_KEY']) {
    const env = { ...process.env, PURSER_URL: 'http://127.0.0.1:1', PURSER_SANDBOX_KEY: 'svc_sand_none' }
    const script = join(import.meta.dirname, 'set-up.js')
    const { status, stdout, stderr } = spawnSync(process.execPath, [script], {
      env: { ...env, [missing]: '' },
      encoding: 'utf8',
      timeout: 20_000,
    })
    assert.deepEqual([status, stdout], [1, ''])
    assert.match(stderr, /^Set PURSER_URL and PURSER_SANDBOX_KEY: paste both lines/)
  }
})

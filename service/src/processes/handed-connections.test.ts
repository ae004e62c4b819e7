import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'

test('A connection that every worker refuses because it is closing its port is closed', async () => {
  const program = join(import.meta.dirname, '../../testing/http/closing-worker.ts')
  const { stdout } = await promisify(execFile)(process.execPath, [program])
  assert.equal(stdout, 'closed\n')
})

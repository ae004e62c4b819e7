import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { test } from 'node:test'

import { projectFolder } from './source-files.ts'

const hangs = `
import { spawn } from 'node:child_process'
import { test } from 'node:test'
test('passes', () => {})
test('leaves a process behind', () => spawn('sleep', ['600'], { stdio: 'inherit' }).unref())
await new Promise(() => setInterval(() => {}, 1000))
`

test('A test file that never ends fails, with its name, and its processes are killed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'purser-stalled-'))
  const path = join(folder, 'hangs.test.mjs')
  writeFileSync(path, hangs)
  try {
    const { code, output } = await runTests(['--stalled-seconds', '3', relative(projectFolder, path)])
    assert.equal(code, 1)
    assert.match(output, /✔ passes/)
    assert.match(output, /No test has ended for 3 s; ended process \d+: .*hangs\.test\.mjs/)
    assert.match(output, /No test has ended for 3 s; ended process \d+: sleep 600/)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

function runTests(args: readonly string[]): Promise<{ readonly code: unknown; readonly output: string }> {
  // As if not run by a test runner.
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined }
  return new Promise((resolve) =>
    execFile(
      process.execPath,
      [join(projectFolder, 'tools/test.ts'), ...args],
      { env, timeout: 60_000 },
      (error, stdout, stderr) => resolve({ code: error ? error.code : 0, output: stdout + stderr }),
    ),
  )
}

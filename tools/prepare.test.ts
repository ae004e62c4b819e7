import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'

import { projectFolder } from './source-files.ts'

test('Without development dependencies there is no console, a line says so, and the installation continues', (context) => {
  const { status, stdout, stderr } = prepareIn(context)
  assert.equal(status, 0)
  assert.match(stdout, /^The console is not built: .+\n$/)
  assert.equal(stderr, '')
})

test('A console that cannot be built is reported, and does not stop the installation', (context) => {
  const { status, stderr } = prepareIn(context, "console.error('no such browser'); process.exit(1)")
  assert.equal(status, 0)
  assert.match(stderr, /no such browser/)
  assert.match(stderr, /The console could not be built/)
})

/** Runs the script like `npm ci`, in a project whose Vite is this program, or that has none. */
function prepareIn(context: TestContext, vite?: string) {
  const folder = mkdtempSync(join(tmpdir(), 'purser-prepare-'))
  context.after(() => rmSync(folder, { recursive: true }))
  for (const name of ['tools', 'console', 'node_modules/vite/bin'])
    mkdirSync(join(folder, name), { recursive: true })
  copyFileSync(join(projectFolder, 'tools/prepare.ts'), join(folder, 'tools/prepare.ts'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  if (vite !== undefined) writeFileSync(join(folder, 'node_modules/vite/bin/vite.js'), vite)
  return spawnSync(process.execPath, [join(folder, 'tools/prepare.ts')], {
    cwd: folder,
    encoding: 'utf8',
    timeout: 30_000,
  })
}

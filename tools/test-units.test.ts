import assert from 'node:assert/strict'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { projectFolder } from './source-files.ts'
import { longest, testUnits } from './test-units.ts'

test('Every test file is run once, alone or with its folder, longest first', (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'purser-units-'))
  context.after(() => rmSync(folder, { recursive: true }))
  const paths = globSync('{service,packages,console}/**/*.test.ts', {
    cwd: projectFolder,
    exclude: (path) => path.includes('node_modules'),
  })
  const units = testUnits(paths, folder)
  const filesOf = (unit: string) =>
    unit.startsWith(folder)
      ? [...readFileSync(unit, 'utf8').matchAll(/^import '(.+)'$/gm)].map(([, url = '']) =>
          relative(projectFolder, fileURLToPath(url)),
        )
      : [unit]
  assert.deepEqual(units.flatMap(filesOf).toSorted(), paths.toSorted())
  assert.ok(units.length < paths.length - 100, `${units.length} processes for ${paths.length} files`)
  assert.equal(units[0], longest[0])
  const routes = units[longest.indexOf('service/src/routes')] ?? ''
  assert.ok(filesOf(routes).includes('service/src/routes/payments-verify.test.ts'))
  for (const name of longest) assert.ok(existsSync(join(projectFolder, name)), `${name} is gone`)
})

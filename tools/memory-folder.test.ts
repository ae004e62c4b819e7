import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import { createMemoryFolder } from './memory-folder.ts'

const isLinux = process.platform === 'linux'

test(
  'The tests get a folder in memory if there is room, and it is removed at the end',
  { skip: !isLinux },
  () => {
    const program = `import { createMemoryFolder } from ${JSON.stringify(join(import.meta.dirname, 'memory-folder.ts'))}
    import { writeFileSync } from 'node:fs'
    const folder = createMemoryFolder('/dev/shm', 1)
    if (folder !== undefined) writeFileSync(folder + '/database', 'x')
    console.log(folder ?? 'none')`
    const folder = execFileSync(process.execPath, ['--input-type=module', '-e', program], {
      encoding: 'utf8',
    }).trim()
    assert.match(folder, /^(\/dev\/shm\/purser-tests-\w+|none)$/)
    assert.ok(!existsSync(folder))
  },
)

test('The tests get no folder in memory without room, or on a disk', () => {
  assert.equal(createMemoryFolder('/dev/shm', Number.MAX_SAFE_INTEGER), undefined)
  assert.equal(createMemoryFolder(import.meta.dirname, 1), undefined)
  assert.equal(createMemoryFolder('/nowhere', 1), undefined)
})

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import { projectFolder } from '../../tools/source-files.ts'

const noCheckout = !existsSync(join(projectFolder, '.git')) && 'this is no checkout'

test(
  'A service that runs as another user than the owner of its checkout names its commit',
  { skip: noCheckout },
  () => {
    const head = execFileSync('git', ['-c', 'safe.directory=*', 'rev-parse', 'HEAD'], {
      cwd: projectFolder,
      encoding: 'utf8',
    })
    const script = `import { commit } from ${JSON.stringify(join(import.meta.dirname, 'version.ts'))}; console.log(commit())`
    const env = { ...process.env, GIT_TEST_ASSUME_DIFFERENT_OWNER: '1' }
    const args = ['--input-type=module', '--eval', script]
    assert.equal(execFileSync(process.execPath, args, { env, encoding: 'utf8' }).trim(), head.slice(0, 12))
  },
)

import assert from 'node:assert/strict'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseEnv } from 'node:util'

import { testCommand } from '../../../packages/cli/testing/command.ts'
import { readConfig } from '../settings/config.ts'
import { settingFlags } from '../settings/settings.ts'

test('init explains every setting in an .env file that changes nothing', async (context) => {
  const { folder, purser } = testCommand(context)
  const { code, output } = await purser('init')
  assert.equal(code, 0)
  const path = join(folder, '.env')
  assert.match(output, /^Wrote .*\.env\. .*\n\nNext:\n {2}1\. purser serve/)
  const text = readFileSync(path, 'utf8')
  for (const { name, standard } of settingFlags()) assert.ok(text.includes(`\n#${name}=${standard}\n`), name)
  assert.deepEqual(parseEnv(text), {})
  assert.equal(statSync(path).mode & 0o777, 0o600)
})

test('Every line of the .env file is valid without its #', async (context) => {
  const { folder, purser } = testCommand(context)
  await purser('init')
  const path = join(folder, '.env')
  const before = readConfig([], {}, folder)
  assert.ok('config' in before)
  writeFileSync(path, readFileSync(path, 'utf8').replaceAll(/^#(?=PURSER_\w+=)/gm, ''))
  assert.deepEqual(readConfig([], {}, folder), before)
})

test('init leaves an existing .env file untouched', async (context) => {
  const { folder, purser } = testCommand(context)
  writeFileSync(join(folder, '.env'), 'PURSER_PORT=9000\n')
  const { code, output, errors } = await purser('init')
  assert.deepEqual([code, output], [1, ''])
  assert.match(errors, /^purser init: .*\.env already exists and was left untouched; move it away/)
  assert.equal(readFileSync(join(folder, '.env'), 'utf8'), 'PURSER_PORT=9000\n')
})

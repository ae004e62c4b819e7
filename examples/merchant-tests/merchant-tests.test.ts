import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const folder = import.meta.dirname

for (const name of ['weather-shop.js', 'weather-shop.test.js', 'translation-shop.js']) {
  test(`${name} in the merchants' guide matches the example exactly`, () => {
    const guide = readFileSync(join(folder, '../../docs/guides/merchants.md'), 'utf8')
    assert.ok(guide.includes(`\`\`\`js\n${readFileSync(join(folder, name), 'utf8')}\`\`\`\n`))
  })
}

test("The shops' own tests pass without a service", () => {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const own = ['weather-shop.test.js', 'translation-shop.test.js'].map((name) => join(folder, name))
  const command = ['--test', '--test-reporter=tap', ...own]
  const { status, stdout } = spawnSync(process.execPath, command, { env, encoding: 'utf8', timeout: 60_000 })
  assert.equal(status, 0, stdout)
  assert.match(stdout, /^# pass 6$/m)
})

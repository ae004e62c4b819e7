import assert from 'node:assert/strict'
import { readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { test } from 'node:test'

import { openExample } from '../../packages/merchant/testing/example-merchant.ts'

const next = createRequire(import.meta.url).resolve('next/dist/bin/next')

for (const page of ['docs/guides/merchants.md']) {
  test(`The Next route in ${page} matches the example exactly`, () => {
    const text = readFileSync(join(import.meta.dirname, '../..', page), 'utf8')
    for (const file of ['app/weather/route.js', 'merchant.js']) {
      const code = readFileSync(join(import.meta.dirname, file), 'utf8')
      assert.ok(text.includes(`\`\`\`js\n${code}\`\`\`\n`), file)
    }
  })
}

test('The Next example sells the weather', { timeout: 120_000 }, async (context) => {
  const command = [next, 'dev', import.meta.dirname, '--port', 'PORT']
  const { url, fetchPaid, spent } = await openExample(context, command, { ready: /Ready in/ })
  context.after(() => rmSync(join(import.meta.dirname, '.next'), { recursive: true, force: true }))
  assert.equal((await fetch(`${url}/weather`)).status, 402)
  assert.deepEqual(await (await fetchPaid(`${url}/weather`)).json(), { sky: 'clear', celsius: 21 })
  assert.equal(await spent(), '0.05')
})

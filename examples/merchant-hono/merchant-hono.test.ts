import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import { openExample } from '../../packages/merchant/testing/example-merchant.ts'

for (const page of ['docs/guides/merchants.md']) {
  test(`The Hono server in ${page} matches the example exactly`, () => {
    const text = readFileSync(join(import.meta.dirname, '../..', page), 'utf8')
    for (const file of ['server.js']) {
      const code = readFileSync(join(import.meta.dirname, file), 'utf8')
      assert.ok(text.includes(`\`\`\`js\n${code}\`\`\`\n`), file)
    }
  })
}

test('The Hono example sells what its table lists, streams an archive, and serves the rest for free', async (context) => {
  const { url, fetchPaid, spent } = await openExample(context, [join(import.meta.dirname, 'server.js')])
  assert.equal((await fetch(url)).status, 200)
  assert.equal((await fetch(`${url}/weather`)).status, 402)
  assert.equal((await fetch(`${url}/archive/2024`)).status, 402)
  assert.deepEqual(await (await fetchPaid(`${url}/weather`)).json(), { sky: 'clear', celsius: 21 })
  const archive = await fetchPaid(`${url}/archive/2024`)
  const lines = (await archive.text()).trimEnd().split('\n')
  assert.deepEqual([lines.length, lines[0], lines[365]], [366, '2024-01-01,clear', '2024-12-31,clear'])
  assert.notEqual(archive.headers.get('x-payment-receipt'), null)
  for (const path of ['abc', '0050', '2024.5'])
    assert.equal((await fetchPaid(`${url}/archive/${path}`)).status, 404)
  assert.equal(await spent(), '2.05')
})

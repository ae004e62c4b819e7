import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import { openExample } from '../../packages/merchant/testing/example-merchant.ts'

for (const page of ['docs/guides/merchants.md', 'packages/merchant/README.md']) {
  test(`The Express server in ${page} matches the example exactly`, () => {
    const text = readFileSync(join(import.meta.dirname, '../..', page), 'utf8')
    for (const file of ['server.js']) {
      const code = readFileSync(join(import.meta.dirname, file), 'utf8')
      assert.ok(text.includes(`\`\`\`js\n${code}\`\`\`\n`), file)
    }
  })
}

test("The README's server code matches the example exactly", () => {
  const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8')
  const code = readFileSync(join(import.meta.dirname, 'server.js'), 'utf8')
  const shown = code.slice(code.indexOf('const client'), code.indexOf('\n// A price can'))
  assert.ok(shown.includes('requirePayment') && readme.includes(`\`\`\`js\n${shown}\`\`\`\n`))
})

test('The Express example sells the weather, by the day, and serves its front page for free', async (context) => {
  const { url, fetchPaid, spent } = await openExample(context, [join(import.meta.dirname, 'server.js')])
  assert.equal((await fetch(url)).status, 200)
  assert.equal((await fetch(`${url}/weather`)).status, 402)
  assert.deepEqual(await (await fetchPaid(`${url}/weather`)).json(), { sky: 'clear', celsius: 21 })
  assert.equal(await spent(), '0.05')
  assert.equal((await (await fetchPaid(`${url}/forecast?days=7`)).json()).days, 7)
  assert.equal((await (await fetchPaid(`${url}/forecast?days=8`)).json()).days, 1)
  assert.equal((await (await fetchPaid(`${url}/forecast?days=constructor`)).json()).days, 1)
  assert.equal(await spent(), '0.40')
})

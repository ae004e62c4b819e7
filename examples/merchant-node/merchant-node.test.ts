import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import { openExample } from '../../packages/merchant/testing/example-merchant.ts'

const script = join(import.meta.dirname, 'server.js')

test("The server on node:http in the merchants' guide matches the example exactly", () => {
  const guide = readFileSync(join(import.meta.dirname, '../../docs/guides/merchants.md'), 'utf8')
  assert.ok(guide.includes(`\`\`\`js\n${readFileSync(script, 'utf8')}\`\`\`\n`))
})

test('The example on node:http sells every URL for the same price', async (context) => {
  const { url, fetchPaid, spent } = await openExample(context, [script])
  assert.equal((await fetch(`${url}/weather`)).status, 402)
  assert.deepEqual(await (await fetchPaid(`${url}/weather`)).json(), { sky: 'clear', celsius: 21 })
  assert.equal((await fetchPaid(url)).status, 200)
  assert.equal(await spent(), '0.10')
})

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { makeFolder, startProcess } from '../process.ts'

test('The link of a first start signs one browser in to the console, and later starts print none', async (context) => {
  const folder = makeFolder(context)
  const service = await startProcess(context, { folder })
  const [, link = ''] = await service.sees(/^ {2}Console +(\S+) \(signs you in, once, within an hour\)$/m)
  const { origin, pathname, hash } = new URL(link)
  assert.deepEqual([origin, pathname], [service.url, '/console/set-up'])
  assert.match(await (await fetch(link)).text(), /<title>Purser/)
  const signIn = () =>
    fetch(`${origin}/v1/console/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ set_up_token: hash.slice(1) }),
    })
  assert.deepEqual([(await signIn()).status, (await signIn()).status], [201, 403])
  await service.kill('SIGTERM')
  const again = await startProcess(context, { folder })
  const later = await again.kill('SIGTERM')
  assert.ok(later.stdout.includes(`  Console     ${again.url}/console\n`), later.stdout)
  assert.doesNotMatch(later.stdout, /set-up/)
})

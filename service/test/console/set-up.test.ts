import assert from 'node:assert/strict'
import { test } from 'node:test'

import { fillDisk } from '../../testing/full-disk.ts'
import { postgres18 } from '../../testing/postgres.ts'
import { startTestService } from '../../testing/service.ts'
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

test('The link of a first start still signs in after a sign-in that could not be stored', async (context) => {
  const { url } = await postgres18.createEmptyDatabase()
  const service = await startTestService(context, { PURSER_DATABASE: url, PURSER_WORKERS: '1' })
  const clearDisk = await fillDisk(url, 'insert on sessions')
  const body = { set_up_token: service.setUpToken }
  const signIn = () => service.call('POST', '/v1/console/session', { body, key: null })
  assert.equal((await signIn()).status, 503)
  await clearDisk()
  const statuses = (await Promise.all([signIn(), signIn(), signIn()])).map(({ status }) => status)
  assert.deepEqual(
    statuses.toSorted((one, other) => one - other),
    [201, 403, 403],
  )
})

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'

import { curlOf, requestsFor } from './requests.ts'

test('A request is written so that a shell takes it as it is, whatever stands in it', () => {
  const hostile = `it's $(touch /tmp/x) "quoted" \`run\``
  const line = curlOf(
    { id: 'x', title: 'X', about: '', method: 'POST', path: '/agents', body: { name: hostile } },
    { serviceUrl: 'http://127.0.0.1:1', keyName: 'KEY' },
  )
  const words = execFileSync('bash', ['-c', `curl() { printf '%s\\0' "$@"; }; KEY=secret; ${line}`], {
    encoding: 'utf8',
  })
  const body = words.split('\0').at(-2) ?? ''
  assert.deepEqual(JSON.parse(body), { name: hostile })
  assert.ok(words.includes('Authorization: Bearer secret'))
})

test('Production is not offered what only the sandbox has', () => {
  const [inSandbox, inProduction] = (['sandbox', 'production'] as const).map((environment) =>
    requestsFor({ environment, mandate: undefined, nowMs: 0 }).map(({ id }) => id),
  )
  assert.ok(inSandbox?.includes('proof'))
  assert.ok(!inProduction?.includes('proof'))
})

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { startAppOverStore } from '../../testing/app-over-store.ts'
import { sendPlain } from '../../testing/http/plain-http.ts'
import { shareTestService } from '../../testing/shared-service.ts'

test('healthz and readyz answer without a key, and with any', async () => {
  const service = await shareTestService()
  for (const path of ['/healthz', '/readyz']) {
    for (const key of [null, 'nonsense', service.sandboxKey]) {
      const { status, body } = await service.call('GET', path, { key })
      assert.deepEqual([status, body], [200, { status: 'ok' }])
    }
  }
})

test('While the store is down, readyz fails and healthz still answers', async (t) => {
  const { url, store } = await startAppOverStore(t)
  await store.close()
  const ready = await sendPlain(url, { method: 'GET', path: '/readyz' })
  assert.deepEqual([ready.status, ready.body], [503, { detail: 'store_unavailable' }])
  assert.match(ready.headers['retry-after'] ?? '', /^[1-9][0-9]*$/)
  const alive = await sendPlain(url, { method: 'GET', path: '/healthz' })
  assert.deepEqual([alive.status, alive.body], [200, { status: 'ok' }])
})

test('If the store does not answer, readyz fails after a second', async (t) => {
  const { url, log } = await startAppOverStore(t, { checkReady: () => new Promise(() => undefined) })
  const askedMs = performance.now()
  const { status, body } = await sendPlain(url, { method: 'GET', path: '/readyz' })
  const tookMs = performance.now() - askedMs
  assert.deepEqual([status, body], [503, { detail: 'store_unavailable' }])
  assert.ok(tookMs > 900 && tookMs < 2_000, `${tookMs} ms`)
  assert.ok(log.some((line) => line.includes('the store did not answer within 1000 ms')))
})

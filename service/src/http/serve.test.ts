import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

import { healthz } from '@purser/wire/health'
import fastify from 'fastify'

import { ok } from './answers.ts'
import { createServe } from './serve.ts'

test('The context of a route is an ordinary object for V8: one with a getter would outlive its request', async (t) => {
  const hasFastProperties = nativeFunction('%HasFastProperties')
  const app = fastify()
  t.after(() => app.close())
  const calls: unknown[] = []
  const serve = createServe(app, {
    authenticate: () => Promise.resolve({ refusal: 'invalid_api_key' as const }),
    site: { publicUrl: undefined },
    reads: { maxInProgress: 1, maxWaiting: 1 },
    limitChanges: { maxInProgress: 1, maxWaiting: 1 },
    onUse: () => undefined,
  })
  serve(healthz, async (call) => {
    calls.push(call)
    return ok({ status: 'ok' })
  })
  for (let asked = 0; asked < 3; asked++) await app.inject({ url: '/healthz' })
  assert.deepEqual(calls.map(hasFastProperties), [true, true, true])
})

/** A V8 intrinsic that reports the representation of a value. */
function nativeFunction(name: string): (value: unknown) => boolean {
  setFlagsFromString('--allow-natives-syntax')
  return runInNewContext(`(value) => ${name}(value)`) as (value: unknown) => boolean
}

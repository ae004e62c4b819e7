import assert from 'node:assert/strict'
import { after } from 'node:test'

import { call, createTenant, startTestService, testStartMs, type TestService } from './service.ts'

/** What to do after all tests of this process. */
const stops: (() => Promise<void>)[] = []
after(async () => {
  for (const stop of stops) await stop()
})

let shared: Promise<TestService> | undefined
let accounts = 0

/**
 * A service that the tests of a process share, with the keys of the owner of a new account. Starting a service takes longer
 * than most tests.
 */
export async function shareTestService(): Promise<TestService> {
  shared ??= startTestService({ after: (stop) => void stops.push(stop) })
  const service = await shared
  service.clock.nowMs = testStartMs
  const { sandboxKey, productionKey } = await createTenant(service, `idp_shared_${++accounts}`)
  return {
    ...service,
    sandboxKey,
    productionKey,
    setUpToken: undefined,
    call: (method, path, options = {}) => call(service.url, sandboxKey, method, path, options),
    stop: () => assert.fail('other tests use this service too: start another one'),
  }
}

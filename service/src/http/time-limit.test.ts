import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { MessageChannel } from 'node:worker_threads'

import { withinTimeLimit } from './time-limit.ts'

test('An answer that arrived from another thread while this one was busy is in time', async (context) => {
  const { port1, port2 } = new MessageChannel()
  context.after(() => port1.close())
  const answer = once(port1, 'message')
  port2.postMessage('answer')
  const limited = withinTimeLimit(answer, 1)
  // Longer than the limit.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
  assert.deepEqual(await limited, ['answer'])
})

test('A call without an answer ends at its time limit', async () => {
  await assert.rejects(withinTimeLimit(new Promise(() => undefined), 1), {
    name: 'StoreUnavailableError',
    message: 'the store did not answer within 1 ms',
  })
})

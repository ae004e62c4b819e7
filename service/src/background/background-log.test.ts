import assert from 'node:assert/strict'
import { test } from 'node:test'

import { createBackgroundLog } from './background-log.ts'
import { StoreUnavailableError } from '../store/store.ts'

const refused = new StoreUnavailableError('PostgreSQL answers ECONNREFUSED', {
  retryAfterSeconds: 2,
  cause: Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:5432'), { code: 'ECONNREFUSED' }),
})

test('An outage of the store is logged when it begins and when it ends', () => {
  const { lines, observer } = openLog()
  for (let round = 0; round < 3; round++) {
    observer.failed('holds', refused)
    observer.failed('figures', refused)
  }
  observer.worked('holds')
  observer.worked('holds')
  assert.equal(lines.length, 1)
  observer.worked('figures')
  observer.worked('figures')
  observer.failed('holds', new StoreUnavailableError('the store is closed', { retryAfterSeconds: 1 }))
  assert.deepEqual(lines, [
    ['warn', 'db is unavailable (ECONNREFUSED); background work waits for it'],
    ['info', 'db is available again'],
    ['warn', 'db is unavailable (the store is closed); background work waits for it'],
  ])
})

test('Any other background failure is logged once with its error, then counted', (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const { lines, observer } = openLog()
  const bug = new TypeError('a bug')
  observer.failed('holds', bug)
  observer.failed('holds', bug)
  observer.worked('holds')
  assert.deepEqual(lines, [['error', { err: bug }, 'holds']])
  context.mock.timers.tick(10_000)
  assert.deepEqual(lines[1], ['error', { count: 1 }, 'holds, 1 more times'])
  observer.failed('holds', bug)
  assert.deepEqual(lines[2], ['error', { err: bug }, 'holds'])
})

function openLog() {
  const lines: unknown[][] = []
  const at =
    (level: string) =>
    (...line: unknown[]) =>
      void lines.push([level, ...line])
  const log = { error: at('error'), warn: at('warn'), info: at('info') }
  return { lines, observer: createBackgroundLog({ log, place: 'db' }) }
}

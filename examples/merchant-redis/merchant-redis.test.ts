import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'

import { sharedByProcesses } from '../../packages/merchant/testing/several-processes.ts'
import { redisDeliveries } from './redis-deliveries.ts'
import { redisMissing, startRedis } from './redis-server.ts'

const id = 'a'.repeat(64)
const kept = (text: string, keepUntilMs = Date.now() + 60_000) => ({
  text,
  keepUntilMs,
  worth: 'paid' as const,
})

const opened: { readonly close: () => Promise<void> }[] = []
// Before Redis is killed.
after(() => Promise.all(opened.map((store) => store.close())))
const url = redisMissing ? '' : await startRedis({ after })

async function open(name: string) {
  const store = await redisDeliveries(url, { prefix: `test-${name}:` })
  opened.push(store)
  return store
}

test("The store in the merchants' guide matches the example exactly", () => {
  const guide = readFileSync(join(import.meta.dirname, '../../docs/guides/merchants.md'), 'utf8')
  const example = readFileSync(join(import.meta.dirname, 'redis-deliveries.ts'), 'utf8')
  assert.ok(guide.includes(`\`\`\`ts\n${example}\`\`\`\n`))
})

describe('Deliveries in Redis', { skip: redisMissing }, () => {
  test('A value is replaced only if it is still the expected one', async () => {
    const store = await open('replaced')
    assert.equal(await store.read(id), undefined)
    assert.equal(await store.replace(id, 'a', kept('b')), false)
    assert.equal(await store.replace(id, undefined, kept('a')), true)
    assert.equal(await store.replace(id, undefined, kept('b')), false)
    assert.equal(await store.replace(id, 'b', undefined), false)
    assert.equal(await store.read(id), 'a')
    const text = JSON.stringify({ state: 'claimed', key: 'é/..\u0000', runs: 2 })
    assert.equal(await store.replace(id, 'a', kept(text)), true)
    assert.equal(await store.read(id), text)
    assert.equal(await store.replace(id, text, undefined), true)
    assert.equal(await store.read(id), undefined)
    assert.equal(await store.replace(id, undefined, undefined), true)
  })

  test('An expired value is missing, and can be replaced as such', async () => {
    const store = await open('expired')
    assert.equal(await store.replace(id, undefined, kept('a', Date.now() + 20)), true)
    while ((await store.read(id)) !== undefined);
    assert.equal(await store.replace(id, 'a', kept('b')), false)
    assert.equal(await store.replace(id, undefined, kept('c')), true)
    assert.equal(await store.read(id), 'c')
  })

  test('If several connections replace the same value, one succeeds', async () => {
    const racers = await Promise.all(['race', 'race', 'race'].map(open))
    for (const from of [undefined, 'claim']) {
      const wins = await Promise.all(
        Array.from({ length: 90 }, async (_, at) =>
          racers[at % 3]?.replace(id, from, kept(from ? `taken over by ${at}` : 'claim')),
        ),
      )
      assert.equal(wins.filter(Boolean).length, 1)
    }
  })

  sharedByProcesses('redis', url)
})

test('While Redis is down, calls fail immediately', { skip: redisMissing }, async (context) => {
  const stops: (() => Promise<void>)[] = []
  const url = await startRedis({ after: (stop) => stops.push(stop) })
  const gone = Promise.withResolvers<void>()
  const store = await redisDeliveries(url, { onError: () => gone.resolve() })
  context.after(() => store.close().catch(() => undefined))
  for (const stop of stops) await stop()
  await gone.promise
  await assert.rejects(Promise.resolve(store.read(id)))
})

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Purser } from '@purser/client'

import { serviceStores, startServiceOn } from '../../../testing/service-stores.ts'
import { issueKey } from '../../../testing/service.ts'

for (const { name, missing, open } of serviceStores) {
  test(
    `On ${name} an operator sees the service's state: version, store, queue, latency, disk`,
    { skip: missing ?? false },
    async (context) => {
      const { service, purser, settings } = await startServiceOn(open, context)
      await purser.agents.create({ name: 'research-bot' })
      service.clock.nowMs += 90_000
      const system = await purser.console.system()
      const isFile = name === 'SQLite'
      assert.equal(system.version, '0.1.0')
      assert.equal(system.node_version, process.version)
      assert.equal(system.uptime_seconds, 90)
      assert.equal(system.store.kind, isFile ? 'sqlite' : 'postgres')
      assert.equal(system.store.schema_version, 1)
      const given = Object.values(settings).join()
      const password = /:([^:@/]+)@/.exec(given)?.[1]
      assert.ok(password === undefined || !system.store.place.includes(password), system.store.place)
      assert.ok(given.includes(system.store.place.split('/').at(-1) ?? '?'), system.store.place)
      assert.deepEqual([system.queue.waiting, system.queue.most > 1_000], [0, true])
      const { count, p50_ms, p99_ms } = system.commit
      assert.ok(count >= 1 && p50_ms !== null && p99_ms !== null && 0 < p50_ms && p50_ms <= p99_ms)
      const { ledger_bytes, free_bytes, total_bytes } = system.disk
      assert.ok(ledger_bytes > 10_000, `${ledger_bytes} bytes`)
      if (isFile) assert.ok(free_bytes !== null && total_bytes !== null && free_bytes <= total_bytes)
      else
        assert.deepEqual(
          [free_bytes, total_bytes],
          [null, null],
          'the disk of a database server is not visible',
        )

      const owner = new Purser({ apiKey: await issueKey(service, { role: 'owner' }), baseUrl: service.url })
      await assert.rejects(owner.console.system(), { status: 403, code: 'insufficient_scope' })
    },
  )
}

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Purser } from '@purser/client'

import { serviceStores, startServiceOn } from '../../../testing/service-stores.ts'
import { preparePurchase } from '../../../testing/service.ts'

for (const { name, missing, open } of serviceStores) {
  test(
    `On ${name} resuming the stop that the status showed is refused once another stop has begun`,
    { skip: missing ?? false },
    async (context) => {
      const { service } = await startServiceOn(open, context)
      const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
      const { mandateId } = await preparePurchase(service)
      const shown = async () => (await purser.console.status()).stop_number
      assert.equal(await shown(), 0)
      await purser.console.stop()
      const first = await shown()
      await purser.console.resume()
      // The same key is the same stop, but it began again.
      const { stop_id } = await purser.console.stop({ idempotencyKey: 'again' })
      const second = await shown()
      await purser.console.resume(stop_id)
      await purser.console.stop({ idempotencyKey: 'again' })
      assert.deepEqual([first, second, await shown()], [1, 2, 3])
      const resumptions = async () =>
        (await purser.auditLog.list({ type: 'agents.resumed' }).page()).items.length
      const before = await resumptions()
      for (const stopNumber of [0, first, second, 4])
        await assert.rejects(purser.console.resume(undefined, { stopNumber }), { code: 'another_stop' })
      await assert.rejects(purser.console.resume(stop_id, { stopNumber: second }), { code: 'another_stop' })
      assert.equal((await purser.mandates.get(mandateId)).status, 'paused')
      assert.equal(await resumptions(), before)
      assert.deepEqual(await purser.console.resume(undefined, { stopNumber: 3 }), { resumed_mandates: 1 })
      assert.deepEqual(await purser.console.resume(undefined, { stopNumber: 3 }), { resumed_mandates: 0 })
    },
  )
}

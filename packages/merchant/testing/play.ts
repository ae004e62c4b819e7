import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import type { TestService } from '../../../service/testing/service.ts'
import type { Adapter } from './adapters.ts'
import { openShop } from './purchase.ts'
import { scenarios, type Scenario } from './scenarios.ts'

/** Runs every scenario through one adapter. */
export function playThrough(
  adapter: Adapter,
  service: TestService,
  played: readonly Scenario[] = scenarios,
): void {
  describe(adapter.name, () => {
    for (const { title, options, mandate, play, spent } of played) {
      test(title, { timeout: 30_000 }, async (context) => {
        const purchase = await openShop(context, service, adapter, options, mandate)
        await play(purchase, service)
        assert.equal(await purchase.spent(), spent)
      })
    }
  })
}

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Purser } from '@purser/client'

import { issueProof, preparePurchase, verifyProof } from '../../../testing/service.ts'
import { shareTestService } from '../../../testing/shared-service.ts'

test('The days of a mandate start at midnight of the time zone, also before a change of its clocks', async () => {
  const service = await shareTestService()
  const nowMs = service.clock.nowMs
  const purchase = await preparePurchase(service)
  const pay = async (at: string, amount: string) => {
    service.clock.nowMs = Date.parse(at)
    await verifyProof(service, await issueProof(service, purchase, amount))
  }
  await pay('2026-10-24T23:45:00+02:00', '1.00')
  await pay('2026-10-25T00:15:00+02:00', '2.00')
  await pay('2026-10-25T23:45:00+01:00', '4.00')
  await pay('2026-10-26T00:15:00+01:00', '8.00')
  service.clock.nowMs = nowMs
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const paidIn = async (query: { readonly starts_at?: string; readonly buckets: number }) => {
    const inBerlin = { step: 'day', time_zone: 'Europe/Berlin', ...query } as const
    const { spent_before, buckets } = await purser.console.mandates.spend(purchase.mandateId, inBerlin)
    const paid = buckets.filter(({ paid_count }) => paid_count > 0)
    return [spent_before, buckets.length, ...paid.map((day) => `${day.starts_at} ${day.paid_total}`)]
  }
  const days = [
    '2026-10-23T22:00:00.000Z 1.00',
    '2026-10-24T22:00:00.000Z 6.00',
    '2026-10-25T23:00:00.000Z 8.00',
  ]
  assert.deepEqual(await paidIn({ buckets: 30 }), ['0.00', 30, ...days])
  // A start within a day includes all of it.
  const query = { starts_at: '2026-10-25T18:00:00Z', buckets: 1 }
  assert.deepEqual(await paidIn(query), ['1.00', 1, days[1]])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { driverBeds } from '../simulation/driver-beds.ts'
import { runLimitHistory } from './limit-history.ts'

// `npm run limits` runs more.
for (const [name, open] of Object.entries(driverBeds)) {
  test(`Limits and shared budgets match a model that recounts all payments, on ${name}`, async () => {
    const bed = await open()
    const tried: Record<string, number> = {}
    try {
      const seeds = name === 'memory' ? 120 : 6
      for (let seed = 1; seed <= seeds; seed++) {
        for (const [step, count] of Object.entries(await runLimitHistory({ bed, seed })))
          tried[step] = (tried[step] ?? 0) + count
      }
    } finally {
      await bed.close()
    }
    for (const step of [
      'approved',
      'denied by check 10',
      'denied by check 11',
      'freeze',
      'recount',
      'refund',
    ])
      assert.ok((tried[step] ?? 0) > 0, `${step}: ${JSON.stringify(tried)}`)
  })
}

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Purser } from '@purser/client'

import { issueProof, preparePurchase, testStartMs, verifyProof } from '../../../testing/service.ts'
import { shareTestService } from '../../../testing/shared-service.ts'

const hourMs = 3_600_000

test('Spending names the agents with most spending in the period, not those of the day on which it starts', async () => {
  const service = await shareTestService()
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const pay = async (amount: string) => {
    const purchase = await preparePurchase(service)
    const { status } = await verifyProof(service, await issueProof(service, purchase, amount))
    assert.equal(status, 200)
    return purchase.agentId
  }
  for (let agents = 0; agents < 5; agents++) await pay('9.00')
  service.clock.nowMs = testStartMs + hourMs
  const agentId = await pay('1.00')
  service.clock.nowMs = testStartMs + 24 * hourMs
  const { spent, split } = await purser.console.spending({ split: 'agent' })
  assert.equal(spent, '1.00')
  assert.deepEqual(
    split?.parts.map((part) => [part.subject, part.spent]),
    [[agentId, '1.00']],
  )
  assert.equal(split?.rest.spent, '0.00')
})

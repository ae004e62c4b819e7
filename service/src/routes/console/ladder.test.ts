import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Purser } from '@purser/client'

import { shareTestService } from '../../../testing/shared-service.ts'

test('A check that was not reached shows what it would have compared', async () => {
  const service = await shareTestService()
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const agent = await purser.agents.create({ name: 'research-bot' })
  const mandate = await purser.mandates.create({
    agent_id: agent.id,
    purpose: 'Research data',
    max_spend_total: '10.00',
    max_spend_per_transaction: '7.00',
    allowed_sellers: ['api.example.com'],
    allowed_categories: ['data', 'maps'],
    expires_at: '2099-01-01T00:00:00Z',
  })
  const rows: [category: string | null, value: string, relation: string][] = [
    ['games', 'games', 'not_in'],
    ['maps', 'maps', 'in'],
    [null, 'no category', 'not_in'],
  ]
  for (const [category, ...comparison] of rows) {
    const { transaction_id } = await purser.policy.evaluate({
      agent_id: agent.id,
      mandate_id: mandate.id,
      merchant_domain: 'elsewhere.example',
      amount: '8.00',
      resource_url: 'https://elsewhere.example/data',
      category,
    })
    const { checks } = await purser.console.transactions.get(transaction_id)
    assert.deepEqual(
      checks.slice(5, 8).map((check) => [check.state, check.value, check.relation, check.limits]),
      [
        ['failed', 'elsewhere.example', 'not_in', ['api.example.com']],
        ['not_reached', ...comparison, ['data', 'maps']],
        ['not_reached', '8.00', 'above', ['7.00']],
      ],
    )
  }
})

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Purser, type Environment } from '@purser/client'

import { shareTestService } from '../../service/testing/shared-service.ts'
import { shareBrowser } from './shared-browser.ts'
import { storyOf } from './story.ts'
import { visit } from './visitor.ts'
import { layWire } from './wire.ts'

test('A lost connection is shown, and afterwards nothing is missing or shown twice', async (context) => {
  const service = await shareTestService()
  service.clock.nowMs = Date.now()
  const wire = await layWire(context, service)
  const chapter = storyOf(context)
  const visitor = await visit(await shareBrowser(), wire)
  const { page } = visitor
  const feed = page.locator('.live-state')
  const banner = page.getByRole('region', { name: 'Connection' })
  const sandbox = await shopperOf(service.url, { sandbox: service.sandboxKey })
  const latest = page.getByRole('list', { name: 'Latest transactions' })
  const shown = () => latest.getByRole('link').allInnerTexts()

  await chapter('The feed and the figures say that they are out of date', async () => {
    for (const name of ['one', 'two']) await sandbox.buys(name)
    service.clock.nowMs += 60_000
    await visitor.signIn(service.sandboxKey)
    await feed.getByText('Live').waitFor()
    assert.deepEqual(await shown(), ['two.example', 'one.example'])
    await page.locator('.tile', { hasText: 'Spent today' }).getByText('2.00').waitFor()
    await wire.cut()
    await feed.getByText('Connection lost, reconnecting').waitFor()
    await banner.getByText('The service does not answer.').waitFor()
    await page.locator('.tile', { hasText: 'Spent today' }).getByText('2.00').waitFor()
  })

  await chapter('Missed events arrive when the connection is back, once and in order', async () => {
    // More than a feed begins with that does not go on from where another ended.
    const meanwhile = Array.from({ length: 25 }, (_, count) => `missed-${count}`)
    for (const name of meanwhile) await sandbox.asks(name)
    for (const name of ['three', 'four', 'five']) await sandbox.buys(name)
    await wire.mend()
    await feed.getByText('Live').waitFor()
    await latest.getByText('five.example').waitFor()
    assert.deepEqual(
      await shown(),
      ['five', 'four', 'three', ...meanwhile.toReversed(), 'two', 'one'].map((name) => `${name}.example`),
    )
    await page.locator('.tile', { hasText: 'Spent today' }).getByText('5.00').waitFor()
    await banner.waitFor({ state: 'detached' })
    await sandbox.buys('six')
    await latest.getByText('six.example').waitFor()
  })

  await chapter('After more events than the feed can carry, the list has no gap', async () => {
    const production = await shopperOf(service.url, { production: service.productionKey })
    service.clock.nowMs += 60_000
    await wire.cut()
    await feed.getByText('Connection lost, reconnecting').waitFor()
    await sandbox.buys('hidden')
    await Promise.all(Array.from({ length: 1_000 }, (_, count) => production.asks(`p${count}`)))
    await sandbox.buys('newest')
    await wire.mend()
    await latest.getByText('newest.example').waitFor()
    assert.deepEqual(await shown(), ['newest.example'], 'none of those before what was too much')
  })

  await visitor.leave()
})

/** Somebody with a budget: each purchase is at a seller of its own name, for 1.00. */
async function shopperOf(baseUrl: string, key: Partial<Record<Environment, string>>) {
  const purser = new Purser({ apiKey: key.sandbox ?? key.production ?? '', baseUrl })
  const agent = await purser.agents.create({ name: 'shopper' })
  const mandate = await purser.mandates.create({
    agent_id: agent.id,
    purpose: 'Whatever there is',
    max_spend_total: '5000.00',
    max_spend_per_transaction: '1.00',
    allowed_sellers: ['*'],
    expires_at: '2099-01-01T00:00:00Z',
  })
  const payment = { agent_id: agent.id, mandate_id: mandate.id, amount: '1.00' }
  return {
    buys: async (name: string) => {
      const answer = await purser.payments.requestProof({
        ...payment,
        resource_url: `https://${name}.example/`,
      })
      assert.ok(answer.decision === 'approved')
      const charge = { proof: answer.proof, merchant_domain: `${name}.example`, expected_amount: '1.00' }
      assert.ok((await purser.payments.verify(charge)).verified)
    },
    asks: (name: string) =>
      purser.policy.evaluate({
        ...payment,
        merchant_domain: `${name}.example`,
        resource_url: `https://${name}.example/`,
      }),
  }
}

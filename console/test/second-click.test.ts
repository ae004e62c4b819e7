import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Purser } from '@purser/client'

import { preparePurchase } from '../../service/testing/service.ts'
import { shareTestService } from '../../service/testing/shared-service.ts'
import { shareBrowser } from './shared-browser.ts'
import { storyOf } from './story.ts'
import { visit } from './visitor.ts'

test('The second click of a double click does not act on what has come under the pointer', async (context) => {
  const service = await shareTestService()
  service.clock.nowMs = Date.now()
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const { agentId, mandateId } = await preparePurchase(service, { approval: { above: '0.01' } })
  const asAgent = new Purser({
    apiKey: (await purser.apiKeys.create({ role: 'agent', agent_id: agentId, environment: 'sandbox' })).key,
    baseUrl: service.url,
  })
  for (const amount of ['1.00', '2.00', '3.00']) {
    await asAgent.payments.requestProof({
      agent_id: agentId,
      mandate_id: mandateId,
      amount,
      resource_url: 'https://reports.example/',
    })
    service.clock.nowMs += 1_000
  }
  const chapter = storyOf(context)
  const visitor = await visit(await shareBrowser(), service)
  const { page } = visitor
  await visitor.signIn(service.sandboxKey)

  await chapter('Approving a request does not approve the next one', async () => {
    await visitor.show('sandbox/approvals')
    const cards = page.getByRole('list', { name: 'Requests that wait' }).getByRole('article')
    await cards.nth(2).waitFor()
    const box = await cards.first().getByRole('button', { name: 'Approve' }).boundingBox()
    assert.ok(box)
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2]
    await page.mouse.click(x, y)
    await page.getByText('2 requests, soonest to expire first.').waitFor()
    await page.mouse.move(x, y)
    await page.mouse.down({ clickCount: 2 })
    await page.mouse.up({ clickCount: 2 })
    // A click of its own does.
    const second = cards.filter({ hasText: '2.00 USDC' })
    await second.getByRole('button', { name: 'Deny' }).click()
    await page.getByText('1 request, soonest to expire first.').waitFor()
    const { items } = await purser.approvals.list().page()
    assert.deepEqual(
      items.map(({ amount, decisions }) => [amount, ...decisions.map(({ decision }) => decision)]),
      [['3.00'], ['2.00', 'denied'], ['1.00', 'approved']],
    )
  })

  await chapter('Pausing a mandate does not resume it', async () => {
    await visitor.show(`sandbox/mandates/${mandateId}`)
    const box = await page.getByRole('button', { name: 'Pause', exact: true }).boundingBox()
    assert.ok(box)
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2]
    await page.mouse.click(x, y)
    await page.getByRole('button', { name: 'Resume', exact: true }).waitFor()
    await page.mouse.down({ clickCount: 2 })
    await page.mouse.up({ clickCount: 2 })
    await page.getByRole('button', { name: 'Actions for' }).click()
    await page.getByRole('menuitem', { name: 'Resume' }).waitFor()
    assert.equal((await purser.mandates.get(mandateId)).status, 'paused')
  })

  await visitor.leave()
})

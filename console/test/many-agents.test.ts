import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Purser } from '@purser/client'

import { shareTestService } from '../../service/testing/shared-service.ts'
import { shareBrowser } from './shared-browser.ts'
import { visit } from './visitor.ts'

test('A choice of agents skips revoked ones, says when it lacks some, and has the one that was chosen elsewhere', async () => {
  const service = await shareTestService()
  service.clock.nowMs = Date.now()
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const first = await purser.agents.create({ name: 'first-bot' })
  const create = (count: number) =>
    Promise.all(Array.from({ length: count }, () => purser.agents.create({ name: 'later-bot' })))
  await Promise.all((await create(200)).map(({ id }) => purser.agents.revoke(id)))
  const visitor = await visit(await shareBrowser(), service)
  const { page } = visitor
  await visitor.signIn(service.sandboxKey)
  const agent = page.getByLabel('Agent', { exact: true })
  const chosen = () => agent.locator('option:checked').innerText()

  await visitor.show('sandbox/mandates/new')
  await agent.selectOption('first-bot')
  await page.getByRole('button', { name: 'Cancel' }).click()

  await create(200)
  const lacking = page.getByText('The newest 200 active agents. For others, begin on their own screen.')
  await visitor.go(`sandbox/mandates/new?agent=${first.id}`)
  await lacking.waitFor()
  await agent.locator('option', { hasText: 'first-bot' }).waitFor({ state: 'attached' })
  assert.equal(await chosen(), 'first-bot')
  await visitor.show('sandbox/keys?new')
  await lacking.waitFor()
  await visitor.show(`sandbox/transactions?agent_id=${first.id}`)
  await page.getByText('The newest 200 agents. For others, begin on their own screen.').waitFor()
  assert.equal(await chosen(), 'first-bot')
  // The hint below a field leaves the fields beside it where they are.
  const tops = ['Status', 'Agent'].map(async (name) => {
    const field = page.getByLabel(name, { exact: true }).and(page.locator('select'))
    return (await field.boundingBox())?.y
  })
  const [status, besides] = await Promise.all(tops)
  assert.equal(status, besides)
  await visitor.leave()
})

test('An agent with many mandates: its transactions are near, and a choice of mandates says what it lacks', async () => {
  const service = await shareTestService()
  service.clock.nowMs = Date.now()
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const agent = await purser.agents.create({ name: 'busy-bot' })
  const create = (count: number) =>
    Promise.all(
      Array.from({ length: count }, () =>
        purser.mandates.create({
          agent_id: agent.id,
          purpose: 'Maps',
          max_spend_total: '9.00',
          max_spend_per_transaction: '9.00',
          allowed_sellers: ['*'],
          expires_at: '2099-01-01T00:00:00Z',
        }),
      ),
    )
  await create(200)
  const visitor = await visit(await shareBrowser(), service)
  const { page } = visitor
  await visitor.signIn(service.sandboxKey)
  const lacking = page.getByText('The newest 200 mandates. For others, begin on their own screen.')
  const mandate = page.getByLabel('Mandate', { exact: true })
  const offered = async () => {
    await mandate.getByRole('option', { name: 'Maps' }).nth(199).waitFor({ state: 'attached' })
    assert.equal(await mandate.getByRole('option').count(), 201)
  }
  await visitor.show('sandbox/transactions')
  await offered()
  assert.equal(await lacking.count(), 0)
  await create(1)
  await visitor.go('sandbox/transactions')
  await lacking.waitFor()
  await offered()

  await visitor.show(`sandbox/agents/${agent.id}`)
  const table = page.getByRole('table', { name: 'Mandates of this agent' })
  await table.waitFor()
  assert.equal(await table.getByRole('row').count(), 11)
  await table.getByRole('button', { name: 'Actions for Maps' }).first().click()
  await page.getByRole('menuitem', { name: 'Pause' }).click()
  await page.getByText('Paused: Maps').waitFor()
  await page.getByRole('link', { name: 'All its mandates' }).click()
  await page.getByRole('heading', { level: 1, name: 'Mandates' }).waitFor()
  await page.getByText('50 mandates so far').waitFor()
  await visitor.leave()
})

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Purser } from '@purser/client'

import { startTestService } from '../../service/testing/service.ts'
import { shareBrowser } from './shared-browser.ts'
import { visit } from './visitor.ts'

test('A choice of agents skips revoked ones, says when it lacks some, and has the one that was chosen elsewhere', async (context) => {
  const service = await startTestService(context)
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
  await visitor.leave()
})

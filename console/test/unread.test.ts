import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Purser } from '@purser/client'

import { shareTestService } from '../../service/testing/shared-service.ts'
import { shareBrowser } from './shared-browser.ts'
import { visit } from './visitor.ts'
import { askForApproval } from './waiting-requests.ts'

test('Names that could not be read are not shown as unnamed or missing', async () => {
  const service = await shareTestService()
  service.clock.nowMs = Date.now()
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const agent = await purser.agents.create({ name: 'research-bot' })
  const budget = await purser.budgets.create({ name: 'Research', limits: [] })
  await purser.agents.update(agent.id, { budget_id: budget.id })
  const { payment, mandate } = await askForApproval(service, agent)
  const visitor = await visit(await shareBrowser(), service)
  const { page } = visitor
  await visitor.signIn(service.sandboxKey)
  const rows = [
    {
      screen: `approvals/${payment.id}`,
      unread: `/v1/console/mandates/${mandate.id}`,
      shown: page.locator('#content').getByRole('link', { name: mandate.id }),
      untrue: /Unnamed agent|No purpose given/,
    },
    {
      screen: `budgets/${budget.id}`,
      unread: '/agents',
      shown: page.getByRole('region', { name: 'Agents' }).getByRole('alert'),
      untrue: /No agent is assigned/,
    },
    {
      screen: `agents/${agent.id}`,
      unread: '/v1/budgets',
      shown: page.getByRole('region', { name: 'Shared budget' }).getByRole('link', { name: budget.id }),
      untrue: /Unnamed budget/,
    },
  ]
  for (const { screen, unread, shown, untrue } of rows) {
    await page.route(
      (url) => url.pathname === unread,
      (route) => route.fulfill({ status: 422, json: { detail: 'query_too_slow' } }),
    )
    await page.goto(`${service.url}/console/sandbox/${screen}`)
    await shown.waitFor()
    assert.doesNotMatch(await page.locator('#content').innerText(), untrue, screen)
    await page.unrouteAll({ behavior: 'wait' })
  }
  await visitor.leave()
})

test('A field says when its choices could not be read, instead of offering none', async () => {
  const service = await shareTestService()
  service.clock.nowMs = Date.now()
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const agent = await purser.agents.create({ name: 'research-bot' })
  await purser.budgets.create({ name: 'Research', limits: [] })
  const visitor = await visit(await shareBrowser(), service)
  const { page } = visitor
  await visitor.signIn(service.sandboxKey)
  const changeBudget = () => page.getByRole('button', { name: 'Change budget' }).click()
  const rows = [
    { screen: 'mandates/new', field: 'Agent', unread: '/agents', what: 'agents' },
    { screen: 'mandates/new', field: 'Shared budget', unread: '/v1/budgets', what: 'shared budgets' },
    { screen: 'keys?new', field: 'Agent', unread: '/agents', what: 'agents' },
    { screen: 'budgets?new', field: 'Below', unread: '/v1/budgets', what: 'shared budgets' },
    { screen: 'transactions', field: 'Agent', unread: '/agents', what: 'agents' },
    { screen: 'transactions', field: 'Mandate', unread: '/v1/console/mandates', what: 'mandates' },
    {
      screen: `agents/${agent.id}`,
      field: 'Shared budget',
      unread: '/v1/budgets',
      what: 'shared budgets',
      open: changeBudget,
    },
  ]
  for (const { screen, field, unread, what, open } of rows) {
    await page.route(
      (url) => url.pathname === unread,
      (route) => route.fulfill({ status: 429, json: { detail: 'rate_limited' } }),
    )
    await page.goto(`${service.url}/console/sandbox/${screen}`)
    await open?.()
    const hint = page.getByText(`The ${what} could not be read. Too many requests were sent.`)
    await hint.first().waitFor({ state: 'attached' })
    const describedBy = await page
      .locator('.dialog, #content')
      .last()
      .getByLabel(field, { exact: true })
      .getAttribute('aria-describedby')
    assert.equal(describedBy, await hint.first().getAttribute('id'), `${screen}: ${field}`)
    await page.unrouteAll({ behavior: 'wait' })
  }
  await visitor.leave()
})

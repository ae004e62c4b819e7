import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Page } from 'playwright-core'

import {
  issueKey,
  issueProof,
  preparePurchase,
  startTestService,
  verifyProof,
} from '../../service/testing/service.ts'
import { runProgram } from './run-snippets.ts'
import { shareBrowser } from './shared-browser.ts'
import { storyOf } from './story.ts'
import { visit } from './visitor.ts'

test('A first day: sign in by key, the first purchase from empty to green, a mandate, a live payment', async (context) => {
  const service = await startTestService(context)
  service.clock.nowMs = Date.now()
  const chapter = storyOf(context)
  const visitor = await visit(await shareBrowser(), service)
  const { page } = visitor

  await chapter('An unknown key and a key of an agent cannot sign in', async () => {
    const purchaserKey = await issueKey(service, { role: 'merchant' })
    await page.goto(`${service.url}/console/`)
    for (const [key, words] of [
      [`${service.sandboxKey.slice(0, -1)}x`, /key is unknown or revoked/],
      [purchaserKey, /for owners, operators and approvers/],
    ] as const) {
      await page.getByLabel('Owner or operator key').fill(key)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('alert').filter({ hasText: words }).waitFor()
    }
  })

  await context.test(
    'The key is exchanged for a cookie that no script can read, and is kept nowhere',
    async () => {
      await visitor.signIn(service.sandboxKey)
      const kept = await page.evaluate(() => JSON.stringify([localStorage, sessionStorage, document.cookie]))
      assert.ok(!kept.includes('svc_'), kept)
      const cookies = await page.context().cookies()
      assert.deepEqual(
        cookies.map(({ httpOnly, sameSite }) => [httpOnly, sameSite]),
        [[true, 'Strict']],
      )
      assert.ok(!JSON.stringify(cookies).includes(service.sandboxKey))
    },
  )

  await chapter('The environment is marked on every screen', async () => {
    const strip = page.getByRole('region', { name: 'Environment' })
    assert.match(await strip.innerText(), /sandbox/i)
    assert.match(page.url(), /\/console\/sandbox$/)
    assert.equal(await page.title(), 'Overview · sandbox · Purser')
  })

  await chapter('The checklist is empty, and each step turns green by itself when it is done', async () => {
    await page.getByRole('heading', { name: 'Your first purchase' }).waitFor()
    assert.deepEqual(await steps(page), [': to do', ': to do', ': to do', ': to do'])
    // Elsewhere; nobody touches the page.
    const purchase = await preparePurchase(service)
    await page.getByText('2 of 4 done').waitFor()
    assert.deepEqual(await steps(page), [': done', ': done', ': to do', ': to do'])
    await issueProof(service, purchase)
    await page.getByText('3 of 4 done').waitFor()
    assert.deepEqual(await steps(page), [': done', ': done', ': done', ': to do'])
  })

  await chapter('The program shown makes a first purchase, and the panel disappears', async () => {
    const program = await page.getByLabel('First purchase', { exact: true }).innerText()
    const output = await runProgram(context, program, { PURSER_SANDBOX_KEY: service.sandboxKey })
    assert.match(output, /verified: true/)
    // Nobody touches the page: it hears of the payment, and the panel goes when all is done.
    await page.getByRole('heading', { name: 'Your first purchase' }).waitFor({ state: 'detached' })
    await page.getByText('1 payment', { exact: true }).waitFor()
    await page.locator('.tile', { hasText: 'Spent today' }).getByText('4.00').waitFor()
    // The chart, which had nothing to draw before, has found its width.
    const chart = await page.locator('.chart-drawing').boundingBox()
    assert.ok(chart && chart.width > 500, JSON.stringify(chart))
  })

  await chapter('A mandate is created in a form that says what it will allow, and warns', async () => {
    await visitor.show('sandbox/mandates/new')
    await page.getByText('every payment will be denied').waitFor()
    await page.getByRole('button', { name: 'Create mandate' }).click()
    await page.getByText('Choose the agent that may spend.').waitFor()
    await page.getByLabel('Agent', { exact: true }).selectOption({ index: 1 })
    await page.getByLabel('Purpose').fill('Papers on heat pumps')
    await page.getByLabel('Total budget').fill('20.00')
    await page.getByLabel('Cap per payment').fill('25.00')
    await page.getByText('above the total budget').waitFor()
    await page.getByLabel('Cap per payment').fill('7.50')
    await page.getByLabel('Allowed sellers').fill('*')
    await page.getByText('allows every seller, including').waitFor()
    await page.getByLabel('Allowed sellers').fill('api.example.com')
    await page
      .getByText('research-bot may spend up to 20.00 USDC in total, at most 7.50 USDC per payment')
      .waitFor()
    await page.getByRole('button', { name: 'Create mandate' }).click()
    await page.getByRole('heading', { level: 1, name: 'Papers on heat pumps' }).waitFor()
    const { body } = await service.call('GET', `/mandates/${page.url().split('/').at(-1)}`)
    assert.deepEqual(
      [body.max_spend_total, body.max_spend_per_transaction, body.allowed_sellers, body.status],
      ['20.00', '7.50', ['api.example.com'], 'active'],
    )
  })

  await chapter('A payment appears at once', async () => {
    const { body } = await service.call('GET', `/mandates/${page.url().split('/').at(-1)}`)
    await visitor.show('sandbox')
    await page.locator('.live-state', { hasText: 'Live' }).waitFor()
    const proof = await issueProof(
      service,
      {
        agentId: body.agent_id,
        mandateId: body.id,
        merchantDomain: 'api.example.com',
        resourceUrl: 'https://api.example.com/data',
      },
      '6.66',
    )
    assert.equal((await verifyProof(service, proof)).status, 200)
    const latest = page.getByRole('list', { name: 'Latest transactions' }).getByRole('listitem').first()
    await latest.filter({ hasText: '6.66' }).filter({ hasText: 'paid' }).waitFor()
    // The figures follow by themselves: 4.00 of the first purchase, and this.
    await page.locator('.tile', { hasText: 'Spent today' }).getByText('10.66').waitFor()
  })

  await chapter('A mandate is paused, and resumed from the toast', async () => {
    await visitor.show('sandbox/mandates')
    await page.getByRole('button', { name: 'Actions for Papers on heat pumps' }).click()
    await page.getByRole('menuitem', { name: 'Pause' }).click()
    const row = page.getByRole('row', { name: /Papers on heat pumps/ })
    await row.getByText('paused').waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await row.getByText('active').waitFor()
  })

  await chapter(
    'A key is shown once, and works; to revoke it, its last characters have to be typed',
    async () => {
      await visitor.go('sandbox/keys?new')
      await page.getByLabel('Role').selectOption('owner')
      await page.getByText('Never give this key to an agent').waitFor()
      await page.getByLabel('Label').fill('spare')
      await page.getByRole('button', { name: 'Issue sandbox key' }).click()
      const key = await page.getByLabel('Key', { exact: true }).innerText()
      assert.equal((await service.call('GET', '/agents', { key })).status, 200)
      await page.getByRole('button', { name: "I've saved it" }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      assert.ok(!(await page.content()).includes(key))
      await page.getByRole('button', { name: `Actions for the key ending in ${key.slice(-4)}` }).click()
      await page.getByRole('menuitem', { name: 'Revoke…' }).click()
      const revoke = page.getByRole('button', { name: 'Revoke permanently' })
      assert.equal(await revoke.isDisabled(), true)
      await page.getByLabel(/to confirm/).fill(key.slice(-4))
      await revoke.click()
      await page.getByRole('row', { name: /spare/ }).getByText('revoked').waitFor()
      assert.equal((await service.call('GET', '/agents', { key })).status, 401)
    },
  )

  await visitor.leave()
})

/** Whether each step of the checklist is done, as it is read aloud. */
function steps(page: Page): Promise<string[]> {
  return page.locator('.check-step h3 .only-read-aloud').allInnerTexts()
}

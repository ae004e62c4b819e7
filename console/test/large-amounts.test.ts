import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Purser } from '@purser/client'
import type { Page } from 'playwright-core'

import { preparePurchase } from '../../service/testing/service.ts'
import { shareTestService } from '../../service/testing/shared-service.ts'
import { shareBrowser } from './shared-browser.ts'
import { visit } from './visitor.ts'

/** The largest amount that the ledger keeps. */
const largest = '999999999999.999999'
const longName =
  'Meteorological observations, satellite imagery and tide tables of the whole northern hemisphere'
const longWord = 'donaudampfschifffahrtselektrizitaetenhauptbetriebswerkbauunterbeamtengesellschaft'
const domain = `${'a-rather-long-name.'.repeat(4)}example`

test('The largest amounts next to the longest names are not clipped, and no screen scrolls sideways', async () => {
  const service = await shareTestService()
  service.clock.nowMs = Date.now()
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const { agent, mandate, denied } = await spendTheLargestAmount(purser)
  const visitor = await visit(await shareBrowser(), service)
  const { page } = visitor
  await visitor.signIn(service.sandboxKey)
  const found: string[] = []
  for (const [path, ready] of [
    ['', 'Spent today'],
    ['mandates', 'spent, 99,999,999,999.999999 held'],
    [`mandates/${mandate}`, 'Of that, held by open proofs'],
    ['transactions', domain],
    [`transactions/${denied}`, 'The nine checks'],
    ['agents', longWord],
    [`agents/${agent}`, 'spent, 99,999,999,999.999999 held'],
    ['sellers', domain],
  ] as const) {
    await visitor.show(`sandbox/${path}`)
    await page.getByRole('main').getByText(ready).first().waitFor()
    for (const width of [1280, 360]) {
      await page.setViewportSize({ width, height: 800 })
      await drawn(page)
      found.push(...(await cutAmounts(page)).map((one) => `${path} at ${width}: ${one}`))
    }
  }
  assert.deepEqual(found, [])
  await visitor.leave()
})

test('Millions are not clipped in the tiles of the overview', async () => {
  const service = await shareTestService()
  service.clock.nowMs = Date.now()
  const visitor = await visit(await shareBrowser(), service)
  const { page } = visitor
  await visitor.signIn(service.sandboxKey)
  await preparePurchase(service, { max_spend_total: '9666.00', max_spend_per_transaction: '1.00' })
  for (const [more, text] of [
    ['90333.00', '99,999.00'],
    ['900000.00', '999,999.00'],
    ['8666666.00', '9,666,665.00'],
    ['90000000.00', '99,666,665.00'],
  ] as const) {
    await preparePurchase(service, { max_spend_total: more, max_spend_per_transaction: '1.00' })
    await visitor.show('sandbox')
    await page.locator('.tile').getByText(text).waitFor()
    for (const width of [1280, 1024, 1000, 640, 375, 360]) {
      await page.setViewportSize({ width, height: 800 })
      await drawn(page)
      assert.deepEqual(await cutAmounts(page), [], `${text} at ${width}`)
    }
  }
  await visitor.leave()
})

/** Waits until the fonts are there, and what was asked for is drawn. */
async function drawn(page: Page): Promise<void> {
  await page.evaluate(async () => {
    await document.fonts.ready
    await new Promise((resolve) => void requestAnimationFrame(() => requestAnimationFrame(resolve)))
  })
}

/** An agent that has spent almost all of the largest budget, a seller that got it, and a denial over as much. */
async function spendTheLargestAmount(purser: Purser) {
  const agent = await purser.agents.create({ name: longWord, description: longName })
  await purser.sellers.create({ name: longName, domain, price_config: {} })
  const mandate = await purser.mandates.create({
    agent_id: agent.id,
    purpose: longName,
    max_spend_total: largest,
    max_spend_per_transaction: largest,
    allowed_sellers: [domain],
    expires_at: '2099-01-01T00:00:00Z',
  })
  const payment = { agent_id: agent.id, mandate_id: mandate.id, resource_url: `https://${domain}/data` }
  const amount = '888888888888.888888'
  const answer = await purser.payments.requestProof({ ...payment, amount })
  assert.ok(answer.decision === 'approved')
  await purser.payments.verify({ proof: answer.proof, merchant_domain: domain, expected_amount: amount })
  assert.equal(
    (await purser.payments.requestProof({ ...payment, amount: '99999999999.999999' })).decision,
    'approved',
  )
  const { transaction_id } = await purser.policy.evaluate({
    ...payment,
    merchant_domain: domain,
    amount: largest,
  })
  return { agent: agent.id, mandate: mandate.id, denied: transaction_id }
}

/** The amounts of which something lies beyond what surrounds them, and by how much the screen scrolls sideways. */
function cutAmounts(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const found: string[] = []
    const overhang = document.documentElement.scrollWidth - innerWidth
    if (overhang > 0) found.push(`${overhang} px sideways`)
    for (const figures of document.querySelectorAll('main .figures:not(th)')) {
      const box = figures.closest('.tile, .fact, .feed-item, td, li, .panel')?.getBoundingClientRect()
      const own = figures.getBoundingClientRect()
      // What is only read aloud, or left away on a phone, is one pixel or none.
      if (!box || own.width <= 1) continue
      if (own.left < box.left - 1 || own.right > box.right + 1) found.push(figures.textContent ?? '')
    }
    return found
  })
}

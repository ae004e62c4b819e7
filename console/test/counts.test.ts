import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Purser } from '@purser/client'

import { issueKey, preparePurchase } from '../../service/testing/service.ts'
import { shareTestService } from '../../service/testing/shared-service.ts'
import { factOf } from './fact.ts'
import { shareBrowser } from './shared-browser.ts'
import { visit } from './visitor.ts'

test('Tile, verdict and list count the same denials of the last 24 hours, proofs beyond ten in a minute apart, and authorized payments as held; a mandate and its agent show both, also once it is revoked', async () => {
  const service = await shareTestService()
  const nowMs = Date.now()
  service.clock.nowMs = nowMs
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const agent = await purser.agents.create({ name: 'research-bot' })
  const mandate = await purser.mandates.create({
    agent_id: agent.id,
    purpose: 'Papers',
    max_spend_total: '10.00',
    max_spend_per_transaction: '1.00',
    allowed_sellers: ['api.example.com'],
    expires_at: '2099-01-01T00:00:00Z',
  })
  await issueKey(service, { role: 'agent', agent_id: agent.id })
  const payment = {
    agent_id: agent.id,
    mandate_id: mandate.id,
    resource_url: 'https://api.example.com/papers',
  }
  const evaluate = (amount: string, merchant_domain = 'api.example.com') =>
    purser.policy.evaluate({ ...payment, merchant_domain, amount })
  // Two days ago: not of the last 24 hours.
  service.clock.nowMs = nowMs - 48 * 3_600_000
  for (let denial = 0; denial < 3; denial++) await evaluate('5.00')
  service.clock.nowMs = nowMs
  for (let denial = 0; denial < 4; denial++) await evaluate('5.00')
  await evaluate('0.50', 'elsewhere.example')
  for (let denial = 0; denial < 12; denial++) {
    assert.equal((await purser.payments.requestProof({ ...payment, amount: '9.00' })).decision, 'denied')
  }
  // In the next minute, the two that left no transaction are counted.
  service.clock.nowMs = nowMs + 61_000
  const proof = await purser.payments.requestProof({ ...payment, amount: '0.50' })
  assert.ok(proof.decision === 'approved')
  const charge = { merchant_domain: 'api.example.com', expected_amount: '0.50' }
  assert.ok((await purser.payments.verify({ ...charge, proof: proof.proof })).verified)
  await purser.payments.requestProof({ ...payment, amount: '0.25' })
  const reserved = await purser.payments.requestProof({ ...payment, amount: '0.50' })
  assert.ok(reserved.decision === 'approved')
  assert.ok((await purser.payments.authorize({ ...charge, proof: reserved.proof })).authorized)

  const visitor = await visit(await shareBrowser(), service)
  const { page } = visitor
  await visitor.signIn(service.sandboxKey)
  const tile = page.locator('.tile', { hasText: 'Denied in 24 hours' })
  assert.equal(await tile.locator('.tile-figure').innerText(), '15')
  assert.match(await tile.innerText(), /2 more proofs, not listed/)
  const held = page.locator('.tile', { hasText: 'Held' })
  assert.match(await held.innerText(), /0\.75 USDC\s+1 open proof, 1 authorized payment/)
  await page.getByText('0.25 held, 0.50 authorized').waitFor()
  const verdict = page.locator('.verdict')
  assert.match(
    await verdict.innerText(),
    /^15 payments denied in the last 24 hours\. Most often: over the cap/,
  )
  assert.match(await verdict.innerText(), /2 more proofs refused/)
  const chart = page.getByRole('table', { name: 'Spending in the last 24 hours' }).locator('tbody tr')
  const counts = chart.locator('td:last-child')
  await counts
    .filter({ hasText: /^[1-9]/ })
    .first()
    .waitFor({ state: 'attached' })
  const perHour = await counts.allInnerTexts()
  assert.equal(
    perHour.reduce((sum, count) => sum + Number(count), 0),
    15 + 2,
  )

  await tile.getByRole('link').click()
  const table = page.getByRole('table', { name: 'Transactions' })
  await page.getByText('15 transactions', { exact: true }).waitFor()
  assert.equal(await table.getByRole('row').count(), 1 + 15)
  const chips = page.getByRole('list', { name: 'Active filters' })
  await chips.getByText('Denied').waitFor()
  await chips.getByText('Since').waitFor()
  await chips.getByRole('listitem').filter({ hasText: 'Since' }).getByRole('button').click()
  await page.getByText('18 transactions', { exact: true }).waitFor()

  await page.goBack()
  await page.getByRole('link', { name: 'Over the cap per payment' }).click()
  await page.getByText('14 transactions', { exact: true }).waitFor()
  await page.goBack()
  await page.locator('.tile', { hasText: 'Spent today' }).getByRole('link', { name: '1 payment' }).click()
  await page.getByText('1 transaction', { exact: true }).waitFor()

  await visitor.show(`sandbox/mandates/${mandate.id}`)
  await factOf(page, 'Of that, held by open proofs').filter({ hasText: '0.25' }).waitFor()
  await factOf(page, 'Of that, authorized, to be captured by merchants').filter({ hasText: '0.50' }).waitFor()
  // Its agent shows the same, and revoking it leaves what is authorized.
  await visitor.show(`sandbox/agents/${agent.id}`)
  await factOf(page, 'Of that, held by 1 open proof').filter({ hasText: '0.25' }).waitFor()
  const authorized = factOf(page, 'Of that, authorized in 1 payment, to be captured by merchants')
  await authorized.filter({ hasText: '0.50' }).waitFor()
  await page.getByRole('button', { name: 'Revoke', exact: true }).click()
  await page.getByText('1 authorized payment of 0.50 USDC can still be charged').waitFor()
  await purser.agents.revoke(agent.id)
  await visitor.go(`sandbox/agents/${agent.id}`)
  await factOf(page, 'Of that, held by 0 open proofs').filter({ hasText: '0.00' }).waitFor()
  await authorized.filter({ hasText: '0.50' }).waitFor()
  const keys = await factOf(page, 'Working keys').innerText()
  assert.equal(keys, '1 that cannot pay: the agent is revoked')
  await visitor.leave()
})

test('A filter that does not exist is explained in a sentence, and a filter is removed by its chip', async () => {
  const service = await shareTestService()
  const visitor = await visit(await shareBrowser(), service)
  const { page } = visitor
  await visitor.signIn(service.sandboxKey)
  for (const [path, sentence] of [
    ['transactions?status=foo', '“foo” is not a status. Choose Paid, Refunded, Denied, or Approved.'],
    ['transactions?reason_code=foo', '“foo” is not a reason.'],
    ['transactions?since=foo', '“foo” is not a date.'],
    ['mandates?status=foo', '“foo” is not a status.'],
    ['audit-log?type=foo', '“foo” is not a type of event.'],
  ] as const) {
    await visitor.show(`sandbox/${path}`)
    await page.getByText(sentence).waitFor()
    await page.getByRole('button', { name: /^Remove the filter .*foo$/ }).click()
    await page.getByText(sentence).waitFor({ state: 'detached' })
    assert.doesNotMatch(page.url(), /foo/)
  }
  await visitor.show('sandbox/transactions?from=2026')
  await page.getByText('“2026” is not a day, such as 2026-11-21.').waitFor()
  await visitor.show('sandbox/transactions?from=2026-11-21')
  const sentence = page.getByText('“From” is after “To”: no transaction can be between them.')
  await page.getByLabel('To', { exact: true }).fill('2026-11-20')
  await sentence.waitFor()
  assert.equal(await page.getByRole('link', { name: 'Export as CSV' }).count(), 0)
  await page.getByLabel('To', { exact: true }).fill('2026-11-21')
  await sentence.waitFor({ state: 'detached' })
  await visitor.leave()
})

test('The list of open holds says that it is not all of them', async () => {
  const service = await shareTestService()
  service.clock.nowMs = Date.now()
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const { agentId, mandateId, resourceUrl } = await preparePurchase(service)
  const payment = { agent_id: agentId, mandate_id: mandateId, resource_url: resourceUrl, amount: '0.01' }
  const issue = (count: number) =>
    Promise.all(Array.from({ length: count }, () => purser.payments.requestProof(payment)))
  await issue(99)
  const visitor = await visit(await shareBrowser(), service)
  const { page } = visitor
  await visitor.signIn(service.sandboxKey)
  await visitor.show(`sandbox/mandates/${mandateId}`)
  await page.getByRole('heading', { name: 'Open holds (99)', exact: true }).waitFor()
  await issue(2)
  await page.getByRole('heading', { name: 'Open holds (the first 100 to end)', exact: true }).waitFor()
  await visitor.leave()
})

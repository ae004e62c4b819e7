import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Purser, type Mandate, type NewMandate, type TransactionDetail } from '@purser/client'

import { serviceStores, startServiceOn } from '../../testing/service-stores.ts'
import { startTestService } from '../../testing/service.ts'

const domain = 'api.example.com'
const resource_url = `https://${domain}/data`

/** The fields of an evaluation that differ from those of a passing payment. */
interface Proposal {
  readonly agent_id?: string
  readonly mandate_id?: string
  readonly amount?: string
  readonly merchant_domain?: string
  readonly category?: string
}

for (const { name, missing, open } of serviceStores) {
  test(
    `On ${name} a denial names the check that failed with the values that it compared, for each of the nine`,
    { skip: missing ?? false },
    async (context) => {
      const { service, purser } = await startServiceOn(open, context)
      const agent = await purser.agents.create({ name: 'research-bot' })
      const retired = await purser.agents.create({ name: 'prototype-7' })
      const mandate = (fields: Partial<NewMandate> = {}) =>
        purser.mandates.create({
          agent_id: agent.id,
          purpose: 'Research data',
          max_spend_total: '10.00',
          max_spend_per_transaction: '7.00',
          allowed_sellers: [domain, 'data.example.org'],
          allowed_categories: ['data'],
          expires_at: '2026-11-21T00:00:00Z',
          ...fields,
        })
      const spent = await mandate()
      await pay(purser, spent, '4.20')
      const ofRetired = await mandate({ agent_id: retired.id })
      await purser.agents.revoke(retired.id)
      const paused = await mandate()
      await purser.mandates.pause(paused.id)
      const over = await mandate({ expires_at: '2026-11-20T11:00:00Z' })

      const rows: [check: number, values: string, proposal: Proposal][] = [
        [1, 'no agent agent_nobody', { agent_id: 'agent_nobody' }],
        [2, 'revoked', { agent_id: retired.id, mandate_id: ofRetired.id }],
        [3, 'no mandate mandate_none of this agent', { mandate_id: 'mandate_none' }],
        [3, `no mandate ${ofRetired.id} of this agent`, { mandate_id: ofRetired.id }],
        [4, 'The mandate is paused; its owner can resume it.', { mandate_id: paused.id }],
        [5, '2026-11-20T12:00:00.000Z not_before 2026-11-20T11:00:00Z', { mandate_id: over.id }],
        [6, `shop.example.net not_in ${domain}, data.example.org`, { merchant_domain: 'shop.example.net' }],
        [7, 'games not_in data', { category: 'games' }],
        [8, '7.01 above 7.00', { amount: '7.01' }],
        [9, '4.20 + 6.00 above 10.00', { amount: '6.00' }],
      ]
      const denials: [(typeof rows)[number], string][] = []
      for (const row of rows) {
        const { transaction_id, decision } = await purser.policy.evaluate({
          agent_id: agent.id,
          mandate_id: spent.id,
          amount: '1.00',
          merchant_domain: domain,
          category: 'data',
          resource_url,
          ...row[2],
        })
        assert.equal(decision, 'denied', row[1])
        denials.push([row, transaction_id])
      }
      // Later changes do not affect what was compared then.
      await pay(purser, spent, '3.00')
      await purser.mandates.revoke(spent.id)
      service.clock.nowMs += 24 * 3_600_000
      for (const [[check, values], id] of denials) {
        const detail = await purser.console.transactions.get(id)
        assert.deepEqual(
          detail.checks.map(({ state }) => state),
          Array.from({ length: 9 }, (_, index) =>
            index + 1 < check ? 'passed' : index + 1 === check ? 'failed' : 'not_reached',
          ),
          values,
        )
        assert.equal(rung(detail, check), values)
        assert.equal(detail.checked_at, '2026-11-20T12:00:00.000Z')
        assert.equal(detail.proof, null)
      }
    },
  )

  test(
    `On ${name} a payment is shown with the checks of its proof, what others held then, and its charge`,
    { skip: missing ?? false },
    async (context) => {
      const { purser } = await startServiceOn(open, context)
      const agent = await purser.agents.create({ name: 'research-bot' })
      const mandate = await purser.mandates.create({
        agent_id: agent.id,
        purpose: 'Research data',
        max_spend_total: '10.00',
        max_spend_per_transaction: '7.00',
        allowed_sellers: ['*'],
        expires_at: '2099-01-01T00:00:00Z',
      })
      await pay(purser, mandate, '4.20')
      await ask(purser, mandate, '1.00')
      const { nonce, id } = await pay(purser, mandate, '2.00')
      const detail = await purser.console.transactions.get(id)
      assert.deepEqual(
        detail.checks.map(({ state }) => state),
        [...Array.from({ length: 6 }, () => 'passed'), 'not_asked', 'passed', 'passed'],
      )
      assert.equal(rung(detail, 6), `${domain} in *`)
      assert.equal(rung(detail, 9), '4.20 + 1.00 held + 2.00 at_most 10.00')
      assert.deepEqual(
        [detail.proof?.nonce, detail.proof?.status, detail.proof?.transaction_id],
        [nonce, 'captured', id],
      )
    },
  )
}

for (const how of ['held', 'authorized'] as const) {
  test(`Check 9 shows what it compared if an amount is ${how}`, async (context) => {
    const service = await startTestService(context)
    const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
    const mandate = await openMandate(purser, { max_spend_total: '10.00' })
    const proof = await ask(purser, mandate, '6.00')
    const collected = { proof, merchant_domain: domain, expected_amount: '6.00' }
    if (how === 'authorized') await purser.payments.authorize(collected)
    const { agent_id, id } = mandate
    const asked = { agent_id, mandate_id: id, amount: '6.00', resource_url }
    assert.equal((await purser.payments.requestProof(asked)).decision, 'denied')
    const [denied] = (await purser.transactions.list({ mandate_id: id, status: 'denied' }).page()).items
    const refused = await purser.console.transactions.get(denied?.id ?? '')
    assert.equal(rung(refused, 9), denied?.reason_detail)
    const paid = await pay(purser, mandate, '1.00')
    const passed = await purser.console.transactions.get(paid.id)
    assert.equal(rung(passed, 9), '0.00 + 6.00 held + 1.00 at_most 10.00')
  })
}

test('Check 6 of a payment does not show the terms of its proof if an amendment has allowed the seller since', async (context) => {
  const service = await startTestService(context)
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const mandate = await openMandate(purser, { allowed_sellers: ['other.example.com'] })
  const proof = await ask(purser, mandate, '1.00')
  await purser.mandates.amend(mandate.id, 1, { allowed_sellers: [domain] })
  const paid = await purser.payments.verify({ proof, merchant_domain: domain, expected_amount: '1.00' })
  assert.ok(paid.verified)
  const detail = await purser.console.transactions.get(paid.transaction_id)
  assert.equal(rung(detail, 6), domain)
})

async function openMandate(purser: Purser, fields: Partial<NewMandate>): Promise<Mandate> {
  const agent = await purser.agents.create({ name: 'research-bot' })
  return purser.mandates.create({
    agent_id: agent.id,
    purpose: 'Research data',
    max_spend_total: '10.00',
    max_spend_per_transaction: '7.00',
    allowed_sellers: [domain],
    expires_at: '2026-11-21T00:00:00Z',
    ...fields,
  })
}

function rung({ checks }: TransactionDetail, check: number): string | undefined {
  const found = checks.find((one) => one.check === check)
  return found && [found.value, found.relation ?? '', found.limits.join(', ')].join(' ').trim()
}

async function ask(purser: Purser, { agent_id, id }: Mandate, amount: string) {
  const answer = await purser.payments.requestProof({ agent_id, mandate_id: id, amount, resource_url })
  assert.ok(answer.decision === 'approved')
  return answer.proof
}

async function pay(purser: Purser, mandate: Mandate, amount: string): Promise<{ nonce: string; id: string }> {
  const proof = await ask(purser, mandate, amount)
  const answer = await purser.payments.verify({ proof, merchant_domain: domain, expected_amount: amount })
  assert.ok(answer.verified)
  return { nonce: proof.nonce, id: answer.transaction_id }
}

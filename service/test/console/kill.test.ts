import assert from 'node:assert/strict'
import { test } from 'node:test'

import { addAmounts, Purser } from '@purser/client'
import type { Transaction } from '@purser/wire/transactions'

import { makeFolder, startProcess } from '../process.ts'

const key = 'svc_sand_console_kill_key'
const kills = 2

test("After every kill, the console's sums equal the ledger's, whatever was being rolled up", async (t) => {
  const folder = makeFolder(t)
  const settings = { PURSER_BOOTSTRAP_SANDBOX_KEY: key, PURSER_LOG_LEVEL: 'warn' }
  let service = await startProcess(t, { folder, settings })
  const { agent, mandate } = await prepare(clientOf(service.url))
  for (let round = 0; round < kills; round++) {
    const purser = clientOf(service.url)
    const { kill } = service
    let answers = 0
    const buyers = Array.from({ length: 8 }, async () => {
      for (;;) {
        const body = { agent_id: agent, mandate_id: mandate, resource_url: 'https://api.example.com/data' }
        const { decision, ...proof } = await purser.payments.requestProof({ ...body, amount: '0.01' })
        assert.equal(decision, 'approved')
        if (!('proof' in proof)) continue
        const charge = { proof: proof.proof, merchant_domain: 'api.example.com', expected_amount: '0.01' }
        await purser.payments.verify(charge)
        if (++answers === 60 * (round + 1)) void kill('SIGKILL')
      }
    })
    for (const outcome of await Promise.allSettled(buyers)) assert.equal(outcome.status, 'rejected')
    await service.ended
    service = await startProcess(t, { folder, settings })
  }
  const purser = clientOf(service.url)
  const paid: Transaction[] = []
  for await (const one of purser.transactions.list({ status: 'paid', limit: 200 })) paid.push(one)
  const total = paid.reduce((sum, { amount }) => addAmounts(sum, amount), '0.00')
  assert.ok(paid.length >= 180)
  const [overview, spend, detail] = await Promise.all([
    purser.console.overview(),
    purser.console.mandates.spend(mandate, { step: 'hour', buckets: 48 }),
    purser.console.mandates.get(mandate),
  ])
  const ofHours = overview.hours.reduce((sum, { paid_total: one }) => addAmounts(sum, one), '0.00')
  const ofBuckets = spend.buckets.reduce((sum, { paid_total: one }) => addAmounts(sum, one), '0.00')
  assert.deepEqual([ofHours, ofBuckets, detail.spent_total], [total, total, total])
  assert.deepEqual([detail.paid_count, spend.spent_before], [paid.length, '0.00'])
  await service.kill('SIGTERM')
})

function clientOf(url: string): Purser {
  return new Purser({ apiKey: key, baseUrl: url, maxRetries: 0 })
}

async function prepare(purser: Purser): Promise<{ agent: string; mandate: string }> {
  const { id: agent } = await purser.agents.create({ name: 'research-bot' })
  const { id: mandate } = await purser.mandates.create({
    agent_id: agent,
    purpose: 'Buy research data',
    max_spend_total: '1000000.00',
    max_spend_per_transaction: '1.00',
    allowed_sellers: ['*'],
    expires_at: '2099-01-01T00:00:00Z',
  })
  return { agent, mandate }
}

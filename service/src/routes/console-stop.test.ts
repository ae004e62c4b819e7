import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Purser } from '@purser/client'

import { serviceStores } from '../../testing/service-stores.ts'
import { createTenant, startTestService } from '../../testing/service.ts'

/** More than one step of a stop moves. */
const many = 205

for (const { name, missing, open } of serviceStores) {
  test(
    `On ${name} a stop reaches every mandate of the account and environment, and no other; resuming takes back this stop alone [decision.113]`,
    { skip: missing ?? false },
    async (context) => {
      const ledger = await open()
      const service = await startTestService(context, ledger.settings)
      context.after(ledger.discard)
      const clientOf = (apiKey: string) => new Purser({ apiKey, baseUrl: service.url })
      const purser = clientOf(service.sandboxKey)
      const [first, ...rest] = await makeMandates(purser, many)
      const [elsewhere] = await makeMandates(clientOf(service.productionKey), 1)
      const stranger = clientOf((await createTenant(service)).sandboxKey)
      const [ofStranger] = await makeMandates(stranger, 1)
      const [paused, held] = rest
      assert.ok(first && elsewhere && ofStranger && paused && held)
      await purser.mandates.pause(paused.id)
      const payment = { agent_id: held.agent_id, mandate_id: held.id, amount: '1.00', resource_url }
      const proof = await purser.payments.requestProof(payment)
      assert.ok(proof.decision === 'approved')

      const stop = await purser.console.stop()
      assert.deepEqual([stop.paused_mandates, stop.voided_holds], [many - 1, 1])
      const statuses = async () =>
        (await purser.mandates.list({ limit: 200 }).toArray({ limit: 500 })).map(({ status }) => status)
      assert.deepEqual(new Set(await statuses()), new Set(['paused']))
      const [event] = (await purser.auditLog.list({ type: 'agents.stopped' }).page()).items
      assert.deepEqual(
        [event?.subject_id, event?.data],
        [stop.stop_id, { paused_mandates: many - 1, voided_holds: 1 }],
      )
      const charge = { proof: proof.proof, merchant_domain: domain, expected_amount: '1.00' }
      assert.deepEqual(await purser.payments.verify(charge), { verified: false, reason: 'proof_expired' })
      assert.equal((await clientOf(service.productionKey).mandates.get(elsewhere.id)).status, 'active')
      assert.equal((await stranger.mandates.get(ofStranger.id)).status, 'active')

      // A second stop finds nothing more; one mandate is taken up again by hand, and stopped by it.
      assert.equal((await purser.console.stop()).paused_mandates, 0)
      await purser.mandates.resume(first.id)
      const second = await purser.console.stop()
      assert.equal(second.paused_mandates, 1)
      assert.equal((await purser.console.resume(second.stop_id)).resumed_mandates, 1)
      assert.equal((await statuses()).filter((status) => status === 'active').length, 1)
      assert.equal((await purser.console.resume()).resumed_mandates, many - 2)
      assert.equal((await purser.mandates.get(paused.id)).status, 'paused', 'its owner had paused it')
      assert.equal((await purser.payments.requestProof(payment)).decision, 'approved')
    },
  )
}

const domain = 'api.example.com'
const resource_url = `https://${domain}/data`

async function makeMandates(purser: Purser, count: number) {
  const agent = await purser.agents.create({ name: 'research-bot' })
  const mandate = {
    agent_id: agent.id,
    purpose: 'Research data',
    max_spend_total: '10.00',
    max_spend_per_transaction: '1.00',
    allowed_sellers: [domain],
    expires_at: '2099-01-01T00:00:00Z',
  }
  return Promise.all(Array.from({ length: count }, () => purser.mandates.create(mandate)))
}

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { serviceStores, startServiceOn } from '../../testing/service-stores.ts'
import { preparePurchase, type TestService } from '../../testing/service.ts'

const limits = [{ window: 'lifetime', max_amount: '20.00' }]

/** A mandate and a shared budget that can be created, and their lists. */
async function creations(service: TestService) {
  const { agentId } = await preparePurchase(service)
  const mandate = {
    agent_id: agentId,
    purpose: 'Buy maps',
    max_spend_total: '100.00',
    max_spend_per_transaction: '10.00',
    limits,
    expires_at: '2099-01-01T00:00:00Z',
  }
  return [
    {
      path: '/mandates',
      body: mandate,
      other: { ...mandate, purpose: 'Buy books' },
      type: 'mandate.created',
    },
    {
      path: '/v1/budgets',
      body: { name: 'Team', limits },
      other: { name: 'Other', limits },
      type: 'budget.created',
    },
  ]
}

/** How many records of a list there are, and events of their creation. */
async function countsOf(service: TestService, { path, type }: { path: string; type: string }) {
  const records = await service.call('GET', path)
  const events = await service.call('GET', `/v1/audit-log?type=${type}`)
  return [records.body.length, events.body.length]
}

for (const { name, missing, open } of serviceStores) {
  const options = { skip: missing ?? false }

  test(
    `On ${name} a mandate and a shared budget are created once for an Idempotency-Key`,
    options,
    async (context) => {
      const { service } = await startServiceOn(open, context)
      for (const creation of await creations(service)) {
        const { path, body, other } = creation
        const [before] = await countsOf(service, creation)
        const create = (given: unknown, headers: Record<string, string>, key = service.sandboxKey) =>
          service.call('POST', path, { body: given, headers, key })
        const headers = { 'idempotency-key': 'first' }
        const first = await create(body, headers)
        assert.equal(first.status, 201, first.text)
        assert.equal(first.headers.get('idempotent-replayed'), null)
        // The order of the members means nothing.
        const again = await create(Object.fromEntries(Object.entries(body).toReversed()), headers)
        assert.deepEqual([again.status, again.body], [201, first.body])
        assert.equal(again.headers.get('idempotent-replayed'), 'true')
        const reused = await create(other, headers)
        assert.deepEqual([reused.status, reused.body], [422, { detail: 'idempotency_key_reused' }])
        const invalid = await create(body, { 'idempotency-key': 'x'.repeat(256) })
        assert.deepEqual([invalid.status, invalid.body], [400, { detail: 'invalid_idempotency_key' }])
        assert.deepEqual(await countsOf(service, creation), [before + 1, before + 1])
        // In the other environment, and without a key, nothing is a retry.
        const elsewhere = await create(
          path === '/mandates' ? { ...body, agent_id: 'unknown' } : body,
          headers,
          service.productionKey,
        )
        assert.equal(elsewhere.status, path === '/mandates' ? 404 : 201)
        assert.notEqual((await create(body, {})).body.id, first.body.id)
      }
    },
  )

  test(
    `On ${name} requests with the same Idempotency-Key at the same time create one`,
    options,
    async (context) => {
      const { service } = await startServiceOn(open, context)
      for (const creation of await creations(service)) {
        const [before] = await countsOf(service, creation)
        const answers = await Promise.all(
          Array.from({ length: 8 }, () =>
            service.call('POST', creation.path, {
              body: creation.body,
              headers: { 'idempotency-key': 'race' },
            }),
          ),
        )
        assert.deepEqual(
          answers.map(({ status }) => status),
          answers.map(() => 201),
        )
        assert.equal(new Set(answers.map(({ body }) => body.id)).size, 1)
        assert.deepEqual(await countsOf(service, creation), [before + 1, before + 1])
      }
    },
  )

  test(
    `On ${name} a retry gets its record although its agent was revoked since`,
    options,
    async (context) => {
      const { service } = await startServiceOn(open, context)
      const [mandate] = await creations(service)
      assert.ok(mandate && 'agent_id' in mandate.body)
      const retry = () =>
        service.call('POST', '/mandates', { body: mandate.body, headers: { 'idempotency-key': 'k' } })
      const first = await retry()
      assert.equal((await service.call('PATCH', `/agents/${mandate.body.agent_id}/revoke`)).status, 200)
      const again = await retry()
      assert.deepEqual([again.status, again.body.id], [201, first.body.id])
    },
  )
}

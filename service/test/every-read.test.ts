import assert from 'node:assert/strict'
import { test } from 'node:test'

import { endpoints } from '@purser/wire/openapi'

import { evaluate, registerSeller } from '../testing/purchases.ts'
import {
  askForProof,
  issueProof,
  merchantDomain,
  preparePurchase,
  startTestService,
  testStartMs,
  verifyProof,
  type TestService,
} from '../testing/service.ts'
import { serviceStores } from '../testing/service-stores.ts'

// A read may fail on one store only: a distributed database refuses some forms of statements.

for (const { name, missing, open } of serviceStores) {
  test(
    `On ${name} every read works with each of its filters and with all at once`,
    { skip: missing ?? false },
    async (context) => {
      const { settings, discard } = await open()
      context.after(discard)
      const service = await startTestService(context, {
        ...settings,
        PURSER_BOOTSTRAP_SANDBOX_KEY: 'svc_sand_chosen-for-this-test',
        PURSER_BOOTSTRAP_PRODUCTION_KEY: 'svc_prod_chosen-for-this-test',
      })
      const { paths, filters } = await fillLedger(service)
      let asked = 0
      for (const { method, path, query } of endpoints) {
        if (method !== 'GET') continue
        const filled = path.replaceAll(/\{(\w+)\}/g, (_, id: string) => paths[id] ?? assert.fail(id))
        for (const search of searchesOf(query?.properties ?? {}, filters)) {
          const answer = await service.call('GET', `${filled}?${search}`)
          const isElsewhere = search.get('environment') === 'production'
          const expected = isElsewhere ? 403 : (statuses.get(path) ?? 200)
          assert.equal(answer.status, expected, `${filled}?${search}: ${answer.text}`)
          asked++
        }
      }
      assert(asked > endpoints.length)
    },
  )
}

function at(days: number): string {
  return new Date(testStartMs + days * 86_400_000).toISOString()
}

/** No filter, each value of each filter, and the first values of all combined. A cursor is not a filter. */
function searchesOf(
  properties: Readonly<Record<string, { readonly enum?: readonly string[] }>>,
  filters: Readonly<Record<string, string>>,
): URLSearchParams[] {
  const known = Object.entries(properties).filter(([name]) => name !== 'cursor' && name !== 'last_event_id')
  const valuesOf = (name: string, choices = [filters[name] ?? assert.fail(name)]) =>
    choices.map((value) => [name === 'metadata' ? 'metadata[team]' : name, value] as [string, string])
  const each = known.map(([name, schema]) => valuesOf(name, schema.enum && [...schema.enum]))
  const all = each.flatMap(([first]) => (first ? [first] : []))
  return [[], ...each.flat().map((one) => [one]), all].map((search) => new URLSearchParams(search))
}

/** Endpoints that answer differently to a key and to a session. */
const statuses = new Map([['/v1/console/session', 404]])

/** A ledger with at least one record of each kind: the ids for paths, and the values for filters. */
async function fillLedger(
  service: TestService,
): Promise<{ paths: Record<string, string>; filters: Record<string, string> }> {
  const sellerId = await registerSeller(service, merchantDomain)
  const purchase = await preparePurchase(service, { max_spend_total: '10.00' })
  const proof = await issueProof(service, purchase, '4.20')
  const paid = await verifyProof(service, proof)
  assert.equal(paid.status, 200, paid.text)
  assert.equal((await verifyProof(service, proof)).status, 402)
  assert.equal((await askForProof(service, purchase, '6.00')).status, 402)
  assert.equal((await evaluate(service, purchase)).status, 200)
  const { agentId, mandateId } = purchase
  const increase = await service.call('POST', `/v1/mandates/${mandateId}/increase-requests`, {
    body: { max_spend_total: '200.00', reason: 'Reports got dearer' },
  })
  const budget = await service.call('POST', '/v1/budgets', {
    body: { name: 'Research', limits: [{ window: 'lifetime', max_amount: '100.00' }] },
  })
  assert.equal(budget.status, 201, budget.text)
  const [{ account_id: accountId }] = (await service.call('GET', '/accounts/api-keys')).body
  return {
    paths: {
      account_id: accountId,
      agent_id: agentId,
      approval_id: increase.body.id,
      budget_id: budget.body.id,
      domain: merchantDomain,
      mandate_id: mandateId,
      nonce: proof.nonce,
      seller_id: sellerId,
      transaction_id: paid.body.transaction_id,
    },
    filters: {
      limit: '1',
      account_id: accountId,
      agent_id: agentId,
      budget_id: budget.body.id,
      mandate_id: mandateId,
      merchant_domain: merchantDomain,
      reason_code: 'total_budget_exceeded',
      subject_id: paid.body.transaction_id,
      created_from: at(-1),
      created_before: at(1),
      created_to: at(1),
      from: at(-1).slice(0, 10),
      to: at(1).slice(0, 10),
      starts_at: at(-1),
      buckets: '2',
      metadata: 'research',
      time_zone: 'Europe/Berlin',
      q: 'research',
    },
  }
}

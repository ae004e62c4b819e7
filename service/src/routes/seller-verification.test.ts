import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'

import { provenDomain as domain, proverOf, type Zone } from '../../testing/http/domain-servers.ts'
import { readCsv } from '../../testing/http/read-csv.ts'
import { postgres18 } from '../../testing/postgres.ts'
import {
  askForProof,
  createTenant,
  issueProof,
  preparePurchase,
  verifyProof,
  type TestService,
  startTestService,
} from '../../testing/service.ts'

const databases: readonly {
  name: string
  settings: (context: TestContext) => Promise<Record<string, string>>
}[] = [
  { name: 'SQLite', settings: async () => ({}) },
  {
    name: 'PostgreSQL',
    settings: async (context) => {
      const database = await postgres18.createDatabase()
      context.after(database.drop)
      return { PURSER_DATABASE: database.url }
    },
  },
]

for (const { name, settings } of databases) {
  describe(name, () => {
    test('A pending seller cannot collect until it verifies its domain, and blocks no other', async (context) => {
      const zone: Zone = {}
      const service = await start(context, await settings(context), zone)
      const squatter = await createTenant(service, 'idp_squatter')
      const merchant = await createTenant(service, 'idp_merchant')
      for (const { sandboxKey } of [squatter, merchant]) {
        const created = await register(service, sandboxKey)
        assert.deepEqual([created.status, created.body.status], [201, 'pending'], created.text)
        assert.equal((await register(service, sandboxKey)).status, 409)
      }

      const purchase = await preparePurchase(service, { allowed_sellers: [domain] })
      const proof = await issueProof(service, {
        ...purchase,
        merchantDomain: domain,
        resourceUrl: `https://${domain}/a`,
      })
      const collect = (key: string) => verifyProof(service, proof, { merchant_domain: domain }, { key })
      const refused = await collect(merchant.sandboxKey)
      assert.deepEqual([refused.status, refused.body.detail], [403, 'seller_not_yours'], refused.text)

      const { text, record_name: recordName } = await verification(service, merchant.sandboxKey, 'GET')
      const looked = await verification(service, merchant.sandboxKey)
      assert.deepEqual([looked.status, looked.missing], ['pending', missing])
      zone.txt = { [recordName]: [text] }
      assert.deepEqual(await verification(service, merchant.sandboxKey), {
        ...looked,
        status: 'verified',
        missing: null,
      })
      assert.equal((await verification(service, squatter.sandboxKey)).status, 'pending')
      assert.equal((await verification(service, merchant.sandboxKey)).status, 'verified')
      assert.equal((await collect(squatter.sandboxKey)).body.detail, 'seller_not_yours')
      const paid = await collect(merchant.sandboxKey)
      assert.deepEqual([paid.status, paid.body.verified], [200, true], paid.text)

      const listed = await service.call('GET', '/sellers', { key: merchant.sandboxKey })
      assert.equal(listed.body[0].status, undefined)
      const events = await service.call('GET', '/v1/audit-log?type=seller.verified', {
        key: merchant.sandboxKey,
      })
      assert.equal(events.body.length, 1, events.text)

      // The other account's purchases there are not its own sales, although it has a seller for the domain.
      const theirOwn = await preparePurchase(service, { allowed_sellers: [domain] }, squatter.sandboxKey)
      const bought = await askForProof(service, { ...theirOwn, resourceUrl: `https://${domain}/b` }, '2.00', {
        key: squatter.sandboxKey,
      })
      const sold = await verifyProof(
        service,
        bought.body.proof,
        { merchant_domain: domain },
        { key: merchant.sandboxKey },
      )
      assert.equal(sold.status, 200, sold.text)
      const returned = await service.call('POST', `/v1/transactions/${sold.body.transaction_id}/refund`, {
        key: merchant.sandboxKey,
        body: { amount: '0.50' },
        headers: { 'idempotency-key': 'return' },
      })
      assert.equal(returned.status, 201, returned.text)
      const revenue = async (key: string) => {
        const sellers = await service.call('GET', '/sellers', { key })
        const settled = await service.call('GET', `/v1/sellers/${sellers.body[0].id}/settlements`, { key })
        const journal = readCsv((await service.call('GET', '/v1/journal.csv', { key })).text)
        return [
          settled.body.total.payments,
          settled.body.total.net,
          journal.filter((line) => line['account'] === 'revenue').length,
        ]
      }
      assert.deepEqual(await revenue(squatter.sandboxKey), [0, '0.00', 0])
      assert.deepEqual(await revenue(merchant.sandboxKey), [2, '2.50', 3])

      // The other account verifies the domain too late.
      const { text: theirs } = await verification(service, squatter.sandboxKey, 'GET')
      zone.txt = { [recordName]: [text, theirs] }
      const late = await service.call('POST', path, { key: squatter.sandboxKey })
      assert.deepEqual([late.status, late.body.detail], [409, 'seller_exists'])
    })
  })
}

test('Without the setting a seller can collect at once, and its answer has no new fields', async (context) => {
  const service = await startTestService(context)
  const created = await register(service, service.sandboxKey)
  assert.deepEqual(Object.keys(created.body), ['id', 'name', 'domain', 'price_config', 'created_at'])
  assert.equal((await verification(service, service.sandboxKey)).status, 'verified')
})

test('An account may request ten domain checks a minute', async (context) => {
  const service = await start(context, {}, {})
  await register(service, service.sandboxKey)
  for (let look = 0; look < 10; look++) {
    assert.equal((await verification(service, service.sandboxKey)).missing, missing)
  }
  const answer = await service.call('POST', path)
  assert.deepEqual([answer.status, answer.headers.get('retry-after')], [429, '6'])
  // The test clock of the sandbox is not the time of the checks.
  await service.call('POST', '/v1/test-clock/advance', { body: { seconds: 3_600 } })
  const later = await service.call('POST', path)
  assert.deepEqual([later.status, later.headers.get('retry-after')], [429, '6'])
})

test('A domain for which the account has no seller has no verification', async (context) => {
  const service = await start(context, {}, {})
  for (const method of ['GET', 'POST']) assert.equal((await service.call(method, path)).status, 404)
})

const path = `/sellers/${domain}/verification`
const missing = `there is no TXT record, and ${domain} has no address in DNS`

async function start(
  context: TestContext,
  settings: Record<string, string>,
  zone: Zone,
): Promise<TestService> {
  const prove = await proverOf(context, zone)
  return startTestService(
    context,
    { ...settings, PURSER_SELLER_VERIFICATION: 'required' },
    { proveDomain: prove },
  )
}

function register(service: TestService, key: string) {
  return service.call('POST', '/sellers', { key, body: { name: 'Shop', domain, price_config: {} } })
}

async function verification(service: TestService, key: string, method = 'POST') {
  const answer = await service.call(method, path, { key })
  assert.equal(answer.status, 200, answer.text)
  return answer.body
}

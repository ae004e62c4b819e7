import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Purser, type TransactionsQuery } from '@purser/client'
import type { Transaction } from '@purser/wire/transactions'

import { maxExportsOfAccount } from '../src/limits.ts'
import { readCsv } from '../testing/http/read-csv.ts'
import { serviceStores, startServiceOn } from '../testing/service-stores.ts'
import { createMerchant, evaluate, pay } from '../testing/purchases.ts'
import {
  issueKey,
  issueProof,
  preparePurchase,
  startTestService,
  testStartMs,
  verifyProof,
  type TestService,
} from '../testing/service.ts'

const hourMs = 3_600_000

for (const { name, missing, open } of serviceStores) {
  test(
    `On ${name} a merchant key reads its sales of a time range, inclusive start to exclusive end, as a list and as CSV`,
    { skip: missing ?? false },
    async (t) => {
      const { service } = await startServiceOn(open, t)
      const { sales, merchant } = await sell(service)
      const [third, second, first] = sales
      const rows: readonly (readonly [query: TransactionsQuery, sales: readonly unknown[]])[] = [
        [{}, [third, second, first]],
        [{ created_from: at(1) }, [third, second]],
        [{ created_from: at(1.5) }, [third]],
        [{ created_to: at(1) }, [first]],
        [{ created_from: at(1), created_to: at(2) }, [second]],
        [{ created_from: at(1).replace('Z', '+00:00'), created_to: at(2) }, [second]],
        [{ created_from: at(0), created_to: at(9), status: 'paid' }, [third, second, first]],
        [{ created_from: at(2), created_to: at(1) }, []],
        [{ status: 'denied' }, []],
      ]
      for (const [query, expected] of rows) {
        const title = JSON.stringify(query)
        assert.deepEqual(await merchant.transactions.list(query).toArray({ limit: 10 }), expected, title)
        const csv = await new Response(await merchant.transactions.exportCsv(query)).text()
        assert.deepEqual(readCsv(csv).map(asTransaction), expected, title)
      }
    },
  )
}

test('An invalid time is a 422 with the same message as any timestamp, and so is one without a zone [errors.422]', async (t) => {
  const service = await startTestService(t)
  for (const path of ['/v1/transactions', '/v1/transactions.csv', '/v1/console/transactions']) {
    const answer = await service.call('GET', `${path}?created_from=yesterday`)
    assert.equal(answer.status, 422)
    assert.deepEqual(answer.body.detail, [
      {
        type: 'datetime_from_date_parsing',
        loc: ['query', 'created_from'],
        msg: 'Input should be a valid datetime or date, input is too short',
        input: 'yesterday',
        ctx: { error: 'input is too short' },
      },
    ])
    const { status, body } = await service.call('GET', `${path}?created_from=2026-11-01T00:00:00`)
    assert.deepEqual([status, body.detail[0].type], [422, 'timezone_aware'])
  }
})

test('Pages of sales are linked with the same time range', async (t) => {
  const service = await startTestService(t)
  const { sales, merchant } = await sell(service)
  const query = { created_from: at(0), created_to: at(2), limit: 1 }
  assert.equal((await merchant.transactions.list(query).page()).items.length, 1)
  assert.deepEqual(await merchant.transactions.list(query).toArray({ limit: 10 }), sales.slice(1))
})

test('The CSV for each role contains what its list does, streamed, as a file that is never cached', async (t) => {
  const service = await startTestService(t)
  const { purchase, merchantKey } = await sell(service)
  await preparePurchase(service).then((other) => pay(service, other, '1.00'))
  const agentKey = await issueKey(service, { role: 'agent', agent_id: purchase.agentId })
  for (const key of [service.sandboxKey, merchantKey, agentKey, service.productionKey]) {
    const list = await service.call('GET', '/v1/transactions', { key })
    const csv = await service.call('GET', '/v1/transactions.csv', { key })
    assert.deepEqual(readCsv(csv.text).map(asTransaction), list.body)
    assert.equal(csv.headers.get('content-type'), 'text/csv; charset=utf-8; header=present')
    assert.equal(csv.headers.get('cache-control'), 'no-store')
    assert.equal(csv.headers.get('content-length'), null)
    const environment = key === service.productionKey ? 'production' : 'sandbox'
    assert.equal(
      csv.headers.get('content-disposition'),
      `attachment; filename="transactions-${environment}-2026-11-20.csv"`,
    )
  }
  const foreign = await service.call('GET', '/v1/transactions.csv?agent_id=agent_other', { key: agentKey })
  assert.deepEqual([foreign.status, readCsv(foreign.text)], [200, []])
  assert.equal((await service.call('GET', '/v1/transactions.csv', { key: null })).status, 401)
})

test("Nothing that a buyer named runs as a formula in the merchant's CSV", async (t) => {
  const service = await startTestService(t)
  const purchase = await preparePurchase(service, { allowed_sellers: ['*'] })
  await evaluate(service, purchase, { category: '=HYPERLINK("https://evil.example","x")' })
  await pay(service, purchase, '1.00', { merchant_domain: purchase.merchantDomain })
  const key = await issueKey(service, { role: 'merchant' })
  const { text } = await service.call('GET', '/v1/transactions.csv', { key })
  const [sale] = readCsv(text)
  assert.equal(sale?.['category'], `'=HYPERLINK("https://evil.example","x")`)
})

test('Exports of the console and of keys share one limit per account', async (t) => {
  const service = await startTestService(t)
  const purchase = await preparePurchase(service)
  // More than all buffers on the way can hold.
  const long = `https://api.example.com/${'x'.repeat(2_000)}`
  for (let round = 0; round < 20; round++) {
    await Promise.all(Array.from({ length: 50 }, () => evaluate(service, purchase, { resource_url: long })))
  }
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url, maxRetries: 0 })
  const cut = new AbortController()
  t.after(() => cut.abort())
  for (let count = 0; count < maxExportsOfAccount; count++) {
    await purser.console.transactions.exportCsv({}, { signal: cut.signal })
  }
  await assert.rejects(purser.transactions.exportCsv(), { code: 'too_many_streams' })
})

function at(hours: number): string {
  return new Date(testStartMs + hours * hourMs).toISOString()
}

/** Three sales to a merchant of another account, an hour apart, among other records. */
async function sell(service: TestService) {
  const { merchantKey } = await createMerchant(service, 'api.example.com')
  const purchase = await preparePurchase(service, { allowed_sellers: ['*'] })
  const sales: Transaction[] = []
  for (let hours = 0; hours < 3; hours++) {
    service.clock.nowMs = testStartMs + hours * hourMs
    await evaluate(service, purchase)
    const sold = await verifyProof(service, await issueProof(service, purchase), {}, { key: merchantKey })
    assert.equal(sold.status, 200, sold.text)
    const { body } = await service.call('GET', `/v1/transactions/${sold.body.transaction_id}`, {
      key: merchantKey,
    })
    sales.unshift(body)
  }
  service.clock.nowMs = testStartMs
  return {
    sales,
    purchase,
    merchantKey,
    merchant: new Purser({ apiKey: merchantKey, baseUrl: service.url }),
  }
}

function asTransaction(record: Record<string, string>): Transaction {
  const entries = Object.entries(record).map(([name, text]) => {
    if (name === 'mandate_version') return [name, Number(text)]
    if (name === 'metadata') return [name, text === '' ? {} : JSON.parse(text)]
    return [name, text === '' ? null : text]
  })
  return Object.fromEntries(entries) as Transaction
}

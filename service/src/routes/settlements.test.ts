import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import { readCsv } from '../../testing/http/read-csv.ts'
import { createMerchant, pay, registerSeller } from '../../testing/purchases.ts'
import { serviceStores, startServiceOn, type ServiceStore } from '../../testing/service-stores.ts'
import {
  askForProof,
  createTenant,
  issueKey,
  issueProof,
  preparePurchase,
  verifyProof,
} from '../../testing/service.ts'
import { shareTestService } from '../../testing/shared-service.ts'

const dayMs = 24 * 3_600_000
const domain = 'sales.example.com'

for (const store of serviceStores) {
  const options = { skip: store.missing ?? false }
  const shop = store.missing === undefined ? openShop(store) : undefined

  test(`On ${store.name} a seller sees by day in UTC what it collected and refunded`, options, async () => {
    const { sellerId, settlements } = await given(shop)
    const { status, body, text } = await settlements('')
    assert.equal(status, 200, text)
    assert.deepEqual(body, {
      seller_id: sellerId,
      domain,
      from: '2026-10-23',
      to: '2026-11-21',
      days: [
        { day: '2026-11-20', payments: 2, gross: '3.50', refunds: 0, refunded: '0.00', net: '3.50' },
        { day: '2026-11-21', payments: 1, gross: '4.00', refunds: 1, refunded: '0.75', net: '3.25' },
      ],
      total: { payments: 3, gross: '7.50', refunds: 1, refunded: '0.75', net: '6.75' },
    })
    const { body: first } = await settlements('from=2026-11-20&to=2026-11-20')
    assert.deepEqual([first.days.length, first.total.net], [1, '3.50'])
    const { body: second } = await settlements('from=2026-11-21&to=2026-11-21')
    assert.deepEqual([second.days.length, second.total.net], [1, '3.25'])
    const { body: none } = await settlements('from=2026-11-22&to=2026-11-30')
    assert.deepEqual([none.days, none.total.net], [[], '0.00'])
    const { body: earliest } = await settlements('to=0001-01-01')
    assert.deepEqual([earliest.from, earliest.to], ['0001-01-01', '0001-01-01'])
  })

  test(
    `On ${store.name} settlements are those of the account’s own sellers, and days are those of the calendar`,
    options,
    async () => {
      const { service, sellerId, merchantKey, purchase, settlements } = await given(shop)
      const stranger = await createTenant(service)
      for (const [key, id] of [
        [stranger.sandboxKey, sellerId],
        [service.sandboxKey, sellerId],
        [merchantKey, 'unknown'],
      ] as const) {
        const { status, text } = await settlements('', key, id)
        assert.deepEqual([status, text], [404, '{"detail":"not_found"}'])
      }
      const agentKey = await issueKey(service, { role: 'agent', agent_id: purchase.agentId })
      assert.equal((await settlements('', agentKey)).status, 403)
      for (const query of [
        'from=2026-02-30',
        'to=2026-13-01',
        'from=yesterday',
        'from=2026-11-22&to=2026-11-21',
        'from=2020-01-01&to=2026-11-21',
        'to=0000-01-01',
        'from=0000-12-31&to=0001-01-01',
      ]) {
        assert.equal((await settlements(query)).status, 422, query)
      }
    },
  )

  test(
    `On ${store.name} the journal has a debit and a credit for each payment and sale, and reverses refunds`,
    options,
    async () => {
      const { service, sold, refundId, ownerKey, merchantKey } = await given(shop)
      const own = await preparePurchase(service, { allowed_sellers: ['*'] })
      await registerSeller(service)
      const internal = await pay(service, own, '5.00')
      const read = async (key: string) => {
        const answer = await service.call('GET', '/v1/journal.csv', { key })
        assert.match(answer.headers.get('content-disposition') ?? '', /filename="journal-sandbox-/)
        assert.equal(answer.headers.get('content-length'), null)
        return readCsv(answer.text).map(({ transaction_id: id, kind, account, debit, credit }) => [
          id,
          kind,
          account,
          debit,
          credit,
        ])
      }
      assert.deepEqual(await read(ownerKey), [
        ...pair(refundId, 'refund', 'revenue', 'wallet', '0.75'),
        ...pair(sold[2], 'payment', 'wallet', 'revenue', '4.00'),
        ...pair(sold[1], 'payment', 'wallet', 'revenue', '2.50'),
        ...pair(sold[0], 'payment', 'wallet', 'revenue', '1.00'),
      ])
      assert.deepEqual(await read(service.sandboxKey), [
        ...pair(internal, 'payment', 'expense', 'wallet', '5.00'),
        ...pair(internal, 'payment', 'wallet', 'revenue', '5.00'),
        ...pair(refundId, 'refund', 'wallet', 'expense', '0.75'),
        ...pair(sold[2], 'payment', 'expense', 'wallet', '4.00'),
        ...pair(sold[1], 'payment', 'expense', 'wallet', '2.50'),
        ...pair(sold[0], 'payment', 'expense', 'wallet', '1.00'),
      ])
      const later = await service.call('GET', '/v1/journal.csv?created_from=2026-11-21T00:00:00Z', {
        key: ownerKey,
      })
      assert.equal(readCsv(later.text).length, 4)
      assert.equal((await service.call('GET', '/v1/journal.csv', { key: merchantKey })).status, 403)
    },
  )

  test(
    `On ${store.name} two accounts that hold a domain in turn each settle their own sales`,
    options,
    async () => {
      const { service, merchantKey, ownerKey, sellerId, purchase, settlements } = await given(shop)
      const before = (await settlements('')).body.total
      assert.equal((await service.call('DELETE', `/sellers/domains/${domain}`)).status, 200)
      assert.equal((await settlements('')).status, 404)

      const next = await createTenant(service, 'idp_next')
      const nextId = await registerSeller(service, domain, next.sandboxKey)
      assert.notEqual(nextId, sellerId)
      const none = await settlements('', next.sandboxKey, nextId)
      assert.deepEqual([none.body.days, none.body.total.gross], [[], '0.00'])
      const proof = await issueProof(service, purchase, '1.25')
      const paid = await verifyProof(service, proof, { merchant_domain: domain }, { key: next.sandboxKey })
      assert.equal(paid.status, 200, paid.text)
      // The former account's later purchases there are not its own sales.
      const former = await preparePurchase(service, { allowed_sellers: [domain] }, ownerKey)
      const asked = await askForProof(service, { ...former, resourceUrl: `https://${domain}/b` }, '2.00', {
        key: ownerKey,
      })
      const bought = await verifyProof(
        service,
        asked.body.proof,
        { merchant_domain: domain },
        { key: next.sandboxKey },
      )
      assert.equal(bought.status, 200, bought.text)
      const own = await settlements('', next.sandboxKey, nextId)
      assert.deepEqual([own.body.total.payments, own.body.total.gross], [2, '3.25'])
      const journal = readCsv((await service.call('GET', '/v1/journal.csv', { key: ownerKey })).text)
      assert.deepEqual(
        journal
          .filter((line) => line['transaction_id'] === bought.body.transaction_id)
          .map((line) => line['account']),
        ['expense', 'wallet'],
      )

      // The former account gets the domain back with the sales that it made under it, and no others.
      assert.equal((await service.call('DELETE', `/sellers/domains/${domain}`)).status, 200)
      const againId = await registerSeller(service, domain, ownerKey)
      assert.deepEqual((await settlements('', merchantKey, againId)).body.total, before)
    },
  )
}

test('Every journal cell written by a buyer or an agent is text in a spreadsheet, never a formula', async () => {
  const service = await shareTestService()
  const purchase = await preparePurchase(service)
  const orders = ['=1+1', '+1', '-1+1', '@SUM(A1)', '\t=1', '\r=1', ' =1', '"=1"', 'a,b', '1001']
  for (const order of orders) {
    const asked = await service.call('POST', '/v1/payments/proof', {
      body: {
        agent_id: purchase.agentId,
        mandate_id: purchase.mandateId,
        amount: '1.00',
        resource_url: purchase.resourceUrl,
        order_id: order,
      },
    })
    assert.equal(asked.status, 201, asked.text)
    assert.equal((await verifyProof(service, asked.body.proof)).status, 200)
  }
  const { text } = await service.call('GET', '/v1/journal.csv')
  const written = readCsv(text).map((line) => line['order_id'])
  const isFormula = /^\s*[=+\-@]|^[\t\r]/
  const expected = orders.toReversed().map((order) => (isFormula.test(order) ? `'${order}` : order))
  assert.deepEqual(
    written,
    expected.flatMap((order) => [order, order]),
  )
  for (const line of readCsv(text)) {
    for (const cell of Object.values(line)) assert.doesNotMatch(cell, isFormula)
  }
})

test('The journal is read page by page, with every line exactly once', async () => {
  const service = await shareTestService()
  const purchase = await preparePurchase(service, { max_spend_total: '1000.00' })
  const paid = new Set<string>()
  for (let round = 0; round < 13; round++) {
    const ids = await Promise.all(Array.from({ length: 10 }, () => pay(service, purchase, '0.10')))
    for (const id of ids) paid.add(id)
  }
  const lines = readCsv((await service.call('GET', '/v1/journal.csv')).text)
  assert.deepEqual([lines.length, new Set(lines.map((line) => line['transaction_id']))], [260, paid])
  const sum = (column: string) => lines.reduce((total, line) => total + Number(line[column]), 0).toFixed(2)
  assert.deepEqual([sum('debit'), sum('credit')], ['13.00', '13.00'])
})

/** The lines of a payment or a refund. */
function pair(id: string | undefined, kind: string, debited: string, credited: string, amount: string) {
  return [
    [id, kind, debited, amount, ''],
    [id, kind, credited, '', amount],
  ]
}

/** A merchant with three sales on two days to another account, and a refund of the first. */
async function openShop(store: ServiceStore) {
  const { service } = await startServiceOn(store.open, { after })
  const { sellerId, merchantKey, ownerKey } = await createMerchant(service, domain)
  const purchase = {
    ...(await preparePurchase(service, { allowed_sellers: [domain] })),
    resourceUrl: `https://${domain}/data`,
  }
  const sold: string[] = []
  const startMs = service.clock.nowMs
  for (const [days, amounts] of [
    [0, ['1.00', '2.50']],
    [1, ['4.00']],
  ] as const) {
    service.clock.nowMs = startMs + days * dayMs
    for (const amount of amounts) {
      const proof = await issueProof(service, purchase, amount)
      const paid = await verifyProof(service, proof, { merchant_domain: domain }, { key: merchantKey })
      assert.equal(paid.status, 200, paid.text)
      sold.push(paid.body.transaction_id as string)
    }
  }
  const refunded = await service.call('POST', `/v1/transactions/${sold[0]}/refund`, {
    key: merchantKey,
    body: { amount: '0.75' },
    headers: { 'idempotency-key': 'return' },
  })
  assert.equal(refunded.status, 201, refunded.text)
  const settlements = (query: string, key = merchantKey, id = sellerId) =>
    service.call('GET', `/v1/sellers/${id}/settlements?${query}`, { key })
  return {
    service,
    sellerId,
    merchantKey,
    ownerKey,
    purchase,
    sold,
    refundId: refunded.body.id as string,
    settlements,
  }
}

async function given(shop: ReturnType<typeof openShop> | undefined) {
  assert(shop)
  return shop
}

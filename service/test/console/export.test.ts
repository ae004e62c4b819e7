import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'

import { Purser, type ExportTransactionsQuery, type Transaction } from '@purser/client'

import { maxExportsOfAccount } from '../../src/limits.ts'
import { execute } from '../../testing/postgres-databases.ts'
import { postgres18 } from '../../testing/postgres.ts'
import { lengthenEvaluations } from '../../testing/ledgers/long-records.ts'
import { readCsv } from '../../testing/http/read-csv.ts'
import { serviceStores, startServiceOn } from '../../testing/service-stores.ts'
import {
  issueProof,
  preparePurchase,
  verifyProof,
  type Purchase,
  type TestService,
  startTestService,
} from '../../testing/service.ts'

for (const { name, missing, open } of serviceStores) {
  test(
    `On ${name} the export equals the database over many pages and matches its filters`,
    { skip: missing ?? false },
    async (t) => {
      const { service } = await startServiceOn(open, t)
      const purchase = await preparePurchase(service)
      await verifyProof(service, await issueProof(service, purchase, '1.50'))
      for (const category of hostileCategories) await evaluate(service, purchase, { category })
      await evaluateMany(service, purchase, 500)
      const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
      const all = await purser.transactions.list({ limit: 200 }).toArray({ limit: 2_000 })
      assert.equal(all.length, 501 + hostileCategories.length)
      assert.deepEqual(
        readCsv(await exported(purser))
          .map(withoutNames)
          .map(asTransaction),
        all,
      )
      const denied = all.filter(({ status }) => status === 'denied')
      assert.ok(denied.length > 0 && denied.length < all.length)
      assert.deepEqual(
        readCsv(await exported(purser, { status: 'denied' }))
          .map(withoutNames)
          .map(asTransaction),
        denied,
      )
    },
  )
}

test(
  'An export is streamed as it is read, and an aborted one is recognizably incomplete',
  {
    skip: postgres18.missing ?? false,
  },
  async (t) => {
    const database = await postgres18.createDatabase()
    const service = await startTestService(t, { PURSER_DATABASE: database.url, PURSER_WORKERS: '1' })
    t.after(database.drop)
    const purchase = await preparePurchase(service)
    await evaluateMany(service, purchase, 700)
    await lengthenEvaluations(database.url)
    const headers = { authorization: `Bearer ${service.sandboxKey}` }
    const answer = await fetch(`${service.url}/v1/console/transactions.csv`, { headers })
    assert.equal(answer.headers.get('content-length'), null)
    const reader = answer.body?.getReader()
    const first = await reader?.read()
    assert.match(new TextDecoder().decode(first?.value), /^id,/)
    const proxy = await beginOverHttp10(service, '/v1/console/transactions.csv')
    const isReset = assert.rejects(once(proxy, 'end'), { code: 'ECONNRESET' })
    // Rows that were not read yet become unreadable: if everything had been read, the rest would still
    // arrive.
    await execute(database.url, 'alter table entries rename to entries_away')
    await assert.rejects(async () => {
      while (!(await reader?.read())?.done);
    }, TypeError)
    proxy.resume()
    await isReset
    await execute(database.url, 'alter table entries_away rename to entries')
  },
)

test('An account has a limited number of exports in progress, and an aborted one frees its slot', async (context) => {
  const before = await startTestService(context)
  const purchase = await preparePurchase(before)
  await evaluateMany(before, purchase, 400)
  await before.stop()
  await lengthenEvaluations(before.databasePath)
  const { url } = await startTestService(context, { PURSER_DATABASE: `sqlite:${before.databasePath}` })
  const purser = new Purser({ apiKey: before.sandboxKey, baseUrl: url, maxRetries: 0 })
  const cut = new AbortController()
  const begin = () => purser.console.transactions.exportCsv({}, { signal: cut.signal })
  for (let count = 0; count < maxExportsOfAccount; count++) await begin()
  await assert.rejects(begin(), { code: 'too_many_streams' })
  cut.abort()
  for (;;) {
    const again = await purser.console.transactions.exportCsv().catch((error: { code: string }) => error.code)
    if (again === 'too_many_streams') continue
    assert.ok(again instanceof ReadableStream)
    await again.cancel()
    break
  }
})

/** Begins to read an export over HTTP/1.0, where a response ends with its connection, as some proxies do. */
async function beginOverHttp10({ url, sandboxKey }: TestService, path: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write(`GET ${path} HTTP/1.0\r\nAuthorization: Bearer ${sandboxKey}\r\n\r\n`)
  const [begin] = (await once(socket, 'data')) as [Buffer]
  socket.pause()
  assert.match(begin.toString(), /^HTTP\/1\.1 200 /)
  return socket
}

const hostileCategories = [
  '=1+1',
  '@cmd',
  '-2',
  '+1',
  '\t=1',
  ' =1',
  'a "quoted", one\r\nof two lines',
  "'quoted",
]

async function evaluateMany(service: TestService, purchase: Purchase, count: number) {
  const atOnce = Array.from({ length: 50 }, (_, client) => client)
  await Promise.all(
    atOnce.map(async (client) => {
      for (let made = client; made < count; made += atOnce.length) {
        const amount = made % 3 === 0 ? '999.00' : '1.00'
        await evaluate(service, purchase, { category: 'data', amount })
      }
    }),
  )
}

async function evaluate(service: TestService, purchase: Purchase, fields: object): Promise<void> {
  const { status, text } = await service.call('POST', '/v1/policy/evaluate', {
    body: {
      agent_id: purchase.agentId,
      mandate_id: purchase.mandateId,
      merchant_domain: purchase.merchantDomain,
      amount: '1.00',
      resource_url: purchase.resourceUrl,
      ...fields,
    },
  })
  assert.ok([200, 402].includes(status), text)
}

async function exported(purser: Purser, query?: ExportTransactionsQuery): Promise<string> {
  return new Response(await purser.console.transactions.exportCsv(query)).text()
}

/** A line without the names, which the export has in addition to the ids. */
function withoutNames(record: Record<string, string>): Record<string, string> {
  const names = ['agent_name', 'mandate_purpose', 'seller_name']
  return Object.fromEntries(Object.entries(record).filter(([column]) => !names.includes(column)))
}

/** A record with its texts as stored, without the apostrophe that escapes a formula. */
function asTransaction(record: Record<string, string>): Transaction {
  const entries = Object.entries(record).map(([name, text]) => [name, valueOf(name, text)])
  return Object.fromEntries(entries) as Transaction
}

function valueOf(column: string, text: string): unknown {
  if (column === 'metadata') return text === '' ? {} : (JSON.parse(text) as unknown)
  if (text === '') return null
  return column === 'mandate_version' ? Number(text) : text.replace(/^'(?=\s*[=+\-@])/, '')
}

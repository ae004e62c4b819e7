import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'

import type { CallToolResult } from '@modelcontextprotocol/client'

import { change } from '../../../service/testing/purchases.ts'
import {
  createTenant,
  issueKey,
  preparePurchase,
  startTestService,
} from '../../../service/testing/service.ts'
import { startServer } from '../../client/testing/scripted-server.ts'
import { openBreakableProxy } from '../testing/breakable-proxy.ts'
import { connect, connectHere, ways, type Connection } from '../testing/connections.ts'
import { goods, hugeBytes } from '../testing/merchant.ts'
import { openShop, type Shop } from '../testing/shop.ts'
import { contextOfSuite } from '../testing/suite-context.ts'
import { tools } from './tools/call-tool.ts'

// Tests read results of every shape.
// oxlint-disable-next-line typescript/no-explicit-any
type Structured = any

const said = (result: CallToolResult): string =>
  result.content.map((block) => (block.type === 'text' ? block.text : '')).join('\n')
const structured = (result: CallToolResult): Structured => result.structuredContent

/** A failure is plain text only: it does not match the tool's output schema. */
function assertFailed(result: CallToolResult | undefined, code: string): void {
  assert.ok(result)
  assert.deepEqual([result.isError, result.structuredContent], [true, undefined])
  assert.match(said(result), new RegExp(`^Failed: .*\\(${code}\\)\nWhat to do: \\S`))
}

/** Neither models nor logs get the key or a proof. */
function assertNoSecrets(shop: Shop, connection: Connection, results: readonly CallToolResult[]): void {
  const seen = [...results.map((result) => JSON.stringify(result)), connection.log()]
  const secrets = shop.merchant.shown.flatMap(({ header, proof }) => [header, proof.signature])
  assert.ok(secrets.length > 0)
  for (const text of seen) {
    for (const secret of [shop.agentKey, ...secrets]) assert.ok(!text.includes(secret), text.slice(0, 500))
  }
}

const service = await startTestService({ after })

for (const way of ways) {
  const over = `over ${way.transport} with revision ${way.revision}`

  describe(`The command ${over}`, () => {
    const context = contextOfSuite()
    // Starting the command takes longer than these tests: they share it, and the one that deletes its key is the last.
    let shop: Shop
    let connection: Connection
    before(async () => {
      shop = await openShop(context, {}, service)
      connection = await connect(context, way, shop.environment)
    })

    test(`Every tool works ${over}`, async () => {
      const { call } = connection
      const results: CallToolResult[] = []
      const keep = async (result: Promise<CallToolResult>) => {
        results.push(await result)
        return await result
      }
      const at = (path: string) => shop.merchant.url + path

      const budget = await keep(call('get_budget'))
      assert.equal(budget.isError ?? false, false)
      assert.deepEqual(structured(budget).mandates[0], {
        mandate_id: shop.mandateId,
        purpose: 'Buy research data',
        status: 'active',
        currency: 'USDC',
        spendable_now: '20.00',
        held_total: '0.00',
        authorized_total: '0.00',
        spent_total: '0.00',
        max_spend_total: '20.00',
        max_spend_per_transaction: '5.00',
        allowed_sellers: ['localhost'],
        allowed_categories: [],
        category_check: 'advisory',
        allowed_resources: [],
        approval: null,
        limits: [],
        expires_at: '2099-01-01T00:00:00Z',
      })
      assert.match(said(budget), /20\.00 USDC can be spent now, at most 5\.00 per payment/)

      const check = await keep(call('check_payment', { resource_url: at('/report'), amount: '4.00' }))
      assert.equal(structured(check).outcome, 'would_be_allowed')
      const tooMuch = await keep(call('check_payment', { resource_url: at('/dear'), amount: '7.00' }))
      assert.equal(structured(tooMuch).reason_code, 'amount_exceeds_per_transaction_limit')
      assert.match(structured(tooMuch).remedy, /at most 5\.00 USDC/)

      const fetchArguments = { purchase_id: 'report', url: at('/report'), max_amount: '5.00' }
      const fetched = await keep(call('fetch_paid_resource', fetchArguments))
      assert.equal(structured(fetched).outcome, 'paid')
      assert.deepEqual(JSON.parse(structured(fetched).response.body), goods)
      assert.match(said(fetched), /^Paid 4\.00 USDC to localhost .* Transaction txn_\w+\.\n/)
      assert.ok(said(fetched).includes(goods.report))

      const replayed = await keep(call('fetch_paid_resource', fetchArguments))
      assert.deepEqual(structured(replayed), { ...structured(fetched), replayed: true })

      const ordered = await keep(
        call('pay', {
          purchase_id: 'order',
          resource_url: at('/order'),
          amount: '2.00',
          method: 'POST',
          body: '{"size":"large"}',
        }),
      )
      assert.deepEqual(JSON.parse(structured(ordered).response.body), { ordered: { size: 'large' } })

      const free = await keep(
        call('fetch_paid_resource', { purchase_id: 'free', url: at('/free'), max_amount: '1.00' }),
      )
      assert.deepEqual([structured(free).outcome, structured(free).payment], ['free', null])

      const denied = await keep(
        call('pay', { purchase_id: 'dear', resource_url: at('/dear'), amount: '7.00' }),
      )
      assert.equal(denied.isError ?? false, false)
      assert.equal(structured(denied).outcome, 'denied')
      assert.equal(structured(denied).reason_code, 'amount_exceeds_per_transaction_limit')
      assert.match(said(denied), /Denied; nothing was charged.*\n.*5\.00.*\nWhat to do: Choose something/s)

      const echo = await keep(
        call('fetch_paid_resource', { purchase_id: 'echo', url: at('/echo'), max_amount: '1.00' }),
      )
      assert.match(structured(echo).response.body, /\[withheld\].*\[withheld\]/s)

      const paid = await keep(call('list_payments', { status: 'paid' }))
      assert.deepEqual(
        structured(paid).payments.map(({ amount }: { amount: string }) => amount),
        ['1.00', '2.00', '4.00'],
      )
      const last = await keep(call('list_payments', { limit: 1 }))
      const older = await keep(call('list_payments', { limit: 1, cursor: structured(last).next_cursor }))
      assert.notEqual(
        structured(older).payments[0].transaction_id,
        structured(last).payments[0].transaction_id,
      )
      const refusals = await keep(call('list_payments', { status: 'denied' }))
      assert.match(structured(refusals).payments[0].reason_detail, /5\.00/)

      assert.deepEqual(await shop.spent(), { spent: '7.00', held: '0.00' })
      assertNoSecrets(shop, connection, results)
    })

    if (way === ways[0] || way === ways[3]) {
      test(`A response of 100 MiB is truncated ${over}, and the purchase is charged once`, async () => {
        const { call } = connection
        const spentBefore = Number((await shop.spent()).spent)
        const args = {
          purchase_id: 'huge',
          url: `${shop.merchant.url}/huge`,
          max_amount: '1.00',
          max_bytes: 20_000,
        }
        const huge = await call('fetch_paid_resource', args)
        assert.equal(structured(huge).outcome, 'paid')
        assert.equal(structured(huge).response.truncated, true)
        assert.equal(structured(huge).response.body.length, 20_000)
        assert.match(said(huge), /truncated after 20000 bytes/)
        // Buffered data was sent; the rest of the body was not read.
        assert.ok((await shop.merchant.bytesSent) < hugeBytes / 4)
        assert.equal(structured(await call('fetch_paid_resource', args)).replayed, true)
        const { spent, held } = await shop.spent()
        assert.deepEqual([Number(spent) - spentBefore, held], [1, '0.00'])
      })
    }

    test(`Failures are reported with a remedy ${over}`, async () => {
      const { call } = connection
      const spentBefore = Number((await shop.spent()).spent)
      const results: CallToolResult[] = []
      const buy = async (path: string, fields: Record<string, unknown> = {}) => {
        const url = new URL(path, shop.merchant.url).href
        const result = await call('fetch_paid_resource', {
          purchase_id: path,
          url,
          max_amount: '5.00',
          ...fields,
        })
        results.push(result)
        if (result.isError) return undefined
        assert.equal(typeof structured(result).remedy, 'string', said(result))
        assert.ok(said(result).includes(structured(result).remedy))
        return structured(result)
      }

      const unknown = await buy('/report', { mandate_id: 'mandate_unknown' })
      assert.deepEqual([unknown.outcome, unknown.reason_code], ['denied', 'mandate_not_found'])
      assert.equal((await buy('/dear')).reason_code, 'price_above_max_amount')
      assert.equal((await buy('/thief')).reason_code, 'payment_for_something_else')
      assert.equal((await buy('/fence')).reason_code, 'payment_for_something_else')
      assert.equal((await buy('https://elsewhere.example/')).reason_code, 'merchant_not_allowed')
      assert.equal((await buy('/unpriced')).reason_code, 'no_price_given')
      assert.equal((await buy('/refuses')).reason_code, 'merchant_refused_payment')
      assert.equal((await buy('/cut')).reason_code, 'answer_lost')
      const reused = await buy('/report', { purchase_id: '/cut' })
      assert.deepEqual([reused.outcome, reused.reason_code], ['denied', 'purchase_id_in_use'])

      const invalid = await call('pay', { purchase_id: 'x', resource_url: 'file:///etc/passwd', amount: '0' })
      assert.equal(invalid.isError, true)
      assert.match(said(invalid), /http or https|above zero/)
      const numeric = await call('pay', { purchase_id: 'x', resource_url: shop.merchant.url, amount: 1 })
      assert.equal(numeric.isError, true)
      assert.match(said(numeric), /must be text, such as "1\.00"/)

      const { body } = await shop.service.call('GET', '/accounts/api-keys')
      const { id } = body.find(({ agent_id }: { agent_id: string | null }) => agent_id === shop.agentId)
      await shop.service.call('DELETE', `/accounts/api-keys/${id}`)
      await buy('/report')
      assertFailed(results.at(-1), 'key_not_accepted')
      assert.match(connection.log(), /fetch_paid_resource failed: key_not_accepted/)
      assert.equal(Number((await shop.spent()).spent) - spentBefore, 1)
      assertNoSecrets(shop, connection, results)
    })
  })
}

for (const way of [ways[0], ways[3]]) {
  const over = `over ${way.transport}`

  test(`While the service is unreachable, every tool reports it ${over}, contacts no merchant, and recovers afterwards`, async (context) => {
    const shop = await openShop(context, {}, service)
    const toService = await openBreakableProxy(context, service.url)
    const { call } = await connect(context, way, { ...shop.environment, PURSER_URL: toService.url })
    const url = `${shop.merchant.url}/report`
    const calls = [
      ['get_budget', {}],
      ['check_payment', { resource_url: url, amount: '4.00' }],
      ['pay', { purchase_id: 'a', resource_url: url, amount: '4.00' }],
      ['fetch_paid_resource', { purchase_id: 'b', url, max_amount: '4.00' }],
      ['list_payments', {}],
    ] as const
    toService.break()
    for (const result of await Promise.all(calls.map(([tool, args]) => call(tool, args)))) {
      assertFailed(result, 'service_unavailable')
      assert.match(said(result), /^What to do: Wait \d+ seconds/m)
    }
    assert.deepEqual(shop.merchant.requests, [])
    toService.mend()
    for (const [tool, args] of calls) assert.equal((await call(tool, args)).isError ?? false, false)
  })
}

test('A service that asks for fewer requests is waited for, and a server of something else is named as such', async (context) => {
  const shop = await openShop(context, {}, service)
  let answer = { status: 429, body: '{"detail":"rate_limited"}' }
  const baseUrl = await startServer(context, (_request, response) => {
    response.writeHead(answer.status, { 'retry-after': '20' }).end(answer.body)
  })
  const { call } = await connectHere(context, { ...shop.wallet, url: baseUrl })
  const buy = () => call('pay', { purchase_id: 'a', resource_url: shop.merchant.url, amount: '1.00' })
  const limited = await buy()
  assertFailed(limited, 'service_unavailable')
  assert.match(said(limited), /^What to do: Wait 20 seconds\. Call again/m)
  for (const status of [200, 302, 403, 404]) {
    answer = { status, body: '<h1>Welcome</h1>' }
    const elsewhere = await buy()
    assertFailed(elsewhere, 'not_the_service')
    assert.match(said(elsewhere), /^What to do: .*PURSER_URL/m)
  }
  assert.deepEqual(shop.merchant.requests, [])
})

test('A body is paid for only with a POST, which sends it', async (context) => {
  const shop = await openShop(context, {}, service)
  const { call } = await connectHere(context, shop.wallet)
  const ordered = { purchase_id: 'a', resource_url: `${shop.merchant.url}/order`, amount: '2.00' }
  for (const extra of [{ body: '{}' }, { body: '{}', method: 'GET' }]) {
    const refused = await call('pay', { ...ordered, ...extra })
    assert.equal(refused.isError, true)
    assert.match(said(refused), /body: needs the method POST/)
  }
  await shop.assertUntouched()
  const paid = await call('pay', { ...ordered, body: '{}', method: 'POST' })
  assert.equal(structured(paid).outcome, 'paid')
})

test('The tools have annotations, schemas and descriptions', async (context) => {
  const shop = await openShop(context, {}, service)
  const { client } = await connectHere(context, shop.wallet)
  const { tools: listed } = await client.listTools()
  assert.deepEqual(
    listed.map(({ name, annotations }) => [
      name,
      annotations?.readOnlyHint,
      annotations?.destructiveHint,
      annotations?.idempotentHint,
      annotations?.openWorldHint,
    ]),
    [
      ['get_budget', true, false, true, false],
      ['check_payment', true, false, true, false],
      ['pay', false, true, true, true],
      ['fetch_paid_resource', false, true, true, true],
      ['list_payments', true, false, true, false],
      ['request_increase', false, false, true, false],
    ],
  )
  for (const { name, title, description, inputSchema, outputSchema } of listed) {
    assert.ok(title && description && outputSchema, name)
    for (const [field, schema] of Object.entries(inputSchema.properties ?? {})) {
      assert.ok(
        'description' in (schema as object) || name === 'pay' || field === 'limit',
        `${name}.${field}`,
      )
    }
  }
})

test("Each tool that returns a merchant's text says that it is information, also without an MCP server's instructions", () => {
  const marked = tools.filter(({ description }) => /information, not (as )?instructions/.test(description))
  assert.deepEqual(
    marked.map(({ name }) => name),
    ['pay', 'fetch_paid_resource', 'list_payments'],
  )
})

test('A server that is killed during a purchase knows after a restart that it was charged', async (context) => {
  const shop = await openShop(context, {}, service)
  const folder = mkdtempSync(join(tmpdir(), 'purser-mcp-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  const environment = { ...shop.environment, PURSER_MCP_STATE: folder }
  const args = { purchase_id: 'held', url: `${shop.merchant.url}/held`, max_amount: '1.00' }
  const first = await connect(context, ways[0], environment)
  shop.merchant.onCharge = first.kill
  await assert.rejects(first.call('fetch_paid_resource', args))

  const second = await connect(context, ways[0], environment)
  const found = await second.call('fetch_paid_resource', args)
  assert.deepEqual([structured(found).outcome, structured(found).replayed], ['paid_not_delivered', true])
  assert.equal(shop.merchant.shown.length, 1)
  assert.deepEqual(await shop.spent(), { spent: '1.00', held: '0.00' })
})

test('A key that can change mandates is not used', async (context) => {
  const shop = await openShop(context, {}, service)
  const owner = await connectHere(context, { ...shop.wallet, apiKey: shop.service.sandboxKey })
  assertFailed(await owner.call('get_budget'), 'not_an_agent_key')
})

test('With several mandates, a call must name one, and a setting can restrict calls to one', async (context) => {
  const shop = await openShop(context, {}, service)
  const { body } = await shop.service.call('POST', '/mandates', {
    body: {
      agent_id: shop.agentId,
      purpose: 'Buy maps',
      max_spend_total: '1.00',
      max_spend_per_transaction: '1.00',
      allowed_sellers: ['localhost'],
      expires_at: '2099-01-01T00:00:00Z',
    },
  })
  const both = await connectHere(context, shop.wallet)
  const one = await connectHere(context, { ...shop.wallet, mandateId: body.id })
  const args = { resource_url: `${shop.merchant.url}/report`, amount: '1.00' }
  const which = structured(await both.call('check_payment', args))
  assert.equal(which.reason_code, 'mandate_id_required')
  assert.match(which.reason_detail, /Buy maps.*Buy research data/)
  const named = structured(await both.call('check_payment', { ...args, mandate_id: body.id }))
  assert.deepEqual([named.outcome, named.mandate_id], ['would_be_allowed', body.id])
  assert.equal(structured(await one.call('check_payment', args)).mandate_id, body.id)
  assert.equal(structured(await one.call('get_budget')).mandates.length, 1)
  const other = structured(await one.call('check_payment', { ...args, mandate_id: shop.mandateId }))
  assert.equal(other.reason_code, 'mandate_not_found')

  const none = await connectHere(context, { ...shop.wallet, mandateId: 'mandate_unknown' })
  const nothing = structured(await none.call('check_payment', args))
  assert.equal(nothing.reason_code, 'mandate_not_found')
  assert.match(nothing.remedy, /the person who runs this server to check PURSER_MANDATE_ID/)
})

test('A mandate without allowed sellers can spend nothing, and calls need not name another', async (context) => {
  const shop = await openShop(context, {}, service)
  const { body } = await shop.service.call('POST', '/mandates', {
    body: {
      agent_id: shop.agentId,
      purpose: 'Not set up yet',
      max_spend_total: '1.00',
      max_spend_per_transaction: '1.00',
      expires_at: '2099-01-01T00:00:00Z',
    },
  })
  const { call } = await connectHere(context, shop.wallet)
  const budget = await call('get_budget')
  const shown = structured(budget).mandates.find((one: { mandate_id: string }) => one.mandate_id === body.id)
  assert.deepEqual([shown.spendable_now, shown.allowed_sellers], ['0.00', []])
  assert.match(said(budget), /Not set up yet\. Nothing can be spent now; .* Sellers: none; /)
  const asked = await call('check_payment', { resource_url: `${shop.merchant.url}/report`, amount: '1.00' })
  assert.equal(structured(asked).mandate_id, shop.mandateId)
})

test('get_budget shows limits over time and shared budgets, with what counts and when it resets', async (context) => {
  const budget = await service.call('POST', '/v1/budgets', {
    body: { name: 'Team', limits: [{ window: 'lifetime', max_count: 7 }] },
  })
  assert.equal(budget.status, 201)
  const window = { calendar: 'day', time_zone: 'UTC' }
  const limits = [{ window, max_amount: '9.00' }]
  const shop = await openShop(context, { limits, budget_id: budget.body.id }, service)
  const { call } = await connectHere(context, shop.wallet)
  const bought = { purchase_id: 'report', url: `${shop.merchant.url}/report`, max_amount: '5.00' }
  assert.equal(structured(await call('fetch_paid_resource', bought)).outcome, 'paid')
  const shown = await call('get_budget')
  const [day, shared] = structured(shown).mandates[0].limits
  assert.deepEqual(
    { ...day, limit_id: null, resets_at: null },
    {
      limit_id: null,
      scope: 'mandate',
      committed: '4.00',
      max_amount: '9.00',
      count: 1,
      max_count: null,
      resets_at: null,
    },
  )
  assert.match(day.resets_at, /T00:00:00/)
  assert.deepEqual([shared.scope, shared.count, shared.max_count, shared.resets_at], ['budget', 1, 7, null])
  assert.match(
    said(shown),
    /limit limit_\w+: 4\.00 of 9\.00 USDC, resets at .*; shared limit limit_\w+: 1 of 7 payments; /,
  )
})

test("Another tenant's mandate is reported as not found", async (context) => {
  const shop = await openShop(context, {}, service)
  const tenant = await createTenant(service, 'idp_other')
  const { mandateId } = await preparePurchase(service, {}, tenant.sandboxKey)
  const { call } = await connectHere(context, shop.wallet)
  const args = { resource_url: `${shop.merchant.url}/report`, amount: '1.00' }
  const theirs = structured(await call('check_payment', { ...args, mandate_id: mandateId }))
  const unknown = structured(await call('check_payment', { ...args, mandate_id: 'mandate_unknown' }))
  assert.deepEqual(
    { ...theirs, reason_detail: theirs.reason_detail.replace(mandateId, 'mandate_unknown') },
    unknown,
  )
})

test('A revoked agent is told to stop', async (context) => {
  const shop = await openShop(context, {}, service)
  const { call } = await connectHere(context, shop.wallet)
  await change(service, `/agents/${shop.agentId}/revoke`)
  const denied = structured(
    await call('pay', { purchase_id: 'a', resource_url: `${shop.merchant.url}/report`, amount: '4.00' }),
  )
  assert.match(denied.remedy, /^Stop/)
  const check = { resource_url: `${shop.merchant.url}/report`, amount: '4.00' }
  assert.equal(structured(await call('check_payment', check)).spendable_now, '0.00')
  const budget = await call('get_budget')
  const [mandate] = structured(budget).mandates
  assert.deepEqual([mandate.status, mandate.spendable_now], ['agent_revoked', '0.00'])
  assert.match(
    said(budget),
    / is revoked: nothing can be spent\. Stop buying: .* Tell the person you work for\.\n/,
  )
  assert.match(said(budget), /\(agent_revoked\): .*Nothing can be spent now; 0\.00 of 20\.00 spent/)
  assert.doesNotMatch(said(budget), /active|USDC can be spent/)
  assert.equal((await shop.spent()).spent, '0.00')
})

test('An inactive mandate has nothing to spend', async (context) => {
  const shop = await openShop(context, {}, service)
  const { call } = await connectHere(context, shop.wallet)
  await change(service, `/mandates/${shop.mandateId}/pause`)
  const budget = await call('get_budget')
  const [mandate] = structured(budget).mandates
  assert.deepEqual([mandate.status, mandate.spendable_now], ['paused', '0.00'])
  assert.match(said(budget), /\(paused\): .*Nothing can be spent now/)
})

test('An authorized amount cannot be spent', async (context) => {
  const shop = await openShop(context, { max_spend_per_transaction: '20.00' }, service)
  const { call } = await connectHere(context, shop.wallet)
  const resource = `${shop.merchant.url}/report`
  const request = {
    agent_id: shop.agentId,
    mandate_id: shop.mandateId,
    amount: '18.00',
    resource_url: resource,
  }
  const { proof } = (await service.call('POST', '/v1/payments/proof', { body: request })).body
  const authorization = { proof, merchant_domain: 'localhost', expected_amount: '18.00' }
  const { status } = await service.call('POST', '/v1/payments/authorize', { body: authorization })
  assert.equal(status, 200)

  const [mandate] = structured(await call('get_budget')).mandates
  assert.deepEqual(
    [mandate.spendable_now, mandate.held_total, mandate.authorized_total],
    ['2.00', '0.00', '18.00'],
  )
  const denied = structured(
    await call('fetch_paid_resource', { purchase_id: 'a', url: resource, max_amount: '4.00' }),
  )
  assert.equal(denied.reason_code, 'total_budget_exceeded')
  assert.match(denied.remedy, /^2\.00 USDC can be spent now; 18\.00 is authorized/)
})

test('A production key is told that there are no production payments, and nothing is held', async (context) => {
  const shop = await openShop(context, {}, service)
  const { agentId, mandateId } = await preparePurchase(
    service,
    { allowed_sellers: ['localhost'] },
    service.productionKey,
  )
  const apiKey = await issueKey(service, { role: 'agent', environment: 'production', agent_id: agentId })
  const { call } = await connectHere(context, { ...shop.wallet, apiKey })
  const args = { purchase_id: 'a', url: `${shop.merchant.url}/report`, max_amount: '4.00' }
  const failed = await call('fetch_paid_resource', args)
  assertFailed(failed, 'production_payments_not_supported')
  const { body } = await service.call('GET', `/mandates/${mandateId}`, { key: service.productionKey })
  assert.deepEqual([body.spent_total, body.held_total], ['0.00', '0.00'])
  assert.equal(shop.merchant.shown.length, 0)
})

import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import type { CallToolResult, ElicitResult } from '@modelcontextprotocol/client'

import { shareTestService } from '../../../service/testing/shared-service.ts'
import { connect, connectHere, ways, type Connection, type Person } from '../testing/connections.ts'
import { openShop, type Shop } from '../testing/shop.ts'
import { contextOfSuite } from '../testing/suite-context.ts'
import { createMcpServer } from './mcp-server.ts'
import { openWallet } from './wallet.ts'

const service = await shareTestService()

const untouched = { spent: '0.00', held: '0.00' }

function reasonOf(result: CallToolResult) {
  const { outcome, reason_code: code, reason_detail: detail, remedy } = result.structuredContent as Texts
  return { outcome, code, detail, remedy }
}
type Texts = Record<'outcome' | 'reason_code' | 'reason_detail' | 'remedy', string>

/** A person who always gives the same answer and records the questions. */
function personWho(answer: () => ElicitResult | Promise<ElicitResult>) {
  const asked: { message: string; properties: unknown }[] = []
  const person: Person = {
    capability: { form: {} },
    answer: ({ message, requestedSchema }) => {
      asked.push({ message, properties: requestedSchema.properties })
      return answer()
    },
  }
  return { asked, person }
}

const approve = (): ElicitResult => ({ action: 'accept', content: { approve: true } })
const never = () => new Promise<never>(() => {})

const report = (shop: Shop, id = 'report') => ({
  purchase_id: id,
  resource_url: `${shop.merchant.url}/report`,
  amount: '4.00',
})

const asking = { PURSER_MCP_ASK_ABOVE: '3.99' }

for (const way of ways) {
  const over = `over ${way.transport} with revision ${way.revision}`
  const canAsk = way.transport === 'stdio' || way.revision === '2026'

  if (canAsk) {
    describe(`With a person ${over}`, () => {
      const context = contextOfSuite()
      // Starting the command takes longer than these tests: they share it, and the one that pays is the last.
      let shop: Shop
      let connection: Connection
      let current: ReturnType<typeof personWho>['person']
      before(async () => {
        shop = await openShop(context, {}, service)
        const person: Person = { capability: { form: {} }, answer: (form) => current.answer(form) }
        connection = await connect(context, way, { ...shop.environment, ...asking }, person)
      })

      test('Declining or closing the question pays and records nothing', async () => {
        const { call } = connection
        const answers: ElicitResult[] = [{ action: 'decline' }, { action: 'cancel' }]
        current = personWho(() => answers.shift() ?? assert.fail('asked twice')).person
        const declined = reasonOf(await call('pay', report(shop)))
        assert.deepEqual([declined.outcome, declined.code], ['denied', 'approval_declined'])
        assert.equal(declined.detail, 'The person who was asked did not approve 4.00 USDC to localhost.')
        const dismissed = reasonOf(await call('pay', report(shop)))
        assert.deepEqual([dismissed.outcome, dismissed.code], ['denied', 'approval_dismissed'])
        await shop.assertUntouched()
      })

      test('Nothing is held while the question is open', async () => {
        const begun = Promise.withResolvers<void>()
        const answered = Promise.withResolvers<never>()
        current = personWho(() => {
          begun.resolve()
          return answered.promise
        }).person
        const giveUp = new AbortController()
        const calling = connection.client.callTool(
          { name: 'pay', arguments: report(shop, 'given up') },
          { signal: giveUp.signal },
        )
        await begun.promise
        assert.deepEqual(await shop.spent(), untouched)
        giveUp.abort()
        answered.reject(new Error('the window was closed'))
        await assert.rejects(calling)
        await shop.assertUntouched()
      })

      test('Above the amount, a person is asked before the payment is made once', async () => {
        const { call } = connection
        const { asked, person } = personWho(approve)
        current = person
        const result = await call('pay', report(shop))
        assert.equal(reasonOf(result).outcome, 'paid')
        assert.deepEqual(asked, [
          {
            message: [
              'An agent wants to pay 4.00 USDC.',
              'To: "localhost"',
              `For: GET "${shop.merchant.url}/report"`,
              'Purchase id: "report"',
              'Mandate: "Buy research data"',
              'Budget left: 20.00 USDC; after this payment: 16.00 USDC',
            ].join('\n'),
            properties: {
              approve: {
                type: 'boolean',
                title: 'Pay 4.00 USDC',
                description: 'Nothing is paid unless you say yes.',
              },
            },
          },
        ])
        assert.equal(JSON.stringify(await call('pay', report(shop))).includes('"replayed":true'), true)
        assert.equal(asked.length, 1)
        assert.deepEqual(await shop.spent(), { spent: '4.00', held: '0.00' })
      })
    })
  }

  test(`A client that cannot ask pays only up to the amount ${over}`, async (context) => {
    const shop = await openShop(context, {}, service)
    const { asked, person } = personWho(approve)
    // If the server cannot reach the client, the client's capabilities do not matter.
    const unreachable = canAsk ? undefined : person
    const { call } = await connect(context, way, { ...shop.environment, ...asking }, unreachable)
    const refused = reasonOf(await call('pay', report(shop)))
    assert.deepEqual([refused.outcome, refused.code], ['denied', 'approval_not_possible'])
    assert.equal(
      refused.detail,
      'A person must approve payments above 3.99 USDC, and this MCP client cannot show the question about 4.00 USDC to localhost.',
    )
    assert.match(refused.remedy, /elicitation \(form mode; .*\), or a higher PURSER_MCP_ASK_ABOVE\.$/)
    await shop.assertUntouched()
    const order = { purchase_id: 'o', resource_url: `${shop.merchant.url}/order`, amount: '2.00' }
    const paid = reasonOf(await call('pay', { ...order, method: 'POST', body: '{}' }))
    assert.equal(paid.outcome, 'paid')
    assert.deepEqual(asked, [])
  })
}

/** One call in this process, and its result. */
async function payWith(
  shop: Shop,
  context: Parameters<typeof connectHere>[0],
  person: Person,
  askAbove = '0',
) {
  const { call } = await connectHere(context, shop.wallet, { askAbove, askTimeoutMs: 50 }, person)
  return reasonOf(await call('pay', report(shop)))
}

test('Only a plain yes approves a payment', async (context) => {
  const shop = await openShop(context, {}, service)
  const noes: ElicitResult[] = [
    { action: 'accept' },
    { action: 'accept', content: {} },
    { action: 'accept', content: { approve: false } },
    { action: 'accept', content: { approve: 'true' } },
    { action: 'decline', content: { approve: true } },
  ]
  for (const no of noes) {
    assert.equal((await payWith(shop, context, personWho(() => no).person)).code, 'approval_declined')
  }
  await shop.assertUntouched()
})

test('An unanswered question, or an error in the client, refuses the payment', async (context) => {
  const shop = await openShop(context, {}, service)
  for (const answer of [never, () => Promise.reject(new Error('no window'))]) {
    const refused = await payWith(shop, context, personWho(answer).person)
    assert.deepEqual([refused.outcome, refused.code], ['denied', 'approval_not_answered'])
  }
  await shop.assertUntouched()
})

test('A client that supports forms is asked, with or without a named mode; a client that supports only URLs is not', async (context) => {
  const shop = await openShop(context, {}, service)
  const { asked, person } = personWho(() => ({ action: 'decline' }))
  const codes = []
  for (const capability of [{}, { form: {} }, { form: {}, url: {} }, { url: {} }, undefined]) {
    codes.push((await payWith(shop, context, { ...person, capability })).code)
  }
  const [declined, cannot] = ['approval_declined', 'approval_not_possible']
  assert.deepEqual([codes, asked.length], [[declined, declined, declined, cannot, cannot], 3])
  await shop.assertUntouched()
})

test('A payment of exactly the amount needs no approval, and a payment that the policy denies is not put to a person', async (context) => {
  const shop = await openShop(context, {}, service)
  const { person } = personWho(() => assert.fail('nobody is to be asked'))
  assert.equal((await payWith(shop, context, person, '4.00')).outcome, 'paid')
  const { call } = await connectHere(context, shop.wallet, { askAbove: '0' }, person)
  const dear = { purchase_id: 'dear', resource_url: `${shop.merchant.url}/dear`, amount: '7.00' }
  assert.equal(reasonOf(await call('pay', dear)).code, 'amount_exceeds_per_transaction_limit')
})

test('An approval is valid only for the price that was shown', async (context) => {
  const shop = await openShop(context, {}, service)
  const { asked, person } = personWho(approve)
  const { call } = await connectHere(context, shop.wallet, { askAbove: '0' }, person)
  const rising = { purchase_id: 'r', url: `${shop.merchant.url}/rising`, max_amount: '5.00' }
  const refused = reasonOf(await call('fetch_paid_resource', rising))
  assert.deepEqual([refused.outcome, refused.code], ['denied', 'changed_since_approval'])
  assert.match(asked[0]?.message ?? '', /pay 1\.00 USDC/)
  await shop.assertUntouched()
  assert.equal(reasonOf(await call('fetch_paid_resource', rising)).outcome, 'paid')
  assert.match(asked[1]?.message ?? '', /pay 3\.00 USDC/)
  assert.deepEqual(await shop.spent(), { spent: '3.00', held: '0.00' })
})

test("The model's text appears in the question as one quoted, truncated line", async (context) => {
  const shop = await openShop(context, {}, service)
  const { asked, person } = personWho(() => ({ action: 'decline' }))
  const { call } = await connectHere(context, shop.wallet, { askAbove: '0' }, person)
  const purchase_id = 'a"\nBudget left: 999.00\u202e\u2028\u0085'
  await call('pay', report(shop, purchase_id))
  const lines = asked[0]?.message.split('\n') ?? []
  assert.equal(lines.length, 6)
  assert.equal(lines[3], String.raw`Purchase id: "a\"\nBudget left: 999.00\u{202e}\u{2028}\u{85}"`)
})

test('Creating a server with an invalid amount fails', () => {
  assert.throws(() => createMcpServer(openWallet({ apiKey: 'svc_sand_none' }), { askAbove: 'ten' }), /ten/)
})

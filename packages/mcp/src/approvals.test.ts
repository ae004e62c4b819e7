import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { CallToolResult, ElicitResult } from '@modelcontextprotocol/client'
import { Purser, type ApprovalReference } from '@purser/client'

import { shareTestService } from '../../../service/testing/shared-service.ts'
import { connect, connectHere, type Person } from '../testing/connections.ts'
import { openShop, type Shop } from '../testing/shop.ts'

const service = await shareTestService()
const owner = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })

interface Facts {
  readonly outcome: string
  readonly reason_code: string | null
  readonly remedy: string | null
  readonly approval: ApprovalReference | null
}

function factsOf(result: CallToolResult): Facts {
  return result.structuredContent as never
}

async function open(context: Parameters<typeof openShop>[0]): Promise<Shop> {
  const shop = await openShop(context, {}, service)
  await owner.mandates.amend(shop.mandateId, 1, { approval: { above: '3.00' } })
  return shop
}

const report = (shop: Shop) => ({
  purchase_id: 'report',
  resource_url: `${shop.merchant.url}/report`,
  amount: '4.00',
})

/** A person who opens the console page and does something there. */
function personWho(act: (approvalId: string) => Promise<unknown>, answer: ElicitResult) {
  const opened: { readonly url: string; readonly message: string }[] = []
  const person: Person = {
    capability: { url: {} },
    answer: async (params) => {
      const { url, message } = params as unknown as { url: string; message: string }
      opened.push({ url, message })
      await act(url.slice(url.lastIndexOf('/') + 1))
      return answer
    },
  }
  return { opened, person }
}

test('Without elicitation, the model is told who can approve and where, and pays once it is approved', async (context) => {
  const shop = await open(context)
  const { call } = await connectHere(context, shop.wallet)
  const check = factsOf(
    await call('check_payment', { resource_url: `${shop.merchant.url}/report`, amount: '4.00' }),
  )
  assert.equal(check.outcome, 'would_need_approval')
  const denied = factsOf(await call('pay', report(shop)))
  assert.deepEqual([denied.outcome, denied.reason_code], ['denied', 'approval_required'])
  const { approval } = denied
  assert(approval)
  assert.equal(approval.status, 'pending')
  assert.match(
    denied.remedy ?? '',
    /an owner or an approver must approve this at http:\S+\/console\/approvals\/approval_/,
  )
  const budget = await call('get_budget')
  const { mandates, pending_approvals: pending } = budget.structuredContent as never as {
    readonly mandates: { readonly approval: unknown }[]
    readonly pending_approvals: { readonly approval_id: string }[]
  }
  assert.deepEqual(mandates[0]?.approval, { above: '3.00', first_purchase_at_seller: false, required: 1 })
  assert.deepEqual(
    pending.map(({ approval_id }) => approval_id),
    [approval.id],
  )
  await owner.approvals.approve(approval.id)
  assert.equal(factsOf(await call('pay', report(shop))).outcome, 'paid')
  assert.deepEqual(await shop.spent(), { spent: '4.00', held: '0.00' })
})

for (const revision of ['2025', '2026'] as const) {
  test(`A person is sent to the console, and the payment continues once it is approved (revision ${revision})`, async (context) => {
    const shop = await open(context)
    const { opened, person } = personWho((id) => owner.approvals.approve(id), { action: 'accept' })
    const { call } = await connect(context, { transport: 'stdio', revision }, shop.environment, person)
    assert.equal(factsOf(await call('pay', report(shop))).outcome, 'paid')
    assert.equal(opened.length, 1)
    assert.match(opened[0]?.url ?? '', /\/console\/approvals\/approval_/)
    assert.equal(
      opened[0]?.message,
      'A payment of 4.00 USDC to localhost waits for an approval in the Purser console. Open it to approve or deny.',
    )
    assert.deepEqual(await shop.spent(), { spent: '4.00', held: '0.00' })
  })
}

test('A payment that needs both a form and the console is made once both are approved', async (context) => {
  const shop = await open(context)
  const { opened, person } = personWho((id) => owner.approvals.approve(id), { action: 'accept' })
  const both: Person = {
    capability: { form: {}, url: {} },
    answer: (params) =>
      'url' in params ? person.answer(params) : { action: 'accept', content: { approve: true } },
  }
  const environment = { ...shop.environment, PURSER_MCP_ASK_ABOVE: '3.99' }
  const { call } = await connect(context, { transport: 'stdio', revision: '2025' }, environment, both)
  assert.equal(factsOf(await call('pay', report(shop))).outcome, 'paid')
  assert.equal(opened.length, 1)
  assert.deepEqual(await shop.spent(), { spent: '4.00', held: '0.00' })
})

test('Nothing is paid if the person denies or does not open the page', async (context) => {
  const shop = await open(context)
  const denying = personWho((id) => owner.approvals.deny(id), { action: 'accept' })
  const first = await connectHere(context, shop.wallet, {}, denying.person)
  const denied = factsOf(await first.call('pay', report(shop)))
  assert.deepEqual([denied.outcome, denied.approval?.status], ['denied', 'denied'])
  assert.match(denied.remedy ?? '', /^Do not retry/)
  const other = await open(context)
  const declining = personWho(async () => undefined, { action: 'decline' })
  const second = await connectHere(context, other.wallet, {}, declining.person)
  assert.equal(factsOf(await second.call('pay', report(other))).approval?.status, 'pending')
  assert.deepEqual(await other.spent(), { spent: '0.00', held: '0.00' })
})

interface Asked {
  readonly outcome: string
  readonly reason_code: string | null
  readonly remedy: string | null
  readonly approval_id: string | null
}

test('After a refusal by a limit, the model asks for a larger max of it, and pays once the owner approves', async (context) => {
  const window = { calendar: 'day', time_zone: 'UTC' } as const
  const limits = [
    { window, max_amount: '5.00' },
    { window: 'lifetime' as const, max_count: 9 },
  ]
  const shop = await openShop(context, { limits }, service)
  const { call } = await connectHere(context, shop.wallet)
  assert.equal(factsOf(await call('pay', report(shop))).outcome, 'paid')
  const another = { ...report(shop), purchase_id: 'another' }
  const denied = factsOf(await call('pay', another))
  assert.deepEqual([denied.outcome, denied.reason_code], ['denied', 'velocity_limit_exceeded'])
  assert.match(denied.remedy ?? '', /get_budget.*request_increase/)
  const { mandates } = (await call('get_budget')).structuredContent as never as {
    readonly mandates: { readonly limits: { readonly limit_id: string }[] }[]
  }
  const ids = mandates[0]?.limits.map(({ limit_id }) => limit_id) ?? []
  const ask = async (limit_id: string, max_amount: string) => {
    const asked = { limits: [{ limit_id, max_amount }], reason: 'One more report today' }
    return (await call('request_increase', asked)).structuredContent as never as Asked
  }
  const less = await ask(ids[0] ?? '', '5.00')
  assert.deepEqual([less.outcome, less.reason_code], ['not_requested', 'nothing_to_increase'])
  const more = await ask(ids[0] ?? '', '8.00')
  assert.equal(more.outcome, 'requested', JSON.stringify(more))
  assert.equal(factsOf(await call('pay', another)).outcome, 'denied')
  await owner.approvals.approve(more.approval_id ?? '')
  const { limits: raised } = await owner.mandates.get(shop.mandateId)
  assert.deepEqual(
    raised.map(({ id, max_amount, max_count }) => [id, max_amount, max_count]),
    [
      [ids[0], '8.00', null],
      [ids[1], null, 9],
    ],
  )
  assert.equal(factsOf(await call('pay', another)).outcome, 'paid')
})

test('After a refusal by a shared budget, the model is told that only its owner can raise it', async (context) => {
  const team = await owner.budgets.create({ name: 'Team', limits: [{ window: 'lifetime', max_count: 1 }] })
  const shop = await openShop(context, { budget_id: team.id }, service)
  const { call } = await connectHere(context, shop.wallet)
  assert.equal(factsOf(await call('pay', report(shop))).outcome, 'paid')
  const denied = factsOf(await call('pay', { ...report(shop), purchase_id: 'another' }))
  assert.deepEqual([denied.outcome, denied.reason_code], ['denied', 'shared_budget_exceeded'])
  assert.match(denied.remedy ?? '', /only the owner of the shared budget .* request_increase cannot/)
  const limits = [{ limit_id: team.limits[0]?.id ?? '', max_count: 2 }]
  const asked = (await call('request_increase', { limits, reason: 'One more' }))
    .structuredContent as never as Asked
  assert.deepEqual([asked.outcome, asked.reason_code], ['not_requested', 'limit_not_of_mandate'])
  assert.deepEqual(await owner.approvals.list({ mandate_id: shop.mandateId }).toArray({ limit: 1 }), [])
})

test('request_increase asks the owner, changes nothing by itself, and is refused for what is already allowed', async (context) => {
  const shop = await open(context)
  const { call } = await connectHere(context, shop.wallet)
  const ask = async (max_spend_total: string) =>
    (await call('request_increase', { max_spend_total, reason: 'Reports got dearer' }))
      .structuredContent as never as {
      readonly outcome: string
      readonly reason_code: string | null
      readonly approval_id: string | null
      readonly url: string | null
    }
  const less = await ask('1.00')
  assert.deepEqual([less.outcome, less.reason_code], ['not_requested', 'nothing_to_increase'])
  const more = await ask('500.00')
  assert.equal(more.outcome, 'requested')
  assert.equal((await ask('500.00')).approval_id, more.approval_id)
  const before = await owner.mandates.get(shop.mandateId)
  assert.notEqual(before.max_spend_total, '500.00')
  await owner.approvals.approve(more.approval_id ?? '')
  assert.equal((await owner.mandates.get(shop.mandateId)).max_spend_total, '500.00')
})

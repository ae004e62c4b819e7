import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import type { CallToolResult, ElicitResult } from '@modelcontextprotocol/client'
import { Purser, type ApprovalReference } from '@purser/client'

import { startTestService } from '../../../service/testing/service.ts'
import { connect, connectHere, type Person } from '../testing/connections.ts'
import { openShop, type Shop } from '../testing/shop.ts'

const service = await startTestService({ after })
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

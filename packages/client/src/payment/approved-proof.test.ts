import assert from 'node:assert/strict'
import { test } from 'node:test'

import { shareTestService } from '../../../../service/testing/shared-service.ts'
import { openMarket } from '../../testing/market.ts'
import { createPurchaseMemory, Purser, type ApprovalRequired } from '../client.ts'

const service = await shareTestService()
const owner = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })

async function open(context: { readonly after: (stop: () => Promise<void>) => void }) {
  const market = await openMarket(context, service)
  await owner.mandates.amend(market.mandateId, 1, { approval: { above: '3.00' } })
  return market
}

test('A payment that needs approval waits as long as the caller wants, and is paid once approved', async (context) => {
  const { merchant, pay, budget, decisions } = await open(context)
  const asked: ApprovalRequired[] = []
  const pauses: number[] = []
  const answer = await pay({
    onApprovalRequired: (required) => {
      asked.push(required)
      return { waitMs: 60_000 }
    },
    sleep: async (milliseconds) => {
      assert.deepEqual(await budget(), { spent: '0.00', held: '0.00' }, 'nothing is held meanwhile')
      pauses.push(milliseconds)
      if (pauses.length === 3) await owner.approvals.approve(asked[0]?.approval.id ?? '', { note: 'fine' })
    },
  })(merchant.url)
  assert.equal(answer.status, 200)
  assert.deepEqual(pauses, [500, 1_000, 2_000])
  assert.equal(asked.length, 1)
  assert.equal(asked[0]?.challenge.amount, '4.00')
  assert.equal(asked[0]?.approval.url, `${service.url}/console/approvals/${asked[0]?.approval.id}`)
  assert.equal(decisions.at(-1)?.outcome, 'approved')
  assert.equal((await owner.approvals.get(asked[0]?.approval.id ?? '')).status, 'consumed')
  assert.deepEqual(await budget(), { spent: '4.00', held: '0.00' })
})

test('Without waiting, the 402 says what to wait for, and a later call uses the approval', async (context) => {
  const { merchant, pay, budget, decisions } = await open(context)
  assert.equal((await pay()(merchant.url)).status, 402)
  const [decision] = decisions
  assert(decision?.outcome === 'denied' && decision.approval)
  assert.deepEqual([decision.reason_code, decision.approval.status], ['approval_required', 'pending'])
  assert.deepEqual(
    merchant.visits.map(({ nonce }) => nonce),
    [undefined],
  )
  await owner.approvals.approve(decision.approval.id)
  assert.equal((await pay()(merchant.url)).status, 200)
  assert.deepEqual(await budget(), { spent: '4.00', held: '0.00' })
})

const onApprovalRequired = () => ({ waitMs: 12_000 })

test('The wait is bounded, and ends when a person denies', async (context) => {
  const { merchant, pay, decisions } = await open(context)
  const pauses: number[] = []
  const sleep = async (milliseconds: number) => void pauses.push(milliseconds)
  assert.equal((await pay({ onApprovalRequired, sleep })(merchant.url)).status, 402)
  assert.deepEqual(pauses, [500, 1_000, 2_000, 4_000, 4_500])
  const [first] = decisions
  assert(first?.outcome === 'denied')
  const deny = async () => void (await owner.approvals.deny(first.approval?.id ?? ''))
  const denied = await pay({ onApprovalRequired, sleep: deny })(merchant.url)
  assert.equal(denied.status, 402)
  const last = decisions.at(-1)
  assert(last?.outcome === 'denied')
  assert.equal(last.approval?.status, 'denied')
  assert.match(last.reason_detail, /A person has denied it\.$/)
  assert.equal(last.approval?.id, first.approval?.id, 'nothing else is asked for')
})

test('An abort ends the wait, and nothing was paid', async (context) => {
  const { merchant, pay, budget } = await open(context)
  const controller = new AbortController()
  const waiting = pay({
    onApprovalRequired: () => {
      controller.abort(new Error('enough'))
      return { waitMs: 60_000 }
    },
    sleep: async (_, signal) => signal?.throwIfAborted(),
  })(merchant.url, { signal: controller.signal })
  await assert.rejects(waiting, /enough/)
  assert.deepEqual(await budget(), { spent: '0.00', held: '0.00' })
})

test('A purchase with an id that was cut short after its approval is paid once', async (context) => {
  const { merchant, pay, client, budget } = await open(context)
  const purchases = createPurchaseMemory()
  const buy = (options: Parameters<typeof pay>[0]) =>
    pay({ purchases, ...options })(merchant.url, { purchaseId: 'report' })
  const seen: string[] = []
  await buy({ onApprovalRequired: ({ approval }) => void seen.push(approval.id) })
  await owner.approvals.approve(seen[0] ?? '')
  // The reply with the proof is lost: it was issued, and the approval is used.
  const losing = { ...client.payments, requestProof: losingReplies(client) }
  await assert.rejects(buy({ client: { policy: client.policy, payments: losing } }), /lost/)
  assert.equal((await buy({})).status, 200)
  assert.equal((await buy({})).status, 200)
  assert.deepEqual(await budget(), { spent: '4.00', held: '0.00' })
})

function losingReplies({ payments }: Purser): Purser['payments']['requestProof'] {
  return async (body, options) => {
    const decision = await payments.requestProof(body, options)
    if (decision.decision === 'approved') throw new Error('lost')
    return decision
  }
}

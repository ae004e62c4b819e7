import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { issueKey } from '../../../../service/testing/service.ts'
import { shareTestService } from '../../../../service/testing/shared-service.ts'
import { openMarket } from '../../testing/market.ts'
import { merchantDomain } from '../../testing/merchant.ts'
import {
  createPurchaseMemory,
  paymentResultOf,
  PaymentUncertainError,
  type Proof,
  type PurchaseStore,
} from '../client.ts'
import { openPurchaseFiles } from '../purchase-files.ts'

const service = await shareTestService()
const goods = '{"data":[1,2,3]}'
const purchaseId = 'order-1'

type Context = { readonly after: (clean: () => void) => void }

/** Two processes that share a store. */
const sharedStores: Readonly<Record<string, (context: Context) => Promise<PurchaseStore[]>>> = {
  'in memory': () => {
    const store = createPurchaseMemory()
    return Promise.resolve([store, store])
  },
  'in a folder': async (context) => {
    const folder = mkdtempSync(join(tmpdir(), 'purser-purchases-'))
    context.after(() => rmSync(folder, { recursive: true, force: true }))
    return [await openPurchaseFiles(folder), await openPurchaseFiles(folder)]
  },
}

/** What a merchant has done with a proof, and how it answers further copies of it. */
const shownAgain: readonly {
  readonly fate: string
  readonly how: string
  readonly settle: (proof: Proof, merchantKey: string) => Promise<void>
  readonly refuse: (proof: Proof, response: ServerResponse) => void
  readonly spent: string
}[] = [
  {
    fate: 'voided',
    how: 'a 402',
    settle: voidAsMerchant,
    refuse: (_proof, response) => void response.writeHead(402).end(),
    spent: '0.00',
  },
  {
    fate: 'voided',
    how: 'a failure that names the void',
    settle: voidAsMerchant,
    refuse: ({ nonce }, response) => void response.writeHead(500, { 'x-payment-voided': nonce }).end(),
    spent: '0.00',
  },
  {
    fate: 'charged',
    how: 'a 402',
    settle: (proof, key) => collect('verify', proof, key),
    refuse: (_proof, response) => void response.writeHead(402).end(),
    spent: '4.00',
  },
  {
    fate: 'charged',
    how: 'a 503',
    settle: (proof, key) => collect('verify', proof, key),
    refuse: (_proof, response) => void response.writeHead(503).end(),
    spent: '4.00',
  },
  {
    fate: 'authorized',
    how: 'a 503',
    settle: (proof, key) => collect('authorize', proof, key),
    refuse: (_proof, response) => void response.writeHead(503).end(),
    spent: '0.00',
  },
]

for (const [where, open] of Object.entries(sharedStores)) {
  for (const { fate, how, settle, refuse, spent } of shownAgain) {
    test(`A process whose proof was ${fate}, and refused with ${how}, gets the goods that are on their way to another one, and does not buy again (${where})`, async (context) => {
      const merchantKey = await issueKey(service, { role: 'merchant' })
      const [first, second] = await open(context)
      assert.ok(first && second)
      const { merchant, pay, budget, arrived, goOn, shown } = await openStrictMarket(context, {
        settle: (proof) => settle(proof, merchantKey),
        end: (response) => response.end(goods),
        refuse,
      })

      const one = pay({ purchases: first })(merchant.url, { purchaseId })
      await arrived
      const other = pay({ purchases: second })(merchant.url, { purchaseId })
      let settled = 0
      const ended = () => void (settled += 1)
      other.then(ended, ended)
      await until(async () => settled > 0 || (shown() > 1 && (await sendersIn(first)).length === 1))
      goOn()

      const answers = await Promise.all([one, other])
      assert.deepEqual(await Promise.all(answers.map((given) => given.text())), [goods, goods])
      assert.deepEqual(
        answers.map((given) => paymentResultOf(given)?.replayed),
        [false, true],
      )
      assert.equal(new Set(merchant.visits.flatMap(({ nonce }) => nonce ?? [])).size, 1, 'one proof')
      assert.deepEqual(await budget(), { spent, held: '0.00' })
    })
  }
}

test('If no process gets the goods of a charged proof, each one rejects with its own error', async (context) => {
  const merchantKey = await issueKey(service, { role: 'merchant' })
  const store = createPurchaseMemory()
  const { merchant, pay, budget, arrived, goOn, shown } = await openStrictMarket(context, {
    settle: (proof) => collect('verify', proof, merchantKey),
    end: (response) => response.destroy(),
    refuse: (_proof, response) => void response.writeHead(503).end(),
  })

  const buy = pay({ purchases: store, maxRetries: 0 })
  const one = assert.rejects(buy(merchant.url, { purchaseId }), {
    name: 'PaidNotDeliveredError',
    reason: 'no_answer',
  })
  await arrived
  const other = assert.rejects(pay({ purchases: store, maxRetries: 0 })(merchant.url, { purchaseId }), {
    name: 'PaidNotDeliveredError',
    reason: 'merchant_failed',
  })
  await until(async () => shown() > 1 && (await sendersIn(store)).length === 1)
  goOn()
  await Promise.all([one, other])
  assert.equal(new Set(merchant.visits.flatMap(({ nonce }) => nonce ?? [])).size, 1, 'one proof')
  assert.deepEqual(await sendersIn(store), [])
  assert.deepEqual(await budget(), { spent: '4.00', held: '0.00' })
})

test('A process that crashed while it sent a proof is waited for until its claim ends, and then the purchase starts over', async (context) => {
  const merchantKey = await issueKey(service, { role: 'merchant' })
  const store = createPurchaseMemory()
  let isSilent = true
  const { merchant, pay, budget } = await openMarket(context, service, {
    beforeVerify: (_request, response) => isSilent && Boolean(response.destroy()),
  })
  const buy = pay({ purchases: store, maxRetries: 0 })
  await assert.rejects(buy(merchant.url, { purchaseId }), PaymentUncertainError)
  const record = (await store.find(purchaseId)) ?? assert.fail()
  assert(record.step.kind === 'paying')
  assert.deepEqual(record.step.senders, [], 'it has said that it sends no more')
  // Long enough for the refusal to arrive on a busy machine.
  const untilMs = Date.now() + 2_000
  const senders = [{ id: 'crashed', untilMs }]
  await store.save({ ...record, revision: record.revision + 1, step: { ...record.step, senders } })
  await voidAsMerchant(record.step.proof, merchantKey)
  isSilent = false

  const signal = AbortSignal.timeout(1_000)
  await assert.rejects(buy(merchant.url, { purchaseId, signal }), { name: 'TimeoutError' })
  assert.equal((await buy(merchant.url, { purchaseId })).status, 200)
  assert.ok(Date.now() >= untilMs)
  assert.deepEqual(await budget(), { spent: '4.00', held: '0.00' })
})

test('A process that sends a proof for long keeps saying so', async (context) => {
  context.mock.timers.enable({ apis: ['setInterval'] })
  const store = createPurchaseMemory()
  const arrived = Promise.withResolvers<void>()
  const sent = Promise.withResolvers<void>()
  const { merchant, pay } = await openMarket(context, service, {
    deliver: async (_request, response) => {
      arrived.resolve()
      await sent.promise
      response.end(goods)
    },
  })
  const buying = pay({ purchases: store })(merchant.url, { purchaseId })
  await arrived.promise
  const [before] = await sendersIn(store)
  await sleep(5)
  context.mock.timers.tick(10_000)
  await until(async () => ((await sendersIn(store))[0]?.untilMs ?? 0) > (before?.untilMs ?? Infinity))
  sent.resolve()
  assert.equal(await (await buying).text(), goods)
  const revision = (await store.find(purchaseId))?.revision
  context.mock.timers.tick(60_000)
  await sleep(5)
  assert.equal((await store.find(purchaseId))?.revision, revision, 'not after that')
})

interface Strictness {
  readonly settle: (proof: Proof) => Promise<void>
  readonly end: (response: ServerResponse) => unknown
  readonly refuse: (proof: Proof, response: ServerResponse) => void
}

/** A merchant that settles the first copy of a proof, ends its response after `goOn`, and refuses all further copies. */
async function openStrictMarket(context: TestContext, { settle, end, refuse }: Strictness) {
  const arrived = Promise.withResolvers<void>()
  const goingOn = Promise.withResolvers<void>()
  let shown = 0
  async function answer(proof: Proof, response: ServerResponse): Promise<void> {
    shown += 1
    if (shown > 1) return refuse(proof, response)
    await settle(proof)
    arrived.resolve()
    await goingOn.promise
    end(response)
  }
  const market = await openMarket(context, service, {
    beforeVerify: (request, response) => {
      void answer(proofOf(request), response)
      return true
    },
  })
  return { ...market, arrived: arrived.promise, goOn: goingOn.resolve, shown: () => shown }
}

async function sendersIn(store: PurchaseStore) {
  const step = (await store.find(purchaseId))?.step
  return step?.kind === 'paying' ? step.senders : []
}

function proofOf({ headers }: IncomingMessage): Proof {
  return JSON.parse(Buffer.from(String(headers['x-payment-proof']), 'base64url').toString()) as Proof
}

async function collect(call: 'verify' | 'authorize', proof: Proof, key: string): Promise<void> {
  const body = { proof, merchant_domain: merchantDomain, expected_amount: proof.amount }
  assert.equal((await service.call('POST', `/v1/payments/${call}`, { key, body })).status, 200)
}

async function voidAsMerchant(proof: Proof, key: string): Promise<void> {
  await collect('authorize', proof, key)
  assert.equal((await service.call('POST', `/v1/payments/${proof.nonce}/void`, { key })).status, 200)
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const endMs = Date.now() + 10_000
  while (!(await isSo())) {
    assert.ok(Date.now() < endMs, 'it did not happen within ten seconds')
    await sleep(10)
  }
}

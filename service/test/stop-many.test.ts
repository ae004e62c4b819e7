import assert from 'node:assert/strict'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { test, type TestContext } from 'node:test'

import type { Proof } from '@purser/wire/payments'

import { allAtOnce, labelOf, makePurchase, openLoadClient, tally, type LoadClient } from '../testing/load.ts'
import { postgres18 } from '../testing/postgres.ts'
import { createTenant, startTestService, type Purchase } from '../testing/service.ts'
import { makeFolder } from './process.ts'

/** The number of agents of an account, each with a mandate and an open proof. */
const agents = 500
/** Far more than it takes; a stop that never ends would take longer. */
const patienceMs = 60_000

/** The address of a ledger. */
const beds: readonly [name: string, make: (context: TestContext) => Promise<string>][] = [
  ['SQLite', async (context) => `sqlite:${join(makeFolder(context), 'purser.db')}`],
  [
    postgres18.name,
    async (context) => {
      const { url, drop } = await postgres18.createEmptyDatabase()
      context.after(drop)
      return url
    },
  ],
]

for (const [store, makeBed] of beds) {
  test(`On ${store}, a stop of 500 agents ends while everybody pays; nothing that begins after its answer succeeds until they are resumed`, async (context) => {
    const { owner, bystander, purchases } = await prepare(context, await makeBed(context))
    const stopping = new AbortController()
    const inHand: Proof[] = []
    const racing = allAtOnce(8, async (index) => {
      for (let turn = index; !stopping.signal.aborted; turn += 8) {
        const asked = await owner.askForProof(purchaseOf(purchases, turn), '0.01')
        if (asked.status !== 201) assert.equal(labelOf(asked), '402 mandate_expired')
        // Every other proof is kept, to be sent when everything is stopped.
        else if (turn % 16 < 8) inHand.push(asked.body.proof as Proof)
        else assert.match(labelOf(await owner.verify(asked.body.proof as Proof)), /ok|proof_expired/)
      }
    })
    const waits: number[] = []
    const payingElsewhere = (async () => {
      while (!stopping.signal.aborted) {
        const startedAtMs = performance.now()
        await pay(bystander)
        waits.push(performance.now() - startedAtMs)
      }
    })()
    // Creating mandates continuously cannot keep the stop from ending.
    const making = allAtOnce(4, async () => {
      while (!stopping.signal.aborted) await makePurchase(owner)
    })

    const startedAtMs = performance.now()
    const stopped = await Promise.race([
      owner.send('POST', '/v1/console/stop'),
      sleep(patienceMs, undefined, { ref: false }),
    ])
    const tookMs = performance.now() - startedAtMs
    stopping.abort()
    await Promise.all([racing, payingElsewhere, making])

    assert.equal(stopped?.status, 200, `it took more than ${patienceMs} ms`)
    assert.ok(stopped.body.paused_mandates >= agents && stopped.body.voided_holds >= agents, stopped.text)
    context.diagnostic(
      `${store}: ${stopped.body.paused_mandates} mandates were stopped in ${Math.round(tookMs)} ms; ${waits.length} payments of another account meanwhile, the slowest in ${Math.round(Math.max(...waits))} ms`,
    )
    assert.ok(waits.length > 5, 'payments of other accounts continue')

    const begun = await allAtOnce(200, (index) => {
      const purchase = purchaseOf(purchases, index * 41)
      return index % 2 === 0 ? owner.askForProof(purchase, '0.01') : owner.evaluate(purchase)
    })
    assert.deepEqual(tally(begun), { '402 mandate_expired': 200 })
    assert.ok(inHand.length > 0)
    const shown = await allAtOnce(inHand.length, (index) => owner.verify(inHand[index] as Proof))
    assert.deepEqual(tally(shown), { '402 proof_expired': inHand.length })
    const overview = await owner.send('GET', '/v1/console/overview')
    assert.deepEqual(overview.body.open_holds, { count: 0, amount: '0.00' })
    await pay(bystander)

    const resumed = await owner.send('POST', '/v1/console/resume', {
      body: { stop_id: stopped.body.stop_id },
    })
    assert.equal(stopped.body.failed_mandates, 0)
    assert.deepEqual(resumed.body, { resumed_mandates: stopped.body.paused_mandates })
    for (let index = 0; index < 20; index++) {
      await pay({ client: owner, purchase: purchaseOf(purchases, index * 499) })
    }
  })
}

interface Payer {
  readonly client: LoadClient
  readonly purchase: Purchase
}

async function pay({ client, purchase }: Payer): Promise<void> {
  const asked = await client.askForProof(purchase, '0.01')
  assert.equal(labelOf(asked), '201 ok')
  assert.equal(labelOf(await client.verify(asked.body.proof as Proof)), '200 ok')
}

function purchaseOf(purchases: readonly Purchase[], index: number): Purchase {
  return purchases[index % purchases.length] ?? assert.fail()
}

/** A service, an account with many agents, and an unrelated account. */
async function prepare(context: TestContext, database: string) {
  const service = await startTestService(context, { PURSER_DATABASE: database })
  const owner = openLoadClient(service.url, service.sandboxKey, 64)
  const { sandboxKey: otherKey } = await createTenant(service)
  const other = openLoadClient(service.url, otherKey, 4)
  context.after(() => [owner, other].forEach((client) => client.close()))
  const first = await makePurchase(owner)
  assert.equal((await owner.askForProof(first)).status, 201)
  const purchases: Purchase[] = []
  await allAtOnce(64, async () => {
    while (purchases.length < agents - 1) {
      const purchase = await makePurchase(owner)
      purchases.push(purchase)
      assert.equal((await owner.askForProof(purchase)).status, 201)
    }
  })
  return { owner, bystander: { client: other, purchase: await makePurchase(other) }, purchases }
}

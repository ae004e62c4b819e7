import assert from 'node:assert/strict'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { test, type TestContext } from 'node:test'

import Database from 'better-sqlite3'

import type { Proof } from '@purser/wire/payments'

import { allAtOnce, labelOf, makePurchase, openLoadClient, tally, type LoadClient } from '../testing/load.ts'
import { execute } from '../testing/postgres-databases.ts'
import { postgres18 } from '../testing/postgres.ts'
import { createTenant, startTestService, type Purchase } from '../testing/service.ts'
import { makeFolder } from './process.ts'

/** How many agents an account has, each with a mandate and a proof that is out. */
const agents = 10_000
/** Far more than it takes; a stop that did not end would take longer. */
const patienceMs = 60_000

/** Somewhere to keep a ledger: its address, and what writes into its tables. */
interface Bed {
  readonly database: string
  readonly write: (statement: string) => Promise<unknown>
}

const beds: readonly [name: string, make: (context: TestContext) => Promise<Bed>][] = [
  [
    'SQLite',
    async (context) => {
      const path = join(makeFolder(context), 'purser.db')
      return {
        database: `sqlite:${path}`,
        write: async (statement) => {
          const db = new Database(path, { timeout: 10_000 })
          db.exec(statement)
          db.close()
        },
      }
    },
  ],
  [
    postgres18.name,
    async (context) => {
      const { url, drop } = await postgres18.createEmptyDatabase()
      context.after(drop)
      return { database: url, write: (statement) => execute(url, statement) }
    },
  ],
]

for (const [store, makeBed] of beds) {
  test(`On ${store}, a stop of 10,000 agents ends while everybody pays; nothing that begins after its answer succeeds, until they are resumed [decision.113] [decision.11]`, async (context) => {
    const { owner, bystander, purchases } = await prepare(context, await makeBed(context))
    const stopping = new AbortController()
    const inHand: Proof[] = []
    const racing = allAtOnce(8, async (index) => {
      for (let turn = index; !stopping.signal.aborted; turn += 8) {
        const asked = await owner.askForProof(purchaseOf(purchases, turn), '0.01')
        if (asked.status !== 201) assert.equal(labelOf(asked), '402 mandate_expired')
        // Every other proof is kept, to be shown when all is stopped.
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
    // Somebody who goes on making mandates meanwhile cannot keep the stop from ending.
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
    assert.ok(waits.length > 10, 'payments of others go on')

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

/** A service, an account with ten thousand agents, and another that has nothing to do with it. */
async function prepare(context: TestContext, { database, write }: Bed) {
  const service = await startTestService(context, { PURSER_DATABASE: database })
  const owner = openLoadClient(service.url, service.sandboxKey, 16)
  const { sandboxKey: otherKey } = await createTenant(service)
  const other = openLoadClient(service.url, otherKey, 4)
  context.after(() => [owner, other].forEach((client) => client.close()))
  const first = await makePurchase(owner)
  assert.equal((await owner.askForProof(first)).status, 201)
  for (const statement of copiesOf(first, database)) await write(statement)
  const purchases = Array.from({ length: agents - 1 }, (_, index) => {
    const { agentId, mandateId } = copyOf(index + 1)
    return { ...first, agentId, mandateId }
  })
  return { owner, bystander: { client: other, purchase: await makePurchase(other) }, purchases }
}

/** What an id of a copy ends with; its number comes after it. */
const zeros = '0'.repeat(19)
const firstNumber = 1_000_000

function copyOf(number: number) {
  const end = `${zeros}${firstNumber + number}`
  return { agentId: `agent_${end}`, mandateId: `mandate_${end}` }
}

/** Copies an agent with its mandate and its open hold, straight into the tables, until there are enough. */
function copiesOf({ agentId, mandateId }: Purchase, database: string): string[] {
  const copyMandates = (table: string, sums: string) => `
    insert into ${table} (account_id, id, environment, agent_id, purpose, max_total_text, max_total_micro,
      max_per_transaction_text, max_per_transaction_micro, currency, allowed_sellers, allowed_categories,
      expires_at_text, expires_at_ms, status, created_at_ms, updated_at_ms${sums})
    ${numbered} select account_id, ${newId('mandate')}, environment, ${newId('agent')}, purpose, max_total_text,
      max_total_micro, max_per_transaction_text, max_per_transaction_micro, currency, allowed_sellers,
      allowed_categories, expires_at_text, expires_at_ms, status, created_at_ms, updated_at_ms${sums}
    from mandates, numbered where id = '${mandateId}'`
  return [
    `insert into agents (account_id, id, environment, name, capabilities, status, created_at_ms)
     ${numbered} select account_id, ${newId('agent')}, environment, name, capabilities, status, created_at_ms
     from agents, numbered where id = '${agentId}'`,
    // On SQLite the sums of a mandate stand by themselves (decision 54).
    ...(database.startsWith('sqlite:')
      ? [
          copyMandates('mandate_terms', ''),
          `insert into mandate_sums (no, max_total_micro, spent_micro, held_micro)
           select t.no, m.max_total_micro, m.spent_micro, m.held_micro from mandates m, mandate_terms t
           where m.id = '${mandateId}' and t.id like '%${zeros}%'`,
        ]
      : [copyMandates('mandates', ', spent_micro, held_micro')]),
    `insert into holds (account_id, nonce, environment, agent_id, mandate_id, amount_text, amount_micro, currency,
       resource_url, status, issued_at_ms, expires_at_ms)
     ${numbered} select account_id, 'nonce' || cast(n as text), environment, ${newId('agent')}, ${newId('mandate')},
       amount_text, amount_micro, currency, resource_url, status, issued_at_ms, expires_at_ms
     from holds, numbered where mandate_id = '${mandateId}'`,
    ...['agent', 'mandate'].map(
      (kind) => `insert into record_accounts (id, account_id)
        ${numbered} select ${newId(kind)}, account_id from record_accounts, numbered
        where id = '${kind === 'agent' ? agentId : mandateId}'`,
    ),
  ]
}

const numbered = `with recursive numbered (n) as (
  select ${firstNumber + 1} union all select n + 1 from numbered where n < ${firstNumber + agents - 1})`

function newId(prefix: string): string {
  return `'${prefix}_${zeros}' || cast(n as text)`
}

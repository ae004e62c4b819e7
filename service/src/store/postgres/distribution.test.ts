import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'

import { Client, type QueryConfig } from 'pg'

import { postgres18, postgresServers } from '../../../testing/postgres.ts'
import { holdLifeMs, StoreLedger } from '../../../testing/store-ledger.ts'
import { writeAccountPayments } from './account-payments.ts'
import { addUpRecorded } from './activity-acts.ts'
import { openPool, withClient } from '../ledger/postgres/connection.ts'
import { distribute, readDistribution } from '../ledger/postgres/distribution.ts'
import { migrate } from '../ledger/postgres/migrate.ts'
import { openPostgresStore } from './postgres-store.ts'
import { PaidSellers } from './paid-sellers.ts'
import type { Payment, PaymentOutcome } from './payment-decisions.ts'
import { directories, tenantTables } from './schema.ts'
import { prepareTransactions } from './transaction.ts'

const citus = postgresServers.find(({ isDistributed, missing }) => isDistributed && missing === undefined)
/** What reads a directory, which lies on one machine. */
const ofDirectories: readonly unknown[] = ['purser_read_sellers', 'purser_read_disabled']

const skip =
  citus === undefined &&
  'no Citus is at hand: PURSER_TEST_POSTGRES names its coordinator, with PURSER_TEST_POSTGRES_DISTRIBUTE=1'

test('Every statement of a batch looks at one table, and names one account [decision.80] [decision.81]', async (context) => {
  const database = await postgres18.createDatabase()
  context.after(() => database.drop())
  const { statements, payer, payee } = await sampleBatch(database.url)
  assert.equal(statements.length, 15)
  for (const { name = '', text, values = [] } of statements) {
    assert.equal(text.match(/\b(?:from|update|into) (?!unnest)\w+/g)?.length, 1, name)
    assert.match(text, /where account_id = \$1 and|\(account_id, .*\)\s+(select \$1,|values \(\$1,)/s, name)
    assert.doesNotMatch(text, /\b(with|join|union)\b/, name)
    assert.ok([payer, payee].includes(values[0] as string), name)
  }
  const toPayee = statements.filter(({ values }) => values?.[0] === payee)
  assert.deepEqual(
    toPayee.map(({ name }) => name),
    ['purser_account_insert_transactions_1', 'purser_enqueue_recorded'],
  )
})

test('What adds up the sums of the console names the account for every table [decision.80] [decision.112]', () => {
  const { text } = addUpRecorded('acct_1', ['txn_1'])
  const tables = text.match(/\bfrom (?!recorded|\()\w+/g) ?? []
  assert.deepEqual(tables, ['from transactions', 'from mandates'])
  assert.equal(text.match(/\baccount_id = \$1 and/g)?.length, tables.length)
})

test('Nothing is spread where there is no Citus, and the words say so [decision.82]', async (context) => {
  const database = await postgres18.createDatabase()
  context.after(() => database.drop())
  await withClient(database.url, async (client, place) => {
    assert.equal(await readDistribution(client), undefined)
    await assert.rejects(distribute(client, place), {
      name: 'StoreOpenError',
      message: /^The server of postgresql:.* has no Citus, so nothing can be spread over machines/,
    })
  })
})

test(
  'The tables of tenants are spread together by account_id, once; directories are not [decision.82]',
  { skip },
  async (context) => {
    const { client, url } = await spreadDatabase(context)
    await withClient(url, async (again, place) => assert.deepEqual(await distribute(again, place), []))
    const { rows } = await client.query<{ name: string; column: string; together: number }>(`
    select logicalrelid::text as name, colocationid as together,
      column_to_column_name(logicalrelid, partkey) as column from pg_dist_partition`)
    assert.deepEqual(rows.map(({ name }) => name).toSorted(), [...tenantTables].toSorted())
    assert.deepEqual(new Set(rows.map(({ column }) => column)), new Set(['account_id']))
    assert.equal(new Set(rows.map(({ together }) => together)).size, 1)
    assert.ok(directories.every((name) => !rows.some((row) => row.name === name)))
  },
)

test('A service refuses spread tables without account lanes [decision.82]', { skip }, async (context) => {
  const { url } = await spreadDatabase(context)
  await assert.rejects(openPostgresStore({ url }), {
    name: 'StoreOpenError',
    message: /^The tables of .* are spread over machines; start Purser with PURSER_ACCOUNT_LANES=on$/,
  })
  const store = await openPostgresStore({ url, accountLanes: true })
  await store.close()
})

test(
  'Citus sends every statement of a batch to one shard [decision.80] [decision.81]',
  { skip },
  async (context) => {
    const { client, url } = await spreadDatabase(context)
    const { statements } = await sampleBatch(url)
    for (const { name, text, values = [] } of statements) {
      const { rows } = await client.query<{ 'QUERY PLAN': [ExplainedPlan] }>(
        `explain (format json) ${text}`,
        values as unknown[],
      )
      const job = rows[0]?.['QUERY PLAN'][0].Plan['Distributed Query'].Job
      assert.equal(job?.['Task Count'], 1, name)
    }
  },
)

interface ExplainedPlan {
  readonly Plan: { readonly 'Distributed Query': { readonly Job: { readonly 'Task Count': number } } }
}

async function spreadDatabase(context: TestContext): Promise<{ client: Client; url: string }> {
  const database = await (citus ?? assert.fail('there is a Citus')).createEmptyDatabase()
  const client = new Client({ connectionString: database.url })
  await client.connect()
  context.after(async () => {
    await client.end()
    await database.drop()
  })
  await migrate(client, 'the database')
  assert.deepEqual(await distribute(client, 'the database'), tenantTables)
  return { client, url: database.url }
}

/**
 * What a batch sends for tables of tenants that does everything a batch can: a proof that ends an expired one,
 * an evaluation, a payment within the account, and one to another; run twice, as after a lost commit.
 */
async function sampleBatch(
  url: string,
): Promise<{ statements: QueryConfig[]; payer: string; payee: string }> {
  const store = await openPostgresStore({ url, accountLanes: true })
  const ledger = new StoreLedger({ store, close: () => store.close() })
  const payer = await ledger.tenant()
  const payee = await ledger.tenant()
  await ledger.seller(payee.sandbox)
  const mandate = await ledger.mandate(payer.sandbox)
  await ledger.hold(mandate, '3.00', { expiresAtMs: ledger.clock.nowMs + 1 })
  const holds = [await ledger.hold(mandate), await ledger.hold(mandate), await ledger.hold(mandate)]
  ledger.clock.nowMs += 2
  const payments: Payment[] = [
    { kind: 'proof', hold: ledger.newHold(mandate) },
    { kind: 'evaluation', proposal: ledger.newProposal(await ledger.mandate(payer.sandbox)) },
    ...[payer, payee].map(({ sandbox }, index) => ({
      kind: 'capture' as const,
      capture: { ...ledger.newCapture(sandbox, holds[index] ?? assert.fail()), accountId: payer.account.id },
      mayBeUnderWay: false,
      isKeyRevoked: false,
    })),
    {
      kind: 'late',
      attempt: {
        ...ledger.newCapture(payer.sandbox, holds[2] ?? assert.fail()),
        accountId: payer.account.id,
        nowMs: ledger.clock.nowMs + holdLifeMs,
      },
    },
  ]

  const pool = openPool(url, { max: 1 })
  const inTransaction = prepareTransactions(pool, { random: () => 0, keepsPlans: false })
  const statements = new Map<string, QueryConfig>()
  const outcomes: PaymentOutcome[][] = []
  for (const isRerun of [false, true]) {
    const run = inTransaction({ deadlineMs: performance.now() + 10_000 }, (transaction) =>
      writeAccountPayments(
        {
          ...transaction,
          isRerun,
          ask: (...sent) => {
            for (const one of sent) statements.set(`${one.name} ${(one.values ?? [])[0]}`, one)
            return transaction.ask(...sent)
          },
        },
        payer.account.id,
        payments,
        new PaidSellers(),
      ),
    )
    outcomes.push(await run)
  }
  assert.deepEqual(outcomes[0], outcomes[1])
  assert.deepEqual(await store.findLedgerFaults(), [])
  await pool.end()
  await ledger.close()
  const ofTenants = [...statements.values()].filter(({ name }) => !ofDirectories.includes(name))
  return { statements: ofTenants, payer: payer.account.id, payee: payee.account.id }
}

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'

import { PostgresDialect } from 'kysely'
import { Client } from 'pg'

import { postgres18 } from '../../../testing/postgres.ts'
import { kyselyOver, type RunQuery } from '../console/dialect.ts'
import { prepareFigures } from '../console/figures.ts'
import type { ListFilter } from '../console/source.ts'
import { preparePaidCategories } from '../paid-categories.ts'
import { prepareTransactionPages } from '../transaction-pages.ts'
import { openPool } from '../ledger/postgres/connection.ts'
import { prepareQueries } from '../ledger/postgres/console-queries.ts'
import { consoleDialect } from './console-dialect.ts'
import { withRetries } from '../ledger/postgres/retries.ts'

test('A query that takes too long is ended by the server, and leaves nothing on the connection [decision.116] [decision.64]', async (t) => {
  const ask = await prepare(t, 100)
  await assert.rejects(async () => ask('select pg_sleep(30)', []), { name: 'QueryTooSlowError' })
  const [timeout] = await ask('show statement_timeout', [])
  assert.deepEqual(timeout, { statement_timeout: '100ms' }, 'within the transaction')
  const [role] = await ask(`select current_setting('transaction_read_only') as is_read_only`, [])
  assert.deepEqual(role, { is_read_only: 'on' })
  await assert.rejects(async () => ask('create table x ()', []), {
    name: 'StoreUnavailableError',
    message: /25006/,
  })
})

async function prepare(t: TestContext, timeoutMs: number) {
  const database = await postgres18.createDatabase()
  const pool = openPool(database.url, { max: 1 })
  t.after(async () => {
    await pool.end()
    await database.drop()
  })
  return prepareQueries(pool, { retry, timeoutMs })
}

function retry<Rows>(work: () => Promise<Rows>): Promise<Rows> {
  return withRetries({ deadlineMs: performance.now() + 1_000, random: Math.random }, work)
}

test('A page looks at no more rows than it may, also of an agent who has been quiet for long, or at a seller where few buy [decision.114]', async (t) => {
  const { client, db, visited } = await prepareLedger(t)
  await client.query(insertTransactions)
  await client.query('analyze')
  const { listConsoleTransactions } = prepareTransactionPages(
    db,
    consoleDialect,
    preparePaidCategories(db, consoleDialect),
  )
  const filters: readonly ListFilter[] = [
    {},
    { status: 'denied' },
    { agentId: 'quiet' },
    { agentId: 'quiet', status: 'denied' },
    { agentId: 'busy', reasonCode: 'agent_revoked' },
    { agentId: 'nobody', merchantDomain: 'shop.example' },
    { mandateId: 'quiet', merchantDomain: 'shop.example', status: 'denied' },
    { merchantDomain: 'rare.example' },
    { merchantDomain: 'shop.example', reasonCode: 'agent_revoked' },
  ]
  for (const filter of filters) {
    await listConsoleTransactions(scope, filter, { limit: 50 })
    // Each statement goes through what one page may look at, once for each index at the most.
    for (const rows of visited.splice(0)) {
      assert.ok(rows <= 3 * 6 * 50, `${JSON.stringify(filter)} went through ${rows} rows`)
    }
  }
})

test('For the category of a payment at most 100 evaluations are looked at, also when the server knows the tables as they were when empty [decision.169]', async (t) => {
  const { client, db, visited } = await prepareLedger(t)
  await client.query('analyze')
  await client.query(insertTransactions)
  // A tenth is approved, and the rest paid, at the time that its id and its nonce tell.
  await client.query(`
    update transactions set status = case when status = 'denied' then 'approved' else 'paid' end,
      nonce = lpad(to_hex(created_at_ms), 12, '0') || '-' || id`)
  await client.query(`update transactions set id = 'txn_' || lpad(to_hex(created_at_ms), 10, '0') || id`)
  const toTransactions = preparePaidCategories(db, consoleDialect)
  const { listConsoleTransactions } = prepareTransactionPages(db, consoleDialect, toTransactions)
  const { items } = await listConsoleTransactions(scope, { status: 'paid' }, { limit: 50 })
  assert.equal(items.length, 50)
  const [categories = Infinity] = visited.slice(-1)
  assert.ok(categories > 0 && categories <= 50 * 100, `it went through ${categories} rows`)
})

test('What is not added up yet is looked up one by one, also when the server knows the tables as they were when empty [decision.112]', async (t) => {
  const { client, db, visited } = await prepareLedger(t)
  await client.query('analyze')
  await client.query(insertTransactions)
  await client.query(`
    insert into activity_queue (account_id, id, transaction_ids)
    select account_id, min(id), string_agg(id, ',') from transactions
    where id > 'txn_' || lpad('39000', 26, '0') group by account_id, created_at_ms / 20`)
  const { readActivity } = prepareFigures(db, consoleDialect)
  const question = { dimension: 'all', subjects: [''], fromMs: 0, isTotal: true } as const
  const [all] = await readActivity(scope, question)
  assert.deepEqual([all?.paidCount, all?.deniedCount], [900, 100])
  // The transactions, and the rows of the queue that name twenty of them each.
  assert.ok((visited[0] ?? Infinity) < 1_200, `it went through ${visited[0]} rows`)
})

const scope = { accountId: 'acct', environment: 'sandbox' } as const

/** A database, and how many rows the statements of the console went through there. */
async function prepareLedger(t: TestContext) {
  const database = await postgres18.createDatabase()
  const client = new Client({ connectionString: database.url })
  await client.connect()
  const pool = openPool(database.url, { max: 1 })
  t.after(async () => {
    await Promise.all([client.end(), pool.end()])
    await database.drop()
  })
  const visited: number[] = []
  const explain: RunQuery = async (text, values) => {
    const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
      `explain (analyze, format json) ${text}`,
      [...values],
    )
    visited.push(visitedBy(rows[0]?.['QUERY PLAN'][0].Plan))
    return (await client.query(text, [...values])).rows as unknown[]
  }
  return { client, db: kyselyOver(explain, new PostgresDialect({ pool })), visited }
}

/** Half of an account's transactions are of an agent who then was not heard of any more. */
const insertTransactions = `
  insert into transactions (account_id, id, environment, side, status, agent_id, mandate_id, amount_text,
    amount_micro, currency, resource_url, merchant_domain, reason_code, created_at_ms)
  select 'acct', 'txn_' || lpad(n::text, 26, '0'), 'sandbox', 'payer', case when n % 10 = 0 then 'denied' else 'paid' end,
    who, who, '1.00', 1000000, 'USDC', 'https://shop.example', case when n % 5000 = 7 then 'rare.example' else 'shop.example' end,
    case when n % 10 = 0 then 'total_budget_exceeded' end, n
  from (select n, case when n <= 20000 then 'quiet' else 'busy' end as who from generate_series(1, 40000) n) numbered`

interface Plan {
  readonly 'Actual Rows'?: number
  readonly 'Actual Loops'?: number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Relation Name'?: string
  readonly Plans?: readonly Plan[]
}

/** How many rows of tables a statement went through. */
function visitedBy(plan: Plan | undefined): number {
  if (!plan) return 0
  const ofOne = (plan['Actual Rows'] ?? 0) + (plan['Rows Removed by Filter'] ?? 0)
  const own = plan['Relation Name'] === undefined ? 0 : ofOne * (plan['Actual Loops'] ?? 1)
  return (plan.Plans ?? []).reduce((sum, below) => sum + visitedBy(below), own)
}

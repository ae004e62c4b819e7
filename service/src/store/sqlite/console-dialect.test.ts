import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'

import Database from 'better-sqlite3'
import { Kysely, sql, SqliteDialect, type CompiledQuery } from 'kysely'

import { shopDomain, StoreLedger } from '../../../testing/store-ledger.ts'
import type { Source } from '../bounded-list.ts'
import type { ListFilter } from '../console/source.ts'
import type { Tables } from '../rows.ts'
import { preparePaidCategories } from '../paid-categories.ts'
import { prepareTransactionPages } from '../transaction-pages.ts'
import { consoleDialect } from './console-dialect.ts'
import { openSqliteStore } from './sqlite-store.ts'

/** More than a page looks at. */
const evaluations = 600
const limit = 20

test('A page of the console looks at a few rows for each that it may hold, whatever is looked for [decision.114]', async (context) => {
  const { agentId, mandateId, readPage, asked, plansOf } = await prepare(context)
  const filters: readonly ListFilter[] = [
    { status: 'paid' },
    { status: 'approved', reasonCode: 'agent_revoked' },
    { agentId, status: 'denied' },
    { agentId, merchantDomain: 'nobody.example' },
    { mandateId, merchantDomain: shopDomain, status: 'denied' },
    { merchantDomain: shopDomain, reasonCode: 'agent_revoked' },
    { merchantDomain: shopDomain, fromMs: 1, beforeMs: 2 },
  ]
  for (const filter of filters) {
    const name = JSON.stringify(filter)
    const lookedAt = await readPage(filter)
    assert.ok(lookedAt <= limit * 6, `${name} looked at ${lookedAt} rows`)
    for (const detail of plansOf(asked.splice(0))) {
      assert.doesNotMatch(detail, /^SCAN (t|transactions|transaction_lists|listed_transactions)\b/, name)
    }
  }
})

async function prepare(context: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
  const path = join(folder, 'purser.db')
  const store = openSqliteStore({ path })
  const ledger = new StoreLedger({ store, close: () => store.close() })
  const mandate = await ledger.mandate((await ledger.tenant()).sandbox)
  for (let made = 0; made < evaluations; made += 200) {
    const proposals = Array.from({ length: 200 }, () => ledger.newProposal(mandate))
    await Promise.all(proposals.map((proposal) => store.evaluate(proposal)))
    await store.addUpActivity()
  }
  // Until all of it is listed.
  for (let looks = 0; looks < 4; looks++) await store.addUpActivity()

  const db = new Database(path, { readonly: true })
  let lookedAt = 0
  db.function('look', { deterministic: false }, () => ++lookedAt)
  const asked: CompiledQuery[] = []
  const kysely = new Kysely<Tables>({
    dialect: new SqliteDialect({ database: db }),
    log: ({ query }) => void asked.push(query),
  })
  const { listConsoleTransactions } = prepareTransactionPages(
    kysely,
    {
      ...consoleDialect,
      transactions: (scope, filter) => {
        const [first, ...others] = consoleDialect.transactions(scope, filter)
        return [counted(first), ...others.map(counted)]
      },
    },
    preparePaidCategories(kysely, consoleDialect),
  )
  context.after(async () => {
    db.close()
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    agentId: mandate.agentId,
    mandateId: mandate.id,
    asked,
    /** How many rows a page looks at. */
    readPage: async (filter: ListFilter) => {
      lookedAt = 0
      await listConsoleTransactions(mandate, filter, { limit })
      return lookedAt
    },
    plansOf: (queries: readonly CompiledQuery[]) =>
      queries.flatMap((query) =>
        db
          .prepare<unknown[], { detail: string }>(`explain query plan ${query.sql}`)
          .all(...query.parameters)
          .map(({ detail }) => detail),
      ),
  }
}

function counted(source: Source): Source {
  return {
    ...source,
    rows: (between, wanted) => {
      const fits = sql`case when look() > 0 then ${wanted.fits} end`
      return source.rows(between, { ...wanted, fits })
    },
  }
}

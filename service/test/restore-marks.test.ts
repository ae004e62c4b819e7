import assert from 'node:assert/strict'
import { test } from 'node:test'

import { testCommand } from '../../packages/cli/testing/command.ts'
import { createIdsOfTimes } from '../src/ids.ts'
import { openPostgresLedgerStore } from '../src/store/ledger/postgres/postgres-ledger-store.ts'
import { findProgram } from '../src/backup/programs.ts'
import { postgresServers } from '../testing/postgres.ts'
import { execute } from '../testing/postgres-databases.ts'
import { StoreLedger } from '../testing/store-ledger.ts'

const nextId = createIdsOfTimes()
const postgres15 = postgresServers.find(({ name }) => name === 'PostgreSQL 15')
const missing = postgres15?.missing ?? whyNoDump()

test(
  'No service starts on an unfinished restore, whatever schemas it looks in before that of the ledger',
  { skip: missing },
  async (context) => {
    const [from, to] = [await postgres15!.createEmptyDatabase(), await postgres15!.createEmptyDatabase()]
    context.after(() => Promise.all([from.drop(), to.drop()]))
    const { purserWith } = testCommand(context)
    const purser = (url: string, ...words: string[]) =>
      purserWith({ environment: { PURSER_DATABASE: url } }, ...words)
    const store = await openPostgresLedgerStore({ url: from.url, nextId })
    const ledger = new StoreLedger({ store, close: () => store.close() })
    await ledger.mandate((await ledger.tenant()).sandbox)
    await store.close()
    // An inconsistent ledger keeps its mark.
    await execute(from.url, 'update mandates set spent_micro = 1')
    assert.equal((await purser(from.url, 'backup', 'purser.dump')).code, 1)

    for (const [url, ...restore] of [
      [from.url, 'restore', '--recovered'],
      [to.url, 'restore', 'purser.dump'],
    ] as const) {
      // The schema of this role, where its tables are made; that of the services has none.
      await execute(url, 'create schema authorization current_user')
      assert.match((await purser(url, ...restore)).errors, /is inconsistent \(1 errors\)/)
      await assert.rejects(
        openPostgresLedgerStore({
          url: `${url}?options=${encodeURIComponent('-c search_path=public')}`,
          nextId,
        }),
        /contains an unfinished restore/,
      )
    }
  },
)

function whyNoDump(): string | undefined {
  try {
    findProgram('pg_dump', 15)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

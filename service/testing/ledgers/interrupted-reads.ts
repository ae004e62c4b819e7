import type { TestContext } from 'node:test'

import { createIdsOfTimes } from '../../src/ids.ts'
import { openPool } from '../../src/store/ledger/postgres/connection.ts'
import { openPostgresLedgerStore } from '../../src/store/ledger/postgres/postgres-ledger-store.ts'
import { readerOn, readerOver } from '../../src/store/ledger/postgres/postgres-reader.ts'
import type { Reader } from '../../src/store/sql.ts'
import { postgres18 } from '../postgres.ts'
import { StoreLedger } from '../store-ledger.ts'

/** A ledger on PostgreSQL 18 whose reader does something between the statements of a read. */
export async function openInterruptedReads(context: TestContext) {
  const { url, drop } = await postgres18.createDatabase()
  const store = await openPostgresLedgerStore({ url, nextId: createIdsOfTimes() })
  const pool = openPool(url, { max: 1 })
  context.after(async () => {
    await pool.end()
    await store.close()
    await drop()
  })
  return {
    ledger: new StoreLedger({ store, close: () => store.close() }),
    /** A reader that calls `interrupt` with the text of each statement, after it. */
    readerWith: (interrupt: (statement: string) => Promise<void>): Reader =>
      readerOver(async (text, values) => {
        const rows = await readerOn(pool).query(text, values)
        await interrupt(text)
        return rows
      }),
  }
}

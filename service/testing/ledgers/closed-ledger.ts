import assert from 'node:assert/strict'

import { hashApiKey } from '../../src/domain/api-key.ts'
import { createIdsOfTimes } from '../../src/ids.ts'
import { openPostgresLedgerStore } from '../../src/store/ledger/postgres/postgres-ledger-store.ts'
import { openSqliteLedgerStore } from '../../src/store/ledger/sqlite/sqlite-ledger-store.ts'
import type { Store } from '../../src/store/store.ts'

interface MandateOfKey {
  readonly key: string
  readonly mandateId: string
}

/**
 * The ids of everything paid under a mandate of the key's account, from a file that no service uses any more,
 * and whose ledger must be consistent.
 */
export async function readPaidFromFile(databasePath: string, mandate: MandateOfKey): Promise<string[]> {
  return readPaid(openSqliteLedgerStore({ path: databasePath, nextId: createIdsOfTimes(), queryMs }), mandate)
}

/** The same from a PostgreSQL database. */
export async function readPaidFromDatabase(url: string, mandate: MandateOfKey): Promise<string[]> {
  return readPaid(await openPostgresLedgerStore({ url, nextId: createIdsOfTimes(), queryMs }), mandate)
}

/** A busy machine needs longer for a query of the console than the service allows. */
const queryMs = 60_000

async function readPaid(store: Store, { key, mandateId }: MandateOfKey): Promise<string[]> {
  try {
    assert.deepEqual(await store.findLedgerFaults(), [])
    const caller = await store.authenticate(hashApiKey(key))
    assert.ok(caller, 'the key belongs to this ledger')
    const page = { limit: 1_000_000 }
    const { items } = await store.listTransactions(caller, { mandateId, status: 'paid' }, page)
    return items.map(({ id }) => id)
  } finally {
    await store.close()
  }
}

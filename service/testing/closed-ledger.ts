import assert from 'node:assert/strict'

import { hashApiKey } from '../src/domain/api-key.ts'
import { openSqliteStore } from '../src/store/sqlite/sqlite-store.ts'

/**
 * The ids of everything that was paid under a mandate of the key's account, read from a file that no
 * service uses any more, and whose ledger must add up.
 */
export async function readPaidFromFile(
  databasePath: string,
  { key, mandateId }: { readonly key: string; readonly mandateId: string },
): Promise<string[]> {
  const store = openSqliteStore({ path: databasePath })
  try {
    assert.deepEqual(await store.findLedgerFaults(), [])
    const caller = await store.authenticate(hashApiKey(key))
    assert.ok(caller, 'the key is of this ledger')
    const page = { limit: 1_000_000 }
    const { items } = await store.listTransactions(caller, { mandateId, status: 'paid' }, page)
    return items.map(({ id }) => id)
  } finally {
    await store.close()
  }
}

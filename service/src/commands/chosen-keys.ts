import DatabaseFile from 'better-sqlite3'

import { hashApiKey } from '../domain/api-key.ts'
import type { Database } from '../settings/config.ts'
import { withClient } from '../store/ledger/postgres/connection.ts'

/** Whether a ledger of this release's schema has keys, but not this one. */
export async function lacksKey(ledger: Database, key: string): Promise<boolean> {
  const { keys, hasKey } = await readKeys(ledger, hashApiKey(key))
  return Boolean(keys) && !hasKey
}

interface FoundKeys {
  readonly keys: number | boolean
  readonly hasKey: number | boolean
}

async function readKeys(ledger: Database, hash: Buffer): Promise<FoundKeys> {
  if (ledger.kind === 'sqlite') {
    const file = new DatabaseFile(ledger.path, { readonly: true, timeout: 5_000 })
    try {
      return file
        .prepare<[Buffer], FoundKeys>(
          `select exists (select 1 from key_hashes) as keys,
            exists (select 1 from key_hashes where secret_hash = ?) as hasKey`,
        )
        .get(hash)!
    } finally {
      file.close()
    }
  }
  // Two statements: Citus may have the two rows on different machines.
  return withClient(ledger.url, async (client) => {
    const any = await client.query('select 1 from key_hashes limit 1')
    const found = await client.query('select 1 from key_hashes where secret_hash = $1', [hash])
    return { keys: any.rows.length > 0, hasKey: found.rows.length > 0 }
  })
}

import type { ClientBase } from 'pg'

import { StoreOpenError } from '../open-error.ts'

/** This table exists in a database while a ledger is copied to it. */
export const copyMark = 'purser_copy'

/** This table exists in a database while a backup is restored to it. */
export const restoreMark = 'purser_restore'

/** Whether a database is the target of an unfinished copy. */
export function hasUnfinishedCopy(client: ClientBase): Promise<boolean> {
  return hasTable(client, copyMark)
}

/** Throws a `StoreOpenError` if a database has half a ledger, or a restored one in which old proofs could be charged. */
export async function refuseUnfinishedCopy(client: ClientBase, place: string): Promise<void> {
  if (await hasTable(client, restoreMark)) throw new StoreOpenError('restore_unfinished', { place })
  if (await hasTable(client, copyMark)) throw new StoreOpenError('copy_unfinished', { place })
}

async function hasTable(client: ClientBase, name: string): Promise<boolean> {
  const { rows } = await client.query<{ oid: string | null }>('select to_regclass($1)::text as oid', [name])
  return rows[0]?.oid != null
}

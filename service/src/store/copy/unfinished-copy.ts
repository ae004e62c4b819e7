import type { ClientBase } from 'pg'

import { StoreOpenError } from '../open-error.ts'

/** Whether a database is the target of a copy that has not come to its end. */
export async function hasUnfinishedCopy(client: ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ oid: string | null }>(
    `select to_regclass('purser_copy')::text as oid`,
  )
  return rows[0]?.oid != null
}

/** Throws a `StoreOpenError` when a database holds half a ledger. */
export async function refuseUnfinishedCopy(client: ClientBase, place: string): Promise<void> {
  await refuseUnfinishedRestore(client, place)
  if (!(await hasUnfinishedCopy(client))) return
  throw new StoreOpenError('copy_unfinished', { place })
}

/** Stands in a database while a backup is restored to it. */
export const restoreMark = 'purser_restore'

/** Throws a `StoreOpenError` when a database holds a restored ledger in which old proofs could be charged again. */
async function refuseUnfinishedRestore(client: ClientBase, place: string): Promise<void> {
  const { rows } = await client.query<{ oid: string | null }>(`select to_regclass($1)::text as oid`, [
    restoreMark,
  ])
  if (rows[0]?.oid == null) return
  throw new StoreOpenError('restore_unfinished', { place })
}

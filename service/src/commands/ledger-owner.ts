import { findFile } from '../store/ledger/sqlite/find-file.ts'
import { CommandError } from './io.ts'

/**
 * SQLite creates files next to the database even for reading; as another user's, they would lock the service
 * out. Throws a `StoreOpenError` if this user may not even look.
 */
export function refuseOtherOwner(path: string): void {
  const owner = findFile(path)?.uid
  const user = process.getuid?.()
  if (owner === undefined || user === undefined || owner === user) return
  throw new CommandError(
    `${path} belongs to user ${owner}, and files that user ${user} creates beside it would lock the service out; run this as that user, with sudo -u`,
  )
}

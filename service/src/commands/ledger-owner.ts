import { statSync } from 'node:fs'

import { CommandError } from './io.ts'

/**
 * SQLite creates files next to the database even for reading; as another user's, they would lock the service
 * out.
 */
export function refuseOtherOwner(path: string): void {
  const owner = statSync(path, { throwIfNoEntry: false })?.uid
  const user = process.getuid?.()
  if (owner === undefined || user === undefined || owner === user) return
  throw new CommandError(
    `${path} belongs to user ${owner}, and files that user ${user} creates beside it would lock the service out; run this as that user, with sudo -u`,
  )
}

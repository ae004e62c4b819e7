import { statSync } from 'node:fs'

import { CommandError } from './surroundings.ts'

/** SQLite makes files beside the database even to read it; of another user, they would keep the service out. */
export function refuseOtherOwner(path: string): void {
  const owner = statSync(path, { throwIfNoEntry: false })?.uid
  const user = process.getuid?.()
  if (owner === undefined || user === undefined || owner === user) return
  throw new CommandError(
    `${path} belongs to user ${owner}, and what user ${user} makes beside it would keep the service out; run this as that user, with sudo -u`,
  )
}

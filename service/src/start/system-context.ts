import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'

import type { Config } from '../settings/config.ts'
import { placeOfLedger } from './open-store.ts'
import type { SystemContext } from '../routes/console/system.ts'
import { version } from '../version.ts'

/** What the service reports to an operator about itself. */
export function describeSystem({ database, workers }: Pick<Config, 'database' | 'workers'>): SystemContext {
  return {
    version,
    workers,
    place: placeOfLedger(database),
    readDisk: async () => {
      if (database.kind !== 'sqlite') return null
      const { bsize, bavail, blocks } = await statfs(dirname(database.path))
      return { freeBytes: bsize * bavail, totalBytes: bsize * blocks }
    },
  }
}

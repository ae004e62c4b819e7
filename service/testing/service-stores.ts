import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { postgres18, postgresServers, type PostgresServer } from './postgres.ts'

/** A store that a whole service is tested on. */
export interface ServiceStore {
  readonly name: string
  /** Why it cannot be used here, if it cannot. */
  readonly missing: string | undefined
  readonly open: () => Promise<ServiceLedger>
}

/** An empty ledger of a test's own. */
export interface ServiceLedger {
  /** What a service is started with so that it keeps this ledger, also one that comes after another. */
  readonly settings: Readonly<Record<string, string>>
  /** Takes it away; its services have been stopped before. */
  readonly discard: () => Promise<void>
}

/** Everything that a service runs on; on a Citus where a variable names one. */
export const serviceStores: readonly ServiceStore[] = [
  {
    name: 'SQLite',
    missing: undefined,
    open: async () => {
      const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
      return {
        settings: { PURSER_DATABASE: `sqlite:${join(folder, 'purser.db')}` },
        discard: async () => rmSync(folder, { recursive: true, force: true }),
      }
    },
  },
  onPostgres(postgres18),
  ...postgresServers.filter(({ isDistributed }) => isDistributed).map(onPostgres),
]

function onPostgres({ name, missing, createDatabase }: PostgresServer): ServiceStore {
  return {
    name,
    missing,
    open: async () => {
      const { url, drop } = await createDatabase()
      return { settings: { PURSER_DATABASE: url, PURSER_WORKERS: '1' }, discard: drop }
    },
  }
}

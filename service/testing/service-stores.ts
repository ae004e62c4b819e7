import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { Purser } from '@purser/client'

import { postgres18, postgresServers, type PostgresServer } from './postgres.ts'
import { startTestService } from './service.ts'

/** A store for tests of a whole service. */
export interface ServiceStore {
  readonly name: string
  /** Why it cannot be used here, if it cannot. */
  readonly missing: string | undefined
  readonly open: () => Promise<ServiceLedger>
}

/** An empty ledger for one test. */
export interface ServiceLedger {
  /** The settings for services on this ledger, also for a restart. */
  readonly settings: Readonly<Record<string, string>>
  /** Removes it; its services have been stopped before. */
  readonly discard: () => Promise<void>
}

/** Every store of a service; Citus too if a variable names one. */
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

/** A service on an empty ledger, which is removed after it, and a client of its first owner. */
export async function startServiceOn(
  open: ServiceStore['open'],
  context: Parameters<typeof startTestService>[0],
  added: Readonly<Record<string, string>> = {},
) {
  const ledger = await open()
  const settings = { ...ledger.settings, ...added }
  const service = await startTestService(context, settings)
  // The service stops first.
  context.after(ledger.discard)
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  return { service, purser, settings }
}

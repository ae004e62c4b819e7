import { randomBytes } from 'node:crypto'

import type { Ids } from '../ids.ts'
import type { Config } from '../settings/config.ts'
import { loadProofSecret, proofSecretPath } from './proof-secret.ts'
import { describeUrl } from '../store/ledger/postgres/address.ts'
import type { StoreMetrics } from '../store/store-metrics.ts'
import { StoreOpenError } from '../store/open-error.ts'
import { StoreUnavailableError, type Store } from '../store/store.ts'

/** The configured store, and the secrets for proofs. */
export interface OpenedStore {
  readonly store: Store
  readonly proofSecrets: readonly [string, ...string[]]
}

export interface StoreEvents {
  /** Ids for records that no request names. They come from the service, so that all its ids share one order. */
  readonly nextId: Ids['next']
  readonly onEnd?: ((cause: unknown) => void) | undefined
  /** Called with each wait for a database connection of over a second, in milliseconds. */
  readonly onWait?: ((waitedMs: number) => void) | undefined
  /** The store's counters, if any. */
  readonly metrics?: StoreMetrics | undefined
}

/**
 * Opens the configured store. Throws a `StoreOpenError` if it cannot be used. `onEnd` gets the cause when the store
 * can no longer write until it is reopened.
 */
export async function openStore(
  config: Pick<Config, 'database' | 'proofSecrets'>,
  events: StoreEvents,
): Promise<OpenedStore> {
  const store = await open(config, events)
  try {
    return { store, proofSecrets: await proofSecretsOf(config) }
  } catch (error) {
    await store.close()
    throw error
  }
}

/** Loads only the store that is used. */
async function open(
  { database }: Pick<Config, 'database'>,
  { nextId, onEnd = () => undefined, onWait, metrics }: StoreEvents,
): Promise<Store> {
  switch (database.kind) {
    case 'sqlite': {
      const { openSqliteLedgerStore } = await import('../store/ledger/sqlite/sqlite-ledger-store.ts')
      return openSqliteLedgerStore({ path: database.path, nextId, onEnd, metrics })
    }
    case 'postgres': {
      const { openPostgresLedgerStore } = await import('../store/ledger/postgres/postgres-ledger-store.ts')
      return openPostgresLedgerStore({ url: database.url, nextId, onWait, metrics })
    }
    default:
      return database satisfies never
  }
}

/** The secrets that sign and verify proofs: the configured ones, or the one that the first start generated. */
export async function proofSecretsOf({
  database,
  proofSecrets,
}: Pick<Config, 'database' | 'proofSecrets'>): Promise<readonly [string, ...string[]]> {
  const [first, ...others] = proofSecrets
  if (first !== undefined) return [first, ...others]
  if (database.kind === 'sqlite') return [loadProofSecret(database.path)]
  const { keepSecret } = await import('../store/ledger/postgres/service-secrets.ts')
  return [await keepSecret(database.url, 'proof', randomBytes(32).toString('hex'))]
}

/** The location of the ledger, for display. */
export function placeOfLedger(database: Config['database']): string {
  return database.kind === 'sqlite' ? database.path : describeUrl(database.url)
}

/** The location of the secret that was generated at first start. */
export function placeOfSecret(database: Config['database']): string {
  return database.kind === 'sqlite' ? proofSecretPath(database.path) : 'in the database'
}

/** A store failure during startup as a `StoreOpenError`; other errors unchanged. */
export function explainStoreFailure(error: unknown, { database }: Pick<Config, 'database'>): unknown {
  if (!(error instanceof StoreUnavailableError)) return error
  const code = database.kind === 'sqlite' ? 'file_failed' : 'server_failed'
  return new StoreOpenError(code, { place: placeOfLedger(database), cause: error.message })
}

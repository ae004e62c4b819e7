import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

import type { ClientBase } from 'pg'

import { readDistribution, readShards, refuseWorker } from '../store/ledger/postgres/distribution.ts'
import { openPool, withClient } from '../store/ledger/postgres/connection.ts'
import {
  nameBesideLedger,
  readUnfinished,
  refuseForeignTables,
  restoreMark,
} from '../store/ledger/postgres/refused-databases.ts'
import { migrate, readSchemaVersion } from '../store/ledger/postgres/migrate.ts'
import { keepSecret } from '../store/ledger/postgres/service-secrets.ts'
import { createPostgresDriver } from '../store/ledger/postgres/postgres-driver.ts'
import { noTimeLimits, readPostgresSnapshot } from '../store/ledger/postgres/postgres-reader.ts'
import { StoreOpenError } from '../store/open-error.ts'
import { readServerMajor } from './dump.ts'
import { endOpenProofs, expireGivenApprovals } from './end-open.ts'
import { findProgram, runProgram, type RunOptions } from './programs.ts'
import { sumUpPostgres, type LedgerSums } from './sum-up.ts'

export interface RestoreOptions extends Pick<RunOptions, 'environment' | 'signal'> {
  /** A file of `pg_dump`. */
  readonly archive: string
}

export interface RestoredDump {
  /** How many open proofs were ended. */
  readonly endedProofs: number
  readonly sums: LedgerSums
}

/**
 * Restores an archive of `pg_dump` to an empty database, ends its open proofs and given approvals, deletes the secret that
 * signed proofs, and signs everybody out of the console. Until that is done, a table marks the database, and no service starts
 * on it. If `pg_restore` fails or is aborted, the mark stays: the server may complete a commit whose answer was lost. The
 * restore can then be run again. Throws a `StoreOpenError` if it fails.
 */
export async function restoreDump(
  url: string,
  { archive, environment, signal }: RestoreOptions,
): Promise<RestoredDump> {
  const program = findProgram('pg_restore', await readServerMajor(url))
  // A file that is no archive is refused before the database is marked.
  await runProgram(program, { url, flags: ['--list', archive], environment, signal })
  const database = await withClient(url, async (client, place) => {
    const isMarked = (await readUnfinished(client)) === 'restore'
    if ((await readSchemaVersion(client)) > 0)
      throw new StoreOpenError(isMarked ? 'restore_copied' : 'restore_not_empty', { place })
    if (!isMarked) {
      await refuseForeignTables(client, place)
      // The archive has its tables there.
      await client.query(`create table public.${restoreMark} ()`)
    }
    const { rows } = await client.query<{ name: string }>('select current_database() as name')
    return rows[0]?.name ?? ''
  })
  await runProgram(program, {
    url,
    flags: [
      '--single-transaction',
      '--exit-on-error',
      '--no-owner',
      '--no-privileges',
      '--no-password',
      `--dbname=${database}`,
      archive,
    ],
    environment,
    signal,
  })
  return forgetWhatWasOpen(url)
}

/**
 * Does the rest of a restore in a database that its server has recovered from a base backup. Throws a `StoreOpenError` if it
 * contains no ledger.
 */
export async function adoptRecovered(url: string): Promise<RestoredDump> {
  await withClient(url, async (client, place) => {
    if ((await readSchemaVersion(client)) === 0) throw new StoreOpenError('nothing_recovered', { place })
    await refuseWorker(client, place)
    const distribution = await readDistribution(client)
    const isDistributed = distribution !== undefined && distribution.distributed.length > 0
    await refuseRunningService(client, place, isDistributed)
    await migrate(client, place)
    if ((await readUnfinished(client)) === 'restore') return
    await client.query('begin')
    const mark = await nameBesideLedger(client, restoreMark)
    await client.query(`create table ${mark} (restored boolean)`)
    // Services may use any machine of a distributed database, so each of them must have the mark.
    if (isDistributed) await client.query('select create_reference_table($1)', [mark])
    await client.query('commit')
    // One may have started before it could see the mark.
    await refuseRunningService(client, place, isDistributed).catch(async (error: unknown) => {
      await client.query(`drop table ${mark}`)
      throw error
    })
  })
  return forgetWhatWasOpen(url)
}

/** Throws a `StoreOpenError` if a service uses the ledger in a database. */
export function refuseInUse(url: string): Promise<void> {
  return withClient(url, async (client, place) => {
    const distribution = await readDistribution(client)
    await refuseRunningService(client, place, (distribution?.distributed.length ?? 0) > 0)
  })
}

/** How long the connections of a service that has just stopped may take to end. */
const closingMs = 2_000

/** A running service would keep signing with the old secret. */
async function refuseRunningService(
  client: ClientBase,
  place: string,
  isDistributed: boolean,
): Promise<void> {
  const [sessions, own] = isDistributed
    ? ['citus_stat_activity', 'global_pid = citus_backend_gpid()']
    : ['pg_stat_activity', 'pid = pg_backend_pid()']
  const untilMs = performance.now() + closingMs
  for (;;) {
    const { rows } = await client.query(
      `select 1 from ${sessions}
       where datname = current_database() and application_name = 'purser' and not (${own})`,
    )
    if (rows.length === 0) return
    if (performance.now() > untilMs) throw new StoreOpenError('database_in_use', { place })
    await sleep(100)
  }
}

/** Ends what was open in a marked database, and removes the mark if the ledger is sound. */
async function forgetWhatWasOpen(url: string): Promise<RestoredDump> {
  await withClient(url, async (client, place) => {
    await migrate(client, place)
    await client.query(
      `begin; ${noTimeLimits} delete from service_secrets; delete from sessions; ${expireGivenApprovals}; commit`,
    )
  })
  // Without a secret, the next copy of a ledger in a file would bring the old one.
  await keepSecret(url, 'proof', randomBytes(32).toString('hex'))
  const shardOfAccount = await withClient(url, readShards)
  const pool = openPool(url, { max: 4 })
  let endedProofs: number
  try {
    const driver = createPostgresDriver(pool, shardOfAccount)
    endedProofs = await readPostgresSnapshot(pool, (db) => endOpenProofs(driver, db, shardOfAccount))
  } finally {
    await pool.end()
  }
  const sums = await sumUpPostgres(url)
  if (sums.faults.length === 0) {
    await withClient(url, (client) => client.query(`drop table ${restoreMark}`))
  }
  return { endedProofs, sums }
}

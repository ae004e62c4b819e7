import { statSync } from 'node:fs'

import type { ClientBase } from 'pg'

import { StoreOpenError } from '../store/open-error.ts'
import { withClient } from '../store/ledger/postgres/connection.ts'
import { refuseUnfinishedCopy } from '../store/ledger/postgres/refused-databases.ts'
import { progressMs } from './copy-file.ts'
import { createPrivateFile } from './private-file.ts'
import { findProgram, runProgram, type RunOptions } from './programs.ts'
import { sumUpPostgres, type LedgerSums } from './sum-up.ts'

export interface DumpOptions extends Pick<RunOptions, 'environment'> {
  /** A path without a file, for the archive. */
  readonly path: string
  readonly signal: AbortSignal
  /** Called a few times a second with the bytes that are written. */
  readonly onProgress: (bytes: number) => void
}

/**
 * Writes a PostgreSQL ledger to an archive of `pg_dump`, without the secret that signs proofs. Resolves to the sums of the
 * ledger, read from the same snapshot. Throws a `StoreOpenError` if it fails.
 */
export async function dumpPostgres(
  url: string,
  { path, environment, signal, onProgress }: DumpOptions,
): Promise<LedgerSums> {
  const program = findProgram('pg_dump', await readServerMajor(url))
  await withClient(url, async (client, place) => {
    await refuseOtherSchema(client, place)
    await refuseUnfinishedCopy(client, place)
  })
  createPrivateFile(path)
  const progress = setInterval(() => onProgress(statSync(path).size), progressMs)
  try {
    return await sumUpPostgres(url, (snapshot) =>
      runProgram(program, {
        url,
        flags: [
          '--format=custom',
          '--no-owner',
          '--no-privileges',
          '--no-password',
          `--snapshot=${snapshot}`,
          '--exclude-table-data=service_secrets',
          `--file=${path}`,
        ],
        environment,
        signal,
      }),
    )
  } finally {
    clearInterval(progress)
  }
}

/** An archive names the schema of each table, and a restore finds them only in `public`. */
async function refuseOtherSchema(client: ClientBase, place: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>(`
    select nspname as name from pg_class join pg_namespace n on n.oid = relnamespace
    where pg_class.oid = to_regclass('purser_schema')`)
  const name = rows[0]?.name ?? 'public'
  if (name === 'public') return
  const cause = `${place} has its tables in the schema ${name}, and purser restore needs them in public; move all of them there (alter table … set schema public) and set search_path to public with alter role or alter database before a service starts; or use pg_dump and pg_restore themselves`
  throw new StoreOpenError('program_failed', { cause })
}

/** The release of a database's server, such as 18. */
export function readServerMajor(url: string): Promise<number> {
  return withClient(url, async (client) => {
    const { rows } = await client.query<{ version: string }>(
      `select current_setting('server_version_num') as version`,
    )
    return Math.floor(Number(rows[0]?.version) / 10_000)
  })
}

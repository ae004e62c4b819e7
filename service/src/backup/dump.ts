import { statSync } from 'node:fs'

import { withClient } from '../store/ledger/postgres/connection.ts'
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

/** The release of a database's server, such as 18. */
export function readServerMajor(url: string): Promise<number> {
  return withClient(url, async (client) => {
    const { rows } = await client.query<{ version: string }>(
      `select current_setting('server_version_num') as version`,
    )
    return Math.floor(Number(rows[0]?.version) / 10_000)
  })
}

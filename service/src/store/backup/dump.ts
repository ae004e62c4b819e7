import { statSync } from 'node:fs'

import { createPrivateFile } from './private-file.ts'
import { sumUpPostgres, type LedgerSums } from './sum-up.ts'
import { withClient } from '../ledger/postgres/connection.ts'
import { findProgram, runProgram, type RunOptions } from './programs.ts'

export interface DumpOptions extends Pick<RunOptions, 'environment'> {
  /** Where the archive goes; nothing may be there. */
  readonly path: string
  readonly signal: AbortSignal
  /** Called a few times a second with the bytes that are written. */
  readonly onProgress: (bytes: number) => void
}

/** How often progress is reported. */
const progressMs = 200

/**
 * Writes a PostgreSQL ledger to an archive of `pg_dump`, without the secret that signs proofs. Resolves to what the
 * ledger adds up to at the very moment that the archive shows. Throws a `StoreOpenError` when it cannot be written.
 */
export async function dumpPostgres(
  url: string,
  { path, environment, signal, onProgress }: DumpOptions,
): Promise<LedgerSums> {
  const program = findProgram('pg_dump', await readServerMajor(url))
  createPrivateFile(path)
  const progress = setInterval(() => onProgress(statSync(path).size), progressMs)
  try {
    return await sumUpPostgres(url, (snapshot) => {
      const flags = [
        '--format=custom',
        '--no-owner',
        '--no-privileges',
        '--no-password',
        `--snapshot=${snapshot}`,
      ]
      return runProgram(program, {
        url,
        flags: [...flags, '--exclude-table-data=service_secrets', `--file=${path}`],
        environment,
        signal,
      })
    })
  } finally {
    clearInterval(progress)
  }
}

/** The release of the server of a database, such as 18. */
export function readServerMajor(url: string): Promise<number> {
  return withClient(url, async (client) => {
    const { rows } = await client.query<{ version: string }>(
      `select current_setting('server_version_num') as version`,
    )
    return Math.floor(Number(rows[0]?.version) / 10_000)
  })
}
